//! Checkpoints of a training: the weights and the dual variables, so that the training can continue after an unexpected end.
//!
//! A checkpoint is a binary file. It contains a line that names the format, the model as JSON, the marginals of all sequences
//! as little-endian numbers, and a CRC-32 of all these. Its size is about the memory of the marginals.

use std::io::{self, Read, Write};

use fenchel_graphical::chain::{ChainMarginals, Probability};

use crate::model::CrfModel;
use crate::{Error, Saved};

/// The first line of every checkpoint.
const MAGIC: &[u8] = b"fenchel-crf checkpoint 1\n";

/// The dual variables of SDCA, in the precision in which SDCA stored them.
#[derive(Debug, Clone, PartialEq)]
pub enum Duals {
    /// Pairs in single precision.
    Single(Vec<ChainMarginals<f32>>),
    /// Pairs in double precision.
    Double(Vec<ChainMarginals<f64>>),
}

/// The state of a training in progress.
#[derive(Debug, Clone, PartialEq)]
pub struct Checkpoint {
    /// The names and the current weights.
    pub model: CrfModel,
    /// The dual variables, if the method has any.
    pub duals: Option<Duals>,
}

/// Numbers that a checkpoint stores.
pub(crate) trait Storage: Probability {
    const BYTES: usize;
    fn put(self, to: &mut Vec<u8>);
    fn get(from: &[u8]) -> Self;
    fn duals(marginals: Vec<ChainMarginals<Self>>) -> Duals;
}

macro_rules! storage {
    ($number:ty, $variant:ident) => {
        impl Storage for $number {
            const BYTES: usize = size_of::<$number>();

            fn put(self, to: &mut Vec<u8>) {
                to.extend_from_slice(&self.to_le_bytes());
            }

            fn get(from: &[u8]) -> Self {
                let mut bytes = [0; Self::BYTES];
                bytes.copy_from_slice(from);
                <$number>::from_le_bytes(bytes)
            }

            fn duals(marginals: Vec<ChainMarginals<Self>>) -> Duals {
                Duals::$variant(marginals)
            }
        }
    };
}

storage!(f32, Single);
storage!(f64, Double);

/// Whether the beginning of a file is that of a checkpoint.
pub fn is_checkpoint(start: &[u8]) -> bool {
    start.starts_with(MAGIC)
}

/// Dual variables that are written without a copy.
pub(crate) trait WriteDuals {
    fn write(&self, to: &mut dyn Write) -> io::Result<()>;
}

/// Marginals where they are.
pub(crate) struct Borrowed<'m, T>(pub(crate) &'m [ChainMarginals<T>]);

impl<T: Storage> WriteDuals for Borrowed<'_, T> {
    fn write(&self, to: &mut dyn Write) -> io::Result<()> {
        to.write_all(&[T::BYTES as u8])?;
        to.write_all(&(self.0.len() as u64).to_le_bytes())?;
        let mut bytes = Vec::new();
        for m in self.0 {
            bytes.clear();
            bytes.extend_from_slice(&(m.states() as u32).to_le_bytes());
            bytes.extend_from_slice(&(m.length() as u32).to_le_bytes());
            (0..m.length()).flat_map(|t| m.node(t)).for_each(|p| p.put(&mut bytes));
            (1..m.length()).flat_map(|t| m.edge(t - 1)).for_each(|p| p.put(&mut bytes));
            to.write_all(&bytes)?;
        }
        Ok(())
    }
}

impl WriteDuals for Duals {
    fn write(&self, to: &mut dyn Write) -> io::Result<()> {
        match self {
            Duals::Single(marginals) => Borrowed(marginals).write(to),
            Duals::Double(marginals) => Borrowed(marginals).write(to),
        }
    }
}

