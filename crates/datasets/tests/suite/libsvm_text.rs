//! LIBSVM text of any kind: what is valid comes back, what is not never panics.

use fenchel_datasets::{Dataset, Error, IndexBase, LibsvmOptions, libsvm, write_libsvm};
use fenchel_linalg::CsrMatrix;
use ndarray::Array1;
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

fn number() -> impl Strategy<Value = f64> {
    use proptest::num::f64::{NEGATIVE, NORMAL, POSITIVE, SUBNORMAL, ZERO};
    prop_oneof![NORMAL | SUBNORMAL | ZERO | POSITIVE | NEGATIVE, (-9i8..9).prop_map(f64::from)]
}

fn sparse(most_rows: usize, columns: u32) -> impl Strategy<Value = Dataset<CsrMatrix<f64>>> {
    let row = (number(), btree_map(0..columns, number(), 0..8));
    vec(row, 1..most_rows).prop_map(move |rows| {
        let mut offsets = vec![0];
        let (mut indices, mut values) = (Vec::new(), Vec::new());
        for (_, entries) in &rows {
            indices.extend(entries.keys());
            values.extend(entries.values());
            offsets.push(indices.len());
        }
        let shape = (rows.len(), columns as usize);
        Dataset {
            x: CsrMatrix::try_new(shape, offsets, indices, values).unwrap(),
            y: rows.iter().map(|(label, _)| *label).collect::<Array1<f64>>(),
        }
    })
}

fn text_of(data: &Dataset<CsrMatrix<f64>>) -> Vec<u8> {
    let mut text = Vec::new();
    write_libsvm(&mut text, data).unwrap();
    text
}

fn any_options() -> impl Strategy<Value = LibsvmOptions> {
    let base = prop_oneof![Just(IndexBase::Auto), Just(IndexBase::Zero), Just(IndexBase::One)];
    (base, proptest::option::of(0usize..30), any::<bool>())
        .prop_map(|(base, columns, skip_query_ids)| LibsvmOptions { base, columns, skip_query_ids })
}

/// Whatever the bytes, the answer is a matrix that keeps its promises or an error that says where.
fn check_total(bytes: &[u8], options: &LibsvmOptions) -> Result<(), TestCaseError> {
    match libsvm(bytes, options) {
        Ok(data) => {
            prop_assert_eq!(data.x.rows(), data.y.len());
            prop_assert!(data.x.rows() > 0);
            if let Some(columns) = options.columns {
                prop_assert_eq!(data.x.cols(), columns);
            }
            prop_assert!(fenchel_linalg::Csr::new(data.x.view()).is_ok());
            prop_assert!(data.y.iter().all(|y| y.is_finite()));
        }
        Err(Error::Format { line, column, reason, .. }) => {
            let lines: Vec<&[u8]> = bytes.split(|&byte| byte == b'\n').collect();
            prop_assert!(line >= 1 && line as usize <= lines.len(), "{line}: {reason}");
            let width = lines[line as usize - 1].len();
            prop_assert!(column >= 1 && column as usize <= width + 1, "{column}: {reason}");
        }
        Err(other) => prop_assert!(false, "{other}"),
    }
    Ok(())
}

/// Bytes that mean something to the reader, and so reach deep into it.
const MEANINGFUL: &[u8] = b" :#\n\r\t0192.-+eEnaqid,";

proptest! {
    #[test]
    fn valid_text_comes_back_bit_for_bit(data in sparse(12, 40)) {
        let options = LibsvmOptions { base: IndexBase::One, ..LibsvmOptions::with_columns(40) };
        let back = libsvm(&text_of(&data)[..], &options).unwrap();
        prop_assert_eq!(back.x.shape(), data.x.shape());
        prop_assert_eq!(back.x.indices(), data.x.indices());
        prop_assert_eq!(back.x.proper_indptr(), data.x.proper_indptr());
        let bits = |values: &[f64]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        prop_assert_eq!(bits(back.x.data()), bits(data.x.data()));
        prop_assert_eq!(bits(&back.y.to_vec()), bits(&data.y.to_vec()));
    }

    #[test]
    fn line_ends_comments_and_blank_lines_change_nothing(data in sparse(6, 9)) {
        let plain = String::from_utf8(text_of(&data)).unwrap();
        let dressed = plain.replace('\n', "\t # 1:1 : qid:\r\n \n").replace(' ', "  ");
        let options = LibsvmOptions::default();
        prop_assert_eq!(
            libsvm(plain.as_bytes(), &options).unwrap(),
            libsvm(dressed.as_bytes(), &options).unwrap()
        );
    }

    #[test]
    fn mutated_text_never_panics(
        data in sparse(6, 20),
        changes in vec((any::<prop::sample::Index>(), any::<u8>(), 0..3u8), 1..6),
        options in any_options(),
    ) {
        let mut text = text_of(&data);
        for (place, byte, kind) in changes {
            if text.is_empty() { break; }
            let at = place.index(text.len());
            let byte = match byte {
                0..128 => MEANINGFUL[usize::from(byte) % MEANINGFUL.len()],
                other => other,
            };
            match kind {
                0 => text[at] = byte,
                1 => text.insert(at, byte),
                _ => text.truncate(at),
            }
        }
        check_total(&text, &options)?;
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in vec(any::<u8>(), 0..200), options in any_options()) {
        check_total(&bytes, &options)?;
    }

    #[test]
    fn bytes_of_the_alphabet_never_panic(text in "[-+0-9:. #\r\nqid]{0,80}", options in any_options()) {
        check_total(text.as_bytes(), &options)?;
    }
}

#[test]
fn a_file_is_named_and_may_be_compressed() {
    use std::io::Write;
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let text = b"+1 1:2\n-1 3:1\n";
    let (mut gz, mut bz) = (
        flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast()),
        bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast()),
    );
    gz.write_all(text).unwrap();
    bz.write_all(text).unwrap();
    // The names say nothing: the first bytes decide.
    std::fs::write(path("a"), text).unwrap();
    std::fs::write(path("b"), gz.finish().unwrap()).unwrap();
    std::fs::write(path("c.gz"), bz.finish().unwrap()).unwrap();
    let options = LibsvmOptions::default();
    let plain = libsvm(&text[..], &options).unwrap();
    for name in ["a", "b", "c.gz"] {
        assert_eq!(fenchel_datasets::libsvm_file(path(name), &options).unwrap(), plain);
    }
    std::fs::write(path("train.svm"), "1 1:1\n1 3;1\n").unwrap();
    let error = fenchel_datasets::libsvm_file(path("train.svm"), &options).unwrap_err();
    let expected = "train.svm:2:3: expected index:value, found \"3;1\"";
    assert!(error.to_string().ends_with(expected), "{error}");
    let half = std::fs::read(path("b")).unwrap();
    std::fs::write(path("half"), &half[..half.len() - 6]).unwrap();
    let error = fenchel_datasets::libsvm_file(path("half"), &options).unwrap_err();
    assert!(
        matches!(&error, Error::Io { file: Some(file), .. } if file.ends_with("half")),
        "{error}"
    );
}
