//! The choice of `lambda`.

use fenchel_linalg::Invalid;
use fenchel_linalg::factor::svd;
use fenchel_metrics::k_fold;
use fenchel_optim::{Budget, SharedWatch, Stop, run};
use ndarray::{Array1, ArrayView2, Axis};

use super::reduced::Method;
use super::setting::Setting;
use super::settings::{DirectSade, DirectSolver, Lambda};
use crate::blocks::leading;
use crate::error::Error;
use crate::neighbours::{nearest_mean, scaled_r2};
use crate::response::Response;

impl DirectSade {
    /// `lambda`, and the cross-validated R2 along the path.
    pub(super) fn choose(
        &self,
        setting: &Setting,
        response: &Response,
        watch: &SharedWatch,
        budget: &Budget,
    ) -> Result<(f64, Vec<(f64, f64)>), Error> {
        let top = match self.lambda {
            Lambda::Fixed(lambda) => {
                Invalid::check_nonnegative("lambda", lambda)?;
                return Ok((lambda, vec![]));
            }
            _ => setting.reduced.lambda_top()?,
        };
        let mut u = Array1::zeros(setting.reduced.t0.len());
        let mut solve = |lambda: f64, solver: DirectSolver| {
            let mut method = Method::new(&setting.reduced, lambda, solver, std::mem::take(&mut u))?;
            let stop = Stop { relative: self.stop.relative.max(1e-4), ..budget.left() };
            run(&mut method, &stop, &mut watch.each())?;
            if let Some(error) = method.failure.take() {
                return Err(error);
            }
            u.clone_from(&method.u);
            Ok((method.a(), method.u))
        };
        let at = |j: i32| top * 10f64.powf(f64::from(j) / 5.0);
        match self.lambda {
            Lambda::CrossValidated { steps, folds } => {
                if !(1..=1000).contains(&steps) {
                    let (value, expected) = (steps as f64, "at least 1, at most 1000");
                    return Err(Invalid::Parameter { name: "steps", value, expected }.into());
                }
                let inner = setting.in_basis();
                let mut path = vec![];
                for j in 1..=steps as i32 {
                    let lambda = at(-j);
                    let (a, u) = solve(lambda, self.solver)?;
                    let theta = &setting.theta0 - &setting.lift.dot(&u);
                    let spectrum = self.spectrum_of(&inner, &a, &theta, response)?;
                    let k = self.components.hint().min(spectrum.vectors.ncols());
                    let index = setting.x.dot(&leading(&spectrum.vectors, k));
                    path.push((lambda, neighbours_r2(index.view(), response.values(), folds)?));
                }
                let best = path.iter().copied().reduce(|a, b| if b.1 > a.1 { b } else { a });
                Ok((best.map_or(top, |b| b.0), path))
            }
            _ => {
                let Lambda::Rank(most) = self.lambda else { return Ok((top, vec![])) };
                if most == 0 || most > setting.reduced.d {
                    let (name, expected) = ("rank", "at least 1, at most the number of features");
                    return Err(Invalid::Parameter { name, value: most as f64, expected }.into());
                }
                // Projections make singular values vanish exactly where reweighting only makes them small.
                let largest = svd(setting.reduced.matrix(&setting.reduced.t0).view())?.values[0];
                for j in -10..=15 {
                    let (a, _) = solve(at(j), DirectSolver::DualFista)?;
                    let values = svd(setting.reduced.matrix(&a).view())?.values;
                    if values.iter().filter(|&&s| s > 1e-3 * largest).count() <= most {
                        return Ok((at(j), vec![]));
                    }
                }
                Ok((at(15), vec![]))
            }
        }
    }
}

/// R2 of predictions of held-out responses by the mean of the 15 nearest indices.
fn neighbours_r2(index: ArrayView2<f64>, y: &[f64], folds: usize) -> Result<f64, Error> {
    let mut predicted = vec![0.0; y.len()];
    for (train, held) in k_fold(y.len(), folds, 0)? {
        let inner = index.select(Axis(0), &train);
        let values: Vec<f64> = train.iter().map(|&i| y[i]).collect();
        for i in held {
            predicted[i] = nearest_mean(inner.view(), &values, index.row(i), 15);
        }
    }
    scaled_r2(y, &predicted)
}
