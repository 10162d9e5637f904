//! Public data sets in a folder of the user's.
//!
//! The sets are published by others under different licences, so this project does not include them. A user who has them keeps
//! them in one folder with the layout of the list. If a file is missing, the method returns `None`, and the caller can use a
//! generator instead.
//!
//! [`SETS`](crate::sets::SETS) lists the files of every set, its content, and where it is published.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use fenchel_linalg::CsrMatrix;

use crate::alignment::{ColumnDistances, column_distances_file};
use crate::idx::{Images, idx_dataset};
use crate::{
    AlignmentFormat, ConllOptions, Dataset, Encoding, Error, IndexBase, LibsvmOptions, RollCalls,
    Sentence, Sequences, Word, alignment_file, conll_file, letters_file, libsvm_file,
    roll_calls_file, sets,
};

/// A folder with data sets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder {
    root: PathBuf,
}

/// A sparse data set, or `None` if its file is missing.
pub type Found = Option<Dataset<CsrMatrix<f64>>>;

/// Each call reads the whole file again.
///
/// # Errors
/// If a file exists but cannot be read, the methods return the error of its reader, with the path. A missing file is
/// `Ok(None)`.
impl Folder {
    /// A folder. No file is read before a set is asked for.
    pub fn new(root: impl Into<PathBuf>) -> Folder {
        Folder { root: root.into() }
    }

    /// The folder itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Web pages with keywords as binary features: `w8a`.
    pub fn w8a(&self) -> Result<Found, Error> {
        self.libsvm("w8a", 300, IndexBase::One)
    }

    /// Census income with binary features, the eighth nested training set: `a8a`.
    pub fn a8a(&self) -> Result<Found, Error> {
        self.libsvm("a8a", 123, IndexBase::One)
    }

    /// The test set that belongs to [`a8a`](Folder::a8a). Its matrix has all 123 columns, although it never uses the last
    /// feature.
    pub fn a9a_test(&self) -> Result<Found, Error> {
        self.libsvm("a9a-test", 123, IndexBase::One)
    }

    /// The IJCNN 2001 challenge on engine misfires: `ijcnn1`.
    pub fn ijcnn1(&self) -> Result<Found, Error> {
        self.libsvm("ijcnn1", 22, IndexBase::One)
    }

    /// Census income with binary features, the whole training set: `adult`.
    pub fn adult(&self) -> Result<Found, Error> {
        self.libsvm("adult", 123, IndexBase::Zero)
    }

    /// The test set of [`adult`](Folder::adult).
    pub fn adult_test(&self) -> Result<Found, Error> {
        self.libsvm("adult-test", 123, IndexBase::Zero)
    }

    /// Newswire texts with word weights, one topic against the rest: `reuters`.
    pub fn reuters(&self) -> Result<Found, Error> {
        self.libsvm("reuters", 8_315, IndexBase::One)
    }

    /// The test set of [`reuters`](Folder::reuters).
    pub fn reuters_test(&self) -> Result<Found, Error> {
        self.libsvm("reuters-test", 8_315, IndexBase::One)
    }

    /// Age of abalone (rings of the shell) from eight measurements scaled to [-1, 1]: regression.
    pub fn abalone(&self) -> Result<Found, Error> {
        self.libsvm("abalone", 8, IndexBase::One)
    }

    /// The 10,000 test images of MNIST, 28 x 28 pixels from 0 to 255, row by row. `None` unless both files exist.
    pub fn mnist_test(&self) -> Result<Option<Images>, Error> {
        found(idx_dataset(self.file("mnist-test", 0), self.file("mnist-test", 1)))
    }

    /// Text chunking of CoNLL-2000, training part: word, part of speech, chunk.
    pub fn conll2000_train(&self) -> Result<Option<Vec<Sentence>>, Error> {
        self.conll("conll2000", 0, Encoding::Utf8)
    }

    /// The test part of [`conll2000_train`](Folder::conll2000_train). One of its labels, `I-LST`, is not in the training part.
    pub fn conll2000_test(&self) -> Result<Option<Vec<Sentence>>, Error> {
        self.conll("conll2000", 1, Encoding::Utf8)
    }

    /// Dutch named entities of CoNLL-2002, training part: word, part of speech, entity. The lines `-DOCSTART-` are
    /// tokens.
    pub fn conll2002_dutch_train(&self) -> Result<Option<Vec<Sentence>>, Error> {
        self.conll("conll2002-nl", 0, Encoding::Latin1)
    }

    /// The test part of [`conll2002_dutch_train`](Folder::conll2002_dutch_train), `ned.testb`.
    pub fn conll2002_dutch_test(&self) -> Result<Option<Vec<Sentence>>, Error> {
        self.conll("conll2002-nl", 2, Encoding::Latin1)
    }

    /// Handwritten words, in ten folds.
    pub fn ocr(&self) -> Result<Option<Vec<Word>>, Error> {
        found(letters_file(self.file("ocr", 0)))
    }

    /// The US Senate, 109th Congress, second session.
    pub fn senate(&self) -> Result<Option<RollCalls>, Error> {
        found(roll_calls_file(self.file("senate", 0), self.file("senate", 1)))
    }

    /// A protein family with its structure: `dhfr` (dihydrofolate reductase) or `s1a` (serine proteases).
    pub fn contacts(&self, family: &str) -> Result<Option<(Sequences, ColumnDistances)>, Error> {
        let set = format!("contacts-{family}");
        let sequences = found(alignment_file(self.file(&set, 0), AlignmentFormat::Plain))?;
        Ok(sequences.zip(found(column_distances_file(self.file(&set, 1)))?))
    }

    /// A file of a set. For an unknown set it is a path that does not exist.
    fn file(&self, set: &str, number: usize) -> PathBuf {
        let file = sets::find(set).and_then(|set| set.files.get(number));
        file.map_or_else(|| self.root.join(set).join("not listed"), |file| self.root.join(file))
    }

    fn conll(
        &self,
        set: &str,
        number: usize,
        encoding: Encoding,
    ) -> Result<Option<Vec<Sentence>>, Error> {
        let options = ConllOptions { encoding, ..ConllOptions::default() };
        found(conll_file(self.file(set, number), &options))
    }

    fn libsvm(&self, name: &str, columns: usize, base: IndexBase) -> Result<Found, Error> {
        let options = LibsvmOptions { base, ..LibsvmOptions::with_columns(columns) };
        found(libsvm_file(self.file(name, 0), &options))
    }
}

/// Converts the error of a missing file to `None`. A check before opening would be a race, because a file may be removed in
/// between.
fn found<T>(result: Result<T, Error>) -> Result<Option<T>, Error> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absent_is_none_and_damaged_is_an_error() {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::new(root.path());
        assert!(folder.w8a().unwrap().is_none());
        assert!(folder.mnist_test().unwrap().is_none());
        assert!(folder.contacts("nobody").unwrap().is_none());
        std::fs::create_dir(root.path().join("libsvm")).unwrap();
        std::fs::write(root.path().join("libsvm/w8a"), "+1 3:1\n-1 301:1\n").unwrap();
        let error = folder.w8a().unwrap_err().to_string();
        let place = format!("libsvm{}w8a:2:4: index 301; ", std::path::MAIN_SEPARATOR);
        assert!(error.contains(&place), "{error}");
    }
}
