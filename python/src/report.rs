//! The report of a fit as a dictionary, from which `fenchel.Report` is made.

use fenchel::optim::{Certificate, Report, Status};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The fields of `fenchel.Report`. `method` says which method fitted, and why.
pub(crate) fn to_dict<'py>(
    py: Python<'py>,
    report: &Report,
    method: Option<String>,
) -> PyResult<Bound<'py, PyDict>> {
    let certificate = &report.certificate;
    let kind = match certificate {
        Certificate::Gap { .. } => "gap",
        Certificate::Residual { .. } => "residual",
        Certificate::Uncertified { .. } => "none",
    };
    let dict = PyDict::new(py);
    dict.set_item("status", report.status.to_string())?;
    dict.set_item("certificate", kind)?;
    dict.set_item("objective", certificate.objective())?;
    dict.set_item("value", certificate.value())?;
    dict.set_item("relative", certificate.relative())?;
    dict.set_item("passes", report.passes)?;
    dict.set_item("seconds", report.seconds)?;
    dict.set_item("method", method)?;
    Ok(dict)
}

/// The report of a model that was not fitted here.
pub(crate) fn no_report() -> Report {
    Report {
        status: Status::Stopped,
        certificate: Certificate::Uncertified { objective: None },
        passes: 0.0,
        oracle_calls: 0,
        seconds: 0.0,
    }
}
