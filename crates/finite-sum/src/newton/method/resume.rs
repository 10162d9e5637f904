//! From a state to a run, and back.

use fenchel_linalg::Design;
use fenchel_optim::Loss;
use fenchel_optim::random::Generator;
use serde::{Deserialize, Serialize};

use super::super::forcing::Forcing;
use super::super::model::Recipe;
use super::super::orthants::Part;
use super::{ElasticNetForm, Newton};
use crate::Point;

/// The state of [`newton`](super::newton): a point, and where the run stood.
///
/// Given back with the same problem and settings (of `stop`, the limits may differ; models are minimised as far as its
/// tolerances need), the run goes on bit for bit from step to step. It holds `2 n` numbers at most and no matrix: a Hessian and
/// the copies of the data are made once more. Lower bounds that a run has proved are not kept, so that the end may
/// come a step later. A state made [`from`](From) a point, or of another run, is a warm start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NewtonState {
    /// The point.
    pub point: Point,
    /// Where the run stood.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) trail: Option<Box<Trail>>,
}

impl From<Point> for NewtonState {
    fn from(point: Point) -> Self {
        NewtonState { point, trail: None }
    }
}

/// All that a run knows beyond its point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Trail {
    l1: f64,
    l2: f64,
    intercept: f64,
    /// With the rounding of the steps that led there.
    margins: Vec<f64>,
    known: Known,
    drift: u32,
    #[serde(with = "fenchel_optim::limit")]
    drawn: f64,
    rng: Generator,
    last_set: usize,
    forcing: Forcing,
    /// Whether there was a copy by columns; which columns were copied by rows.
    columns: bool,
    part: Option<Vec<usize>>,
    by_columns: bool,
    hessian: Option<Recipe>,
    stalled: bool,
}

/// How the certificate of the point was found.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
enum Known {
    /// Not yet.
    No,
    /// From the margins, with the intercept at its optimum.
    ByMargins,
    /// By one look at the data.
    ByLook,
}

impl<D: Design, L: Loss, R: ElasticNetForm> Newton<'_, '_, D, L, R> {
    /// Where the run stands.
    pub(super) fn trail(&self) -> Box<Trail> {
        let known = match self.certificate {
            None => Known::No,
            Some(_) if self.by_look => Known::ByLook,
            Some(_) => Known::ByMargins,
        };
        Box::new(Trail {
            l1: self.l1,
            l2: self.l2,
            intercept: self.point.intercept,
            margins: self.gap.margins.clone(),
            known,
            drift: self.drift,
            drawn: self.drawn,
            rng: self.rng.clone(),
            last_set: self.last_set,
            forcing: self.forcing,
            columns: self.columns.is_some(),
            part: self.part.as_ref().map(|part| part.columns().to_vec()),
            by_columns: self.by_columns,
            hessian: self.hessian.as_ref().map(|hessian| hessian.recipe()),
            stalled: self.stalled,
        })
    }

    /// Goes on where a run of the same settings on the same problem stood, and not at all otherwise.
    pub(super) fn follow(&mut self, trail: Trail) {
        if !self.left(&trail) {
            return;
        }
        self.point.intercept = trail.intercept;
        self.gap.margins = trail.margins;
        (self.drift, self.drawn, self.rng) = (trail.drift, trail.drawn, trail.rng);
        (self.last_set, self.forcing) = (trail.last_set, trail.forcing);
        (self.by_columns, self.stalled) = (trail.by_columns, trail.stalled);
        let (problem, design) = (self.problem, self.problem.design());
        self.count();
        if let Some(recipe) = trail.hessian {
            let stored = self.stored(&recipe.set);
            let slope = problem.intercept().then_some(0.0);
            self.hessian = Some(self.model(&recipe.set, slope).again(design, stored, &recipe));
        }
        self.part = trail.part.map(|columns| Part::again(design, columns, &self.counts));
        if trail.columns {
            // There was a copy before.
            let _ = self.copy_columns();
        }
        let certificate = match trail.known {
            Known::No => return,
            Known::ByMargins => self.gap.margins_certificate(problem, &self.point.weights),
            Known::ByLook => {
                let objective = self.gap.look(problem, &self.point.weights);
                self.by_look = true;
                self.gap.conclude(problem, &self.point.weights, objective)
            }
        };
        self.remember(certificate);
    }

    /// Whether a run of these settings on this problem can have left this behind: its margins are those of the point, up to
    /// the rounding of steps.
    fn left(&self, trail: &Trail) -> bool {
        let (problem, n, d) = (self.problem, self.problem.n(), self.problem.d());
        let columns = |columns: &Vec<usize>| {
            columns.is_sorted_by(|a, b| a < b) && columns.last().is_none_or(|&c| c < d)
        };
        let fits = trail.l1 == self.l1
            && trail.l2 == self.l2
            && trail.rng.get_seed() == self.rng.get_seed()
            && trail.margins.len() == n
            && (trail.known != Known::ByLook || !problem.intercept())
            && (problem.intercept() || trail.intercept == self.point.intercept)
            && (self.l1 > 0.0 || (trail.part.is_none() && !trail.columns))
            // Columns of dense rows are never copied, nor counted exactly.
            && trail.part.as_ref().is_none_or(|part| !D::DENSE && columns(part))
            && trail.hessian.as_ref().is_none_or(|recipe| recipe.fits(n, d));
        let shift = trail.intercept - self.point.intercept;
        let largest = self.gap.margins.iter().fold(1.0, |m: f64, t| m.max(t.abs()));
        let near = |(t, kept): (&f64, &f64)| (t + shift - kept).abs() <= 1e-9 * largest;
        fits && self.gap.margins.iter().zip(&trail.margins).all(near)
    }
}