/// Writes a checkpoint.
pub(crate) fn write(
    model: &CrfModel,
    duals: Option<&dyn WriteDuals>,
    to: &mut dyn Write,
) -> io::Result<()> {
    let mut to = Summed { to, crc: crc32fast::Hasher::new() };
    let mut text = Vec::new();
    model.save(&mut text).map_err(io::Error::other)?;
    to.write_all(MAGIC)?;
    to.write_all(&(text.len() as u64).to_le_bytes())?;
    to.write_all(&text)?;
    match duals {
        Some(duals) => duals.write(&mut to)?,
        None => to.write_all(&[0])?,
    }
    let Summed { to, crc } = to;
    to.write_all(&crc.finalize().to_le_bytes())
}

struct Summed<'w> {
    to: &'w mut dyn Write,
    crc: crc32fast::Hasher,
}

impl Write for Summed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes)?;
        self.crc.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

impl Checkpoint {
    /// Writes the checkpoint.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn save(&self, mut to: impl Write) -> io::Result<()> {
        write(&self.model, self.duals.as_ref().map(|duals| duals as &dyn WriteDuals), &mut to)
    }

    /// Reads a checkpoint.
    ///
    /// # Errors
    /// [`Error::Read`] for a file that is not a checkpoint, is truncated or is damaged.
    pub fn load(mut from: impl Read) -> Result<Self, Error> {
        let wrong = |reason: &str| Error::Read(format!("not a checkpoint of a training: {reason}"));
        let mut bytes = Vec::new();
        from.by_ref().take(MAGIC.len() as u64).read_to_end(&mut bytes).map_err(Error::read)?;
        if !is_checkpoint(&bytes) {
            return Err(wrong("another first line"));
        }
        from.read_to_end(&mut bytes).map_err(Error::read)?;
        let Some((bytes, crc)) = bytes.split_last_chunk::<4>() else {
            return Err(wrong("cut off"));
        };
        if crc32fast::hash(bytes) != u32::from_le_bytes(*crc) {
            return Err(wrong("cut off or damaged, its checksum is another one"));
        }
        let mut rest = Bytes(&bytes[MAGIC.len()..]);
        let parts = rest.parts().ok_or_else(|| wrong("its parts do not fit together"))?;
        let model = CrfModel::load(parts.0).map_err(|error| Error::Read(error.to_string()))?;
        Ok(Checkpoint { model, duals: parts.1 })
    }
}

/// The unread bytes. Every read returns `None` if there are too few.
struct Bytes<'b>(&'b [u8]);

impl<'b> Bytes<'b> {
    fn take(&mut self, count: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn count(&mut self, bytes: usize) -> Option<usize> {
        let mut number = [0; 8];
        number[..bytes].copy_from_slice(self.take(bytes)?);
        usize::try_from(u64::from_le_bytes(number)).ok()
    }

    fn numbers<T: Storage>(&mut self, count: usize) -> Option<Vec<T>> {
        let bytes = self.take(count.checked_mul(T::BYTES)?)?;
        Some(bytes.chunks_exact(T::BYTES).map(T::get).collect())
    }

    fn parts(&mut self) -> Option<(&'b [u8], Option<Duals>)> {
        let length = self.count(8)?;
        let text = self.take(length)?;
        let duals = match self.count(1)? {
            0 => None,
            4 => Some(f32::duals(self.marginals()?)),
            8 => Some(f64::duals(self.marginals()?)),
            _ => return None,
        };
        self.0.is_empty().then_some((text, duals))
    }

    fn marginals<T: Storage>(&mut self) -> Option<Vec<ChainMarginals<T>>> {
        let sequences = self.count(8)?;
        // Each takes 8 bytes and more: a count that lies does not allocate.
        let mut all = Vec::with_capacity(sequences.min(self.0.len() / 8));
        for _ in 0..sequences {
            let (states, length) = (self.count(4)?, self.count(4)?);
            let nodes = self.numbers::<f64>(length.checked_mul(states)?)?;
            let pairs = length.saturating_sub(1).checked_mul(states.checked_mul(states)?)?;
            let edges = self.numbers::<T>(pairs)?;
            all.push(ChainMarginals::from_parts(states, &nodes, &edges).ok()?);
        }
        Some(all)
    }
}
