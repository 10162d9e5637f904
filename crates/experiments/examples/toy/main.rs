//! A crate of Fenchel in small: what CONTRIBUTING, "How to add a crate", takes apart.
//!
//! | file | in a crate |
//! |---|---|
//! | `error.rs` | `src/error.rs`: the one `Error` |
//! | `problem.rs` | `src/problem.rs`: checked data, the objective |
//! | `method.rs` | one file a method: settings, function, `Iterative` |
//! | `estimator.rs` | `src/estimator.rs`: hyper-parameters, `fit`, the model and its file |
//! | `experiment.rs` | `crates/experiments/src/<crate>/`: a claim of a document, judged |
//! | `main.rs` | `examples/examples/<task>.rs`: what a user writes |

#![allow(unreachable_pub)] // Items are `pub` as they would be in a library.

mod error;
mod estimator;
mod experiment;
mod method;
mod problem;

use estimator::{NonnegativeModel, NonnegativeRidge};
use fenchel_datasets::embedded;
use fenchel_experiments::Context;
use fenchel_optim::model::Saved;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let data = embedded::wine_alcohol();
    let model = NonnegativeRidge::default().fit(&data.x, &data.y)?;
    println!("{}\nR2 = {:.3}", model.report, model.score(&data.x, &data.y)?);

    let path = std::env::temp_dir().join("fenchel-toy.json");
    model.save_file(&path)?;
    assert_eq!(NonnegativeModel::load_file(&path)?, model);

    let outcome = experiment::RATE.outcome(&Context::new(1)).map_err(|error| error.to_string())?;
    outcome.claims.iter().for_each(|claim| println!("{}: {}", claim.outcome(), claim.statement));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With `X = I` and `n = 2`, `w_c = max(y_c, 0) / (1 + 2 l2)`. Targets are anything one-dimensional.
    #[test]
    fn agrees_with_the_closed_form() {
        let x = ndarray::array![[1.0, 0.0], [0.0, 1.0]];
        let ridge = NonnegativeRidge { l2: 0.5, ..Default::default() };
        let y = ndarray::array![3.0, -1.0];
        for model in [ridge.fit(&x, &y), ridge.fit(&x, &y.to_vec()), ridge.fit(&x, y.view())] {
            let model = model.unwrap();
            assert_eq!(model.report.status, fenchel_optim::Status::Converged);
            // F* is below 1.4 and mu = 1: a relative gap of 1e-6 leaves sqrt(2 * 1.4e-6) at most.
            assert!((model.weights[0] - 1.5).abs() <= 1.7e-3 && model.weights[1] == 0.0);
        }
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let x = ndarray::array![[1.0], [2.0]];
        let message = |l2, y: &[f64]| {
            NonnegativeRidge { l2, ..Default::default() }.fit(&x, y).unwrap_err().to_string()
        };
        assert!(message(0.0, &[1.0, 2.0]).contains("strongly convex"));
        assert!(message(0.1, &[1.0]).contains("expected length 2, found 1"));
        assert!(message(-1.0, &[1.0, 2.0]).contains("l2 = -1"));
    }

    #[test]
    fn the_claim_holds_and_says_something_of_the_method() {
        main().unwrap();
        let context = Context::new(1);
        assert!(!experiment::RATE.outcome(&context).unwrap().differs());
        assert_eq!(fenchel_experiments::frozen::check(&experiment::RATE, &context).unwrap(), []);
    }
}
