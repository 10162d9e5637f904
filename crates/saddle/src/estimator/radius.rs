//! A fit with one radius, and the search for a radius.

use fenchel_linalg::labels::Label;
use fenchel_optim::{Budget, Cadence, Certificate, Refusal, Report, Status, Stop, Watch, run};

use super::choice::choose;
use super::fitting::Fitting;
use super::method::{Exact, Method, Mirror, Prox};
use super::model::{MulticlassL1Model, judged};
use super::phases::Phases;
use super::posed::Posed;
use super::race::Race;
use super::settings::{MulticlassL1, Solver};
use super::weights::{Start, by_classes, by_rows, objective};
use crate::Error;
use crate::methods::pdhg::PdhgState;
use crate::multiclass::sublinear::steps_a_pass;
use crate::multiclass::{HingeBilinear, Multiclass, MulticlassLoss};

impl MulticlassL1 {
    /// Doubles the radius while the objective decreases. The search does not end merely because the norm of the
    /// weights is below the radius, since the reason may be that the tolerance was met early.
    pub(super) fn search<L: Label>(
        &self,
        posed: &Posed<L>,
        at_zero: f64,
        mut start: Option<Start>,
        mut watch: Watch<'_>,
        mut budget: Budget,
    ) -> Result<MulticlassL1Model<L>, Error> {
        let s = &posed.samples;
        // No weights of a norm below `P(0) / slope` can bring the loss to 0.
        let problem = Multiclass::new(s, self.loss, 1.0, 0.0)?;
        let uniform = vec![1.0 / s.classes() as f64; s.rows() * s.classes()];
        let slope = at_zero - problem.dual(&uniform);
        let mut radius = if slope > 0.0 { at_zero / slope } else { 1.0 } / posed.unit;
        let most = if self.penalty > 0.0 { at_zero / self.penalty } else { f64::INFINITY };
        let mut last: Option<MulticlassL1Model<L>> = None;
        for _ in 0..40 {
            let left = budget.left();
            let (model, state) =
                self.at_radius(posed, radius.min(most), &left, start, watch.again())?;
            start = state;
            let (status, spent) = (model.report.status, budget.spend(model.report));
            watch.spend(&model.report);
            let value =
                |m: &MulticlassL1Model<L>| m.report.certificate.objective().unwrap_or(at_zero);
            let gained = last.as_ref().map_or(f64::INFINITY, |old| value(old) - value(&model));
            let enough = self.stop.tolerance(Some(value(&model))).max(1e-3 * at_zero);
            let ended = [Status::Stopped, Status::PassLimit, Status::TimeLimit];
            let stopped = ended.contains(&status);
            if gained > 0.0 {
                last = Some(model);
            }
            if let Some(last) = &mut last {
                let Report { passes, oracle_calls, seconds, .. } = spent;
                last.report = Report { passes, oracle_calls, seconds, ..last.report };
                // The search has not ended by itself, even if the last radius gained nothing.
                if status == Status::Stopped {
                    last.report.status = status;
                }
            }
            if gained < enough || radius >= most || stopped {
                break;
            }
            radius *= 2.0;
        }
        Ok(last.expect("the first model was kept"))
    }

