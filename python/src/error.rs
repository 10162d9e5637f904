//! Errors of the crates as exceptions: `ValueError`, or `MemoryError` for a refusal that names bytes.

use fenchel::optim::Refusal;
use pyo3::PyErr;
use pyo3::exceptions::{PyMemoryError, PyValueError};

/// An error that can be raised.
pub(crate) trait Raise {
    /// The exception, with the message of the error.
    fn raise(self) -> PyErr;
}

impl Raise for PyErr {
    fn raise(self) -> PyErr {
        self
    }
}

impl Raise for fenchel::causal::admg::GraphError {
    fn raise(self) -> PyErr {
        PyValueError::new_err(self.to_string())
    }
}

impl Raise for fenchel::linalg::Invalid {
    fn raise(self) -> PyErr {
        PyValueError::new_err(self.to_string())
    }
}

/// What the crates advise, by the names that it has in Python.
const WORDS: [(&str, &str); 13] = [
    ("max_memory is", "the limit is"),
    ("set l2 > 0", "add a squared l2 norm (a finite C, an alpha > 0, an l1_ratio < 1)"),
    ("stop.max_passes", "max_iter"),
    ("stop.max_seconds", "max_seconds"),
    ("stop.absolute", "tol"),
    ("stop.relative", "tol"),
    ("Components::Permutation", "n_components='permutation'"),
    ("Components::Ladle", "n_components='ladle'"),
    (", or use `LassoSir`", ""),
    ("; HillClimbing takes one", ""),
    ("HillClimbing", "method='hill_climbing'"),
    ("use fewer slices, or stream the data through SliceMoments", "use fewer slices"),
    (
        ", or use Em, which takes such records",
        ", or fit the tables of a given graph, which takes such records",
    ),
];

fn in_python(message: String) -> String {
    WORDS.iter().fold(message, |message, (ours, theirs)| message.replace(ours, theirs))
}

macro_rules! raises {
    ($($error:ty),* $(,)?) => {$(
        impl Raise for $error {
            fn raise(self) -> PyErr {
                let message = in_python(self.to_string());
                match self {
                    Self::Refused(Refusal::MemoryLimit { .. }) => PyMemoryError::new_err(message),
                    _ => PyValueError::new_err(message),
                }
            }
        }
    )*};
}

raises!(
    fenchel::causal::Error,
    fenchel::crf::Error,
    fenchel::expfam::Error,
    fenchel::ggm::Error,
    fenchel::graphical::Error,
    fenchel::linear::Error,
    fenchel::moments::Error,
    fenchel::mrf::Error,
    fenchel::saddle::Error,
);

/// The exception for a word that is none of those expected.
pub(crate) fn unknown(name: &str, found: &str, expected: &str) -> PyErr {
    PyValueError::new_err(format!("{name} is {found:?}; expected {expected}"))
}
