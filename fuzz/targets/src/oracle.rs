//! What holds for every fit.

use std::fmt::Display;

use fenchel::optim::Certificate;
use fenchel::prelude::*;

/// A run that says that it converged has a finite objective, which is not below what it proves of all points.
pub(crate) fn report(report: &Report) {
    let _ = report.to_string();
    assert!(report.passes >= 0.0, "{report:?}");
    if report.status != Status::Converged {
        return;
    }
    match report.certificate {
        Certificate::Gap { objective, lower_bound, .. } => {
            assert!(objective.is_finite() && lower_bound <= objective, "{report:?}");
        }
        Certificate::Residual { objective, norm, error, .. } => {
            assert!(
                objective.is_none_or(f64::is_finite) && (norm + error).is_finite(),
                "{report:?}"
            );
        }
        Certificate::Uncertified { .. } => {}
    }
}

/// A model shows itself, and what is saved is loaded bit for bit.
pub(crate) fn model<M: Saved + Display>(model: &M) {
    let _ = model.to_string();
    saved(model);
}

pub(crate) fn saved<M: Saved>(model: &M) {
    let mut file = Vec::new();
    let Ok(()) = model.save(&mut file) else { return };
    let loaded = M::load(&file[..]).unwrap_or_else(|error| panic!("saved and not loaded: {error}"));
    let mut again = Vec::new();
    loaded.save(&mut again).expect("loaded and not saved");
    assert!(file == again, "a file changes when it is loaded and saved");
}

/// Predictions of a model that converged on data of ordinary size.
pub(crate) fn finite<'a>(what: &str, numbers: impl IntoIterator<Item = &'a f64>) {
    for (place, number) in numbers.into_iter().enumerate() {
        assert!(number.is_finite(), "{what}: number {place} is {number}");
    }
}

/// No lower bound of a problem is above an objective that was found for it.
pub(crate) fn bounds(reports: &[&Report]) {
    for one in reports {
        let Certificate::Gap { objective: own, lower_bound, .. } = one.certificate else {
            continue;
        };
        if !one.certificate.value().is_finite() {
            // A contradiction is no proof, and the report does not claim one.
            continue;
        }
        for other in reports {
            let Some(objective) = other.certificate.objective().filter(|f| f.is_finite()) else {
                continue;
            };
            let slack = 1e-9 * (1.0 + own.abs() + objective.abs());
            assert!(
                lower_bound <= objective + slack,
                "{one:?} proves {lower_bound}, and {other:?} has {objective}"
            );
        }
    }
}
