//! The pages of a column in a Parquet file, checked before they are decoded.

use std::io::Read;
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{CompressionCodec, Encoding};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::serialized_reader::SerializedPageReader;

/// The compression codecs whose pages can be read.
pub(super) const CODECS: [CompressionCodec; 6] = [
    CompressionCodec::UNCOMPRESSED,
    CompressionCodec::SNAPPY,
    CompressionCodec::GZIP,
    CompressionCodec::LZ4,
    CompressionCodec::LZ4_RAW,
    CompressionCodec::ZSTD,
];

/// The pages of a column in one group of rows. Zstandard is decompressed here, by a crate in Rust; the other codecs are those
/// of the `parquet` crate.
pub(super) struct Pages {
    from: SerializedPageReader<Bytes>,
    zstd: bool,
    /// Whether there was a dictionary.
    dictionary: bool,
    /// The number of rows that the pages may still have.
    rows: usize,
}

impl Pages {
    pub(super) fn new(
        file: &Arc<Bytes>,
        chunk: &ColumnChunkMetaData,
        rows: usize,
    ) -> Result<Pages> {
        let start = chunk.dictionary_page_offset().unwrap_or_else(|| chunk.data_page_offset());
        let end = start.checked_add(chunk.compressed_size());
        if start < 0
            || chunk.compressed_size() < 0
            || end.is_none_or(|end| end as u64 > file.len() as u64)
        {
            return Err(damaged("its place is outside of the file"));
        }
        let zstd = chunk.compression_codec() == CompressionCodec::ZSTD;
        let from = if zstd {
            let plain = chunk.clone().into_builder();
            let plain = plain.set_compression_codec(CompressionCodec::UNCOMPRESSED).build()?;
            SerializedPageReader::new(file.clone(), &plain, rows, None)?
        } else {
            SerializedPageReader::new(file.clone(), chunk, rows, None)?
        };
        Ok(Pages { from, zstd, dictionary: false, rows })
    }

    /// Checks what the decoders take for granted and what decides how much memory they need.
    fn check(&mut self, page: &Page) -> Result<()> {
        let values = page.num_values() as usize;
        match page {
            // A value takes a byte or more: a boolean has no dictionary.
            Page::DictionaryPage { buf, .. } if values > buf.len() => {
                Err(damaged("a dictionary has more values than bytes"))
            }
            Page::DictionaryPage { .. } => {
                self.dictionary = true;
                Ok(())
            }
            Page::DataPageV2 { buf, .. }
                if levels(page).is_none_or(|levels| levels > buf.len()) =>
            {
                Err(damaged("a page ends early"))
            }
            _ if values > self.rows => Err(damaged("it has more values than rows")),
            _ if !self.dictionary && coded(page.encoding()) => {
                Err(damaged("a dictionary is missing"))
            }
            _ => {
                self.rows -= values;
                Ok(())
            }
        }
    }
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let Some(mut page) = self.from.get_next_page()? else { return Ok(None) };
        if self.zstd {
            decompress(&mut page)?;
        }
        self.check(&page)?;
        Ok(Some(page))
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.from.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.from.skip_next_page()
    }
}

impl Iterator for Pages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Result<Page>> {
        self.get_next_page().transpose()
    }
}

/// Decompresses the content of a page by Zstandard. The levels of a page of version 2 are never compressed.
fn decompress(page: &mut Page) -> Result<()> {
    // Sizes of pages are `i32` in the format.
    const LONGEST: u64 = i32::MAX as u64;
    if let Page::DataPageV2 { is_compressed: false, .. } = page {
        return Ok(());
    }
    let levels = levels(page).filter(|levels| *levels <= page.buffer().len());
    let levels = levels.ok_or_else(|| damaged("a page ends early"))?;
    let (plain, mut packed) = page.buffer().split_at(levels);
    let mut content = plain.to_vec();
    while !packed.is_empty() {
        let mut frame = ruzstd::decoding::StreamingDecoder::new(&mut packed)
            .map_err(|fault| damaged(&fault.to_string()))?;
        frame.by_ref().take(LONGEST).read_to_end(&mut content)?;
    }
    let (Page::DataPage { buf, .. }
    | Page::DataPageV2 { buf, .. }
    | Page::DictionaryPage { buf, .. }) = page;
    *buf = content.into();
    Ok(())
}

/// The number of bytes in front of the values that a page of version 2 never compresses.
fn levels(page: &Page) -> Option<usize> {
    match page {
        Page::DataPageV2 { def_levels_byte_len, rep_levels_byte_len, .. } => {
            Some(def_levels_byte_len.checked_add(*rep_levels_byte_len)? as usize)
        }
        _ => Some(0),
    }
}

/// Whether the values are places in a dictionary.
fn coded(encoding: Encoding) -> bool {
    matches!(encoding, Encoding::PLAIN_DICTIONARY | Encoding::RLE_DICTIONARY)
}

fn damaged(reason: &str) -> ParquetError {
    ParquetError::General(reason.to_owned())
}
