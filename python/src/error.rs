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

macro_rules! raises {
    ($($error:ty),* $(,)?) => {$(
        impl Raise for $error {
            fn raise(self) -> PyErr {
                let message = self.to_string();
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
