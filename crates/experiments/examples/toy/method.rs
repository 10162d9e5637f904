//! Projected gradient: `w <- max(w - g / L, 0)`, a pass a step (Goldstein, 1964).
//!
//! With `p` the gradient without the coordinates that stand at 0 and push downwards, strong convexity makes
//! `F(w) - ||p||^2 / (2 l2)` a lower bound: a duality gap from the returned point.

use fenchel_linalg::{Design, Invalid};
use fenchel_optim::{Certificate, Iterative, Observer, Refusal, Solution, Stop, run};
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::problem::Problem;

/// When to end.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProjectedGradientSettings {
    pub stop: Stop,
}

pub fn projected_gradient<D: Design, O: for<'p> Observer<ProjectedGradient<'p, D>>>(
    problem: &Problem<'_, D>,
    settings: &ProjectedGradientSettings,
    start: Option<Vec<f64>>,
    observer: &mut O,
) -> Result<Solution<Vec<f64>>> {
    if problem.l2 == 0.0 {
        return Err(Refusal::NeedsStrongConvexity { method: "projected_gradient" }.into());
    }
    let columns = problem.design.columns();
    let mut w = start.unwrap_or_else(|| vec![0.0; columns]);
    Invalid::check_length("start", columns, w.len())?;
    Invalid::check_finite("start", &w)?;
    w.iter_mut().for_each(|w| *w = w.max(0.0));
    let mut method = ProjectedGradient { problem, step: 1.0 / problem.smoothness(), w };
    let report = run(&mut method, &settings.stop, observer)?;
    Ok(Solution { state: method.w, report })
}

/// The method behind [`projected_gradient`]; an observer may read its point.
pub struct ProjectedGradient<'p, D> {
    problem: &'p Problem<'p, D>,
    step: f64,
    pub w: Vec<f64>,
}

impl<D: Design> Iterative for ProjectedGradient<'_, D> {
    fn advance(&mut self, _: f64) -> f64 {
        let (_, gradient) = self.problem.value_gradient(&self.w);
        self.w.iter_mut().zip(gradient).for_each(|(w, g)| *w = (*w - self.step * g).max(0.0));
        1.0
    }

    fn certify(&mut self) -> Certificate {
        let (value, gradient) = self.problem.value_gradient(&self.w);
        let held = |(&w, g): (&f64, f64)| if w == 0.0 { g.min(0.0) } else { g };
        let square: f64 = self.w.iter().zip(gradient).map(held).map(|p| p * p).sum();
        Certificate::gap(value, value - square / (2.0 * self.problem.l2))
    }
}