    pub(super) fn at_radius<L: Label>(
        &self,
        posed: &Posed<L>,
        radius: f64,
        stop: &Stop,
        start: Option<Start>,
        mut watch: Watch<'_>,
    ) -> Result<(MulticlassL1Model<L>, Option<Start>), Error> {
        let (budget, s) = (Budget::new(*stop), &posed.samples);
        // Weights of a larger norm are worse than none.
        let most = self.loss.at_zero(s.classes()) / self.penalty;
        let bound = if self.penalty > 0.0 { radius.min(most) } else { radius };
        let problem = self.problem(s, posed.unit, bound)?;
        let solver = match (self.solver, &start) {
            (Solver::Auto, Some(start)) if start.exact && self.loss == MulticlassLoss::Hinge => {
                Some(Solver::Pdhg)
            }
            (solver, _) => choose(solver, &problem, stop)?,
        };
        let mut stop = *stop;
        let dense = (s.rows() + s.features()) as u64 * s.classes() as u64 * 8;
        let fits = |copies: u64| {
            let hint = "use Solver::Sublinear, or raise max_memory";
            let needed = dense.saturating_mul(copies);
            Refusal::check_memory("a method on whole matrices", needed, self.max_memory, hint)
        };
        // Both methods at once, where memory allows it.
        let solver =
            if solver.is_none() && fits(22).is_err() { Some(Solver::Pdhg) } else { solver };
        // The sublinear method reads rows and columns one by one. What it finds is judged on the sparse data.
        let (explicit, spread);
        let stepped = if solver == Some(Solver::Sublinear) && s.is_shifted() {
            let entries = (s.rows() as u64).saturating_mul(s.features() as u64);
            let hint = "use another solver or intercept: false, or raise max_memory";
            let needed = entries.saturating_mul(16);
            Refusal::check_memory("a centred dense copy", needed, self.max_memory, hint)?;
            explicit = s.explicit();
            spread = self.problem(&explicit, posed.unit, bound)?;
            &spread
        } else {
            &problem
        };
        let pair = |bilinear: &HingeBilinear| {
            let start = start.as_ref()?;
            let x = by_rows(&start.columns, s.features(), s.classes());
            let y = start.duals.clone().unwrap_or_else(|| bilinear.best_response(&x));
            Some(PdhgState::at(x, y))
        };
        let bilinear;
        let method: Box<dyn Method + '_> = match solver {
            Some(Solver::Sublinear) => {
                if stop.check == Cadence::Adaptive {
                    // A certificate costs as much as so many passes: half of the time at most.
                    let each = s.rows() + s.features() + s.classes();
                    let certificate = 2.0 * s.stored() as f64 * s.classes() as f64 / each as f64;
                    stop.check = Cadence::Doubling((certificate / steps_a_pass(s)).max(1.0));
                }
                Box::new(Phases::new(stepped, &problem, self.step, self.seed, self.max_memory)?)
            }
            Some(Solver::MirrorPdhg) => {
                fits(12)?;
                Box::new(Mirror::new(&problem)?)
            }
            Some(Solver::MirrorProx) => {
                fits(10)?;
                Box::new(Prox::new(&problem)?)
            }
            Some(Solver::Pdhg) => {
                fits(10)?;
                bilinear = HingeBilinear::new(&problem)?;
                Box::new(Exact::new(&problem, &bilinear, pair(&bilinear))?)
            }
            Some(Solver::Auto) | None => {
                bilinear = HingeBilinear::new(&problem)?;
                let exact = Exact::new(&problem, &bilinear, pair(&bilinear))?;
                Box::new(Race::new(&problem, exact, Mirror::new(&problem)?))
            }
        };
        if stop.check == Cadence::Adaptive {
            stop.check = Cadence::Every(20.0);
        }
        let mut fitting = Fitting::new(&problem, method);
        if let Some(start) = &start {
            fitting.consider(start.columns.clone());
        }
        // Copies and norms are made in the time of the fit.
        stop.max_seconds = budget.left().max_seconds;
        let report = run(&mut fitting, &stop, &mut watch)?;
        let (state, solver) = (fitting.method.state(), fitting.method.solver());
        let best = fitting.thinned(&self.stop);
        // From exactly what is returned.
        let value = objective(&problem, &best);
        let lower_bound = match report.certificate {
            Certificate::Gap { lower_bound, .. } => lower_bound,
            _ => f64::NEG_INFINITY,
        };
        let report = judged(report, problem.gap(value, lower_bound), &self.stop);
        let u = by_rows(&best, s.features(), s.classes());
        let norm = problem.norm(&u) / posed.unit;
        let model = MulticlassL1Model::new(self, posed, radius, solver, &u, norm, report);
        let next = |PdhgState { x, y, .. }| {
            let columns = by_classes(&x, s.classes());
            Start { columns, exact: true, duals: Some(y) }
        };
        Ok((model, state.map(next)))
    }
}
