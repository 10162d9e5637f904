//! `fenchel-mpi fit` and `fenchel-mpi glm`

use std::ops::ControlFlow;
use std::process::ExitCode;

use clap::ValueEnum;
use fenchel_erm::auto::batch;
use fenchel_erm::loss::{Hinge, Logistic, Poisson, Squared};
use fenchel_erm::methods::{Cocoa, CocoaSettings, cocoa};
use fenchel_erm::prox::L1;
use fenchel_erm::{AutoState, Choice, Method, Problem};
use fenchel_expfam::glm::{self, Glm, ScalarFamily};
use fenchel_finite_sum::{LinearModel, LogisticModel, PoissonModel, SvcModel};
use fenchel_linalg::{AsDesign, Design, Invalid};
use fenchel_mpi::data::{Rows, csv, libsvm};
use fenchel_mpi::{Error, Mpi};
use fenchel_optim::model::Saved;
use fenchel_optim::spread::{Communicator, Shards};
use fenchel_optim::{Fit, Loss, Progress, Report, Solution, Stop};
use ndarray::Array1;

use crate::Common;
use crate::show::Show;

/// The kind of linear model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// Two classes
    Logistic,
    /// A number, by least squares
    Linear,
    /// A count
    Poisson,
    /// Two classes, by the hinge, without an intercept; by dual ascent in the shards
    Svc,
}

/// The family of a generalised linear model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Family {
    /// Bernoulli targets 0 and 1, or shares
    Logistic,
    /// Counts
    Poisson,
    /// Numbers
    Normal,
    /// Positive numbers
    Gamma,
}

#[derive(clap::Args)]
pub(crate) struct Linear {
    /// What is fitted
    #[arg(value_enum)]
    kind: Kind,
    #[command(flatten)]
    common: Common,
    /// The column of the targets of CSV files, whose first lines hold names; without it files are of the LIBSVM format
    #[arg(long, value_name = "COLUMN")]
    target: Option<String>,
    /// Weight of the l1 norm
    #[arg(long, value_name = "X", default_value_t = 0.0, allow_negative_numbers = true)]
    l1: f64,
    /// Weight of half the squared norm [default: 0 where --l1 is given, else 1/rows]
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    l2: Option<f64>,
    /// Fit no intercept
    #[arg(long)]
    no_intercept: bool,
}

#[derive(clap::Args)]
pub(crate) struct Generalised {
    /// The family of the targets
    #[arg(value_enum)]
    family: Family,
    #[command(flatten)]
    common: Common,
    /// The column of the targets of CSV files, whose first lines hold names; without it files are of the LIBSVM format
    #[arg(long, value_name = "COLUMN")]
    target: Option<String>,
    /// Weight of half the squared norm
    #[arg(long, value_name = "X", default_value_t = 0.0, allow_negative_numbers = true)]
    l2: f64,
    /// Fit no intercept
    #[arg(long)]
    no_intercept: bool,
}

/// Does the same with the rows of either format.
macro_rules! with_rows {
    ($common:expr, $target:expr, $ranks:expr, $rows:ident => $do:expr) => {
        match $target {
            None => {
                let $rows = libsvm(&$common.files, $ranks)?;
                $do
            }
            Some(target) => {
                let $rows = csv(&$common.files, target, $ranks)?;
                $do
            }
        }
    };
}

impl Linear {
    pub(crate) fn run(&self, ranks: &Mpi) -> Result<ExitCode, Error> {
        self.common.begin(ranks, &[])?;
        self.check()?;
        with_rows!(self.common, &self.target, ranks, rows => self.fit(&rows, ranks))
    }

    /// What the fit would refuse after all was read.
    fn check(&self) -> Result<(), Error> {
        Invalid::check_nonnegative("--l1", self.l1)?;
        Invalid::check_nonnegative("--l2", self.l2.unwrap_or(0.0))?;
        let refused = match self.kind {
            Kind::Svc if !self.no_intercept => {
                "svc fits no intercept on many processes; give --no-intercept"
            }
            Kind::Poisson if self.l1 > 0.0 => "poisson takes no --l1 on many processes",
            _ => return Ok(()),
        };
        Err(Error::Usage(refused.to_owned()))
    }

    fn fit<X: AsDesign>(&self, rows: &Rows<X>, ranks: &Mpi) -> Result<ExitCode, Error> {
        let shards = Shards::new(ranks, &rows.sizes)?;
        let mut show = Show::new(ranks, self.common.quiet);
        show.begin(format_args!("{} rows", shards.all_rows()), &shards);
        // Each kind has its own type of model, of the same fields.
        macro_rules! saved {
            ($model:ident, $fitted:expr $(, $classes:ident)?) => {{
                let Fitted { weights, intercept, report, choice } = $fitted;
                let names = rows.x.names.clone();
                let model = $model { weights, intercept, $($classes,)? names, report, choice };
                save(&model, &self.common, ranks)?;
                report
            }};
        }
        let (x, y) = (&rows.x, &rows.y[..]);
        let report = match self.kind {
            Kind::Linear => saved!(LinearModel, self.solve(x, y, Squared, &shards, &mut show)?),
            Kind::Poisson => saved!(PoissonModel, self.solve(x, y, Poisson, &shards, &mut show)?),
            Kind::Logistic | Kind::Svc => {
                let classes = classes(y, ranks)?;
                let sign = |y: &f64| if *y == classes[0] { -1.0 } else { 1.0 };
                let signs: Vec<f64> = y.iter().map(sign).collect();
                if self.kind == Kind::Svc {
                    saved!(SvcModel, self.ascend(x, &signs, &shards, &mut show)?, classes)
                } else {
                    let fitted = self.solve(x, &signs, Logistic, &shards, &mut show)?;
                    saved!(LogisticModel, fitted, classes)
                }
            }
        };
        show.end(report, &shards);
        Ok(ExitCode::SUCCESS)
    }

    /// The hinge, by CoCoA.
    fn ascend<X: AsDesign>(
        &self,
        x: &X,
        signs: &[f64],
        shards: &Shards<'_>,
        show: &mut Show,
    ) -> Result<Fitted, Error> {
        let (penalty, l2) = self.penalty(shards);
        let design = x.as_design()?.spread(shards)?;
        let problem = Problem::new(design, signs, Hinge, penalty, l2)?;
        let settings = CocoaSettings { stop: self.common.stop(), ..CocoaSettings::default() };
        let mut observer = |progress: &Progress, _: &Cocoa<'_, '_, _, _, _>| {
            show.check(progress);
            ControlFlow::Continue(())
        };
        let Solution { state, report } = cocoa(&problem, &settings, None, &mut observer)?;
        Ok(Fitted { weights: state.point.weights.into(), intercept: 0.0, report, choice: None })
    }

    /// The l1 penalty, and the weight of half the squared norm.
    fn penalty(&self, shards: &Shards<'_>) -> (L1, f64) {
        let by_default = if self.l1 > 0.0 { 0.0 } else { 1.0 / shards.all_rows() as f64 };
        (L1 { strength: self.l1 }, self.l2.unwrap_or(by_default))
    }

    fn solve<X: AsDesign, L: Loss>(
        &self,
        x: &X,
        y: &[f64],
        loss: L,
        shards: &Shards<'_>,
        show: &mut Show,
    ) -> Result<Fitted, Error> {
        let (penalty, l2) = self.penalty(shards);
        let design = x.as_design()?.spread(shards)?;
        let problem = Problem::new(design, y, loss, penalty, l2)?;
        let problem = if self.no_intercept { problem } else { problem.with_intercept() };
        let mut observer = |progress: &Progress, _: &Method| {
            show.check(progress);
            ControlFlow::Continue(())
        };
        let Solution { state, report } = batch(&problem, &self.common.stop(), None, &mut observer)?;
        let AutoState { point, choice, .. } = state;
        let (intercept, choice) = (point.intercept, Some(choice));
        Ok(Fitted { weights: point.weights.into(), intercept, report, choice })
    }
}

/// What a fit found.
struct Fitted {
    weights: Array1<f64>,
    intercept: f64,
    report: Report,
    choice: Option<Choice>,
}

/// Rank 0 writes the model, which all have.
fn save(model: &impl Saved, common: &Common, ranks: &Mpi) -> Result<(), Error> {
    if ranks.rank() == 0 {
        model.save_file(&common.model)?;
    }
    // Nobody ends before the model is there.
    ranks.barrier();
    Ok(())
}

/// The two labels of all processes, ascending.
fn classes(y: &[f64], ranks: &Mpi) -> Result<[f64; 2], Error> {
    let mut own = y.to_vec();
    own.sort_by(f64::total_cmp);
    own.dedup();
    // More than two are wrong, and three of them will do to say so.
    own.truncate(3);
    let bits: Vec<u64> = own.iter().map(|label| label.to_bits()).collect();
    let all = ranks.gather_numbers(&bits).concat();
    let mut labels: Vec<f64> = all.into_iter().map(f64::from_bits).collect();
    labels.sort_by(f64::total_cmp);
    labels.dedup();
    match labels[..] {
        [low, high] => Ok([low, high]),
        _ => Err(Error::Usage(format!(
            "labels: {labels:?} are among them; expected two different ones"
        ))),
    }
}

impl Generalised {
    pub(crate) fn run(&self, ranks: &Mpi) -> Result<ExitCode, Error> {
        self.common.begin(ranks, &[])?;
        Invalid::check_nonnegative("--l2", self.l2)?;
        with_rows!(self.common, &self.target, ranks, rows => match self.family {
            Family::Logistic => self.fit(&rows, glm::Logistic, ranks),
            Family::Poisson => self.fit(&rows, glm::PoissonLog, ranks),
            Family::Normal => self.fit(&rows, glm::Identity, ranks),
            Family::Gamma => self.fit(&rows, glm::Reciprocal, ranks),
        })
    }

    fn fit<X: AsDesign, F>(&self, rows: &Rows<X>, family: F, ranks: &Mpi) -> Result<ExitCode, Error>
    where
        F: ScalarFamily + Clone,
        glm::GlmModel<F>: Saved,
    {
        let shards = Shards::new(ranks, &rows.sizes)?;
        let mut show = Show::new(ranks, self.common.quiet);
        show.begin(format_args!("{} rows", shards.all_rows()), &shards);
        let mut watch = |progress: &Progress| {
            show.check(progress);
            ControlFlow::Continue(())
        };
        let base = Glm::new(family);
        let absolute = self.common.tolerance.unwrap_or(base.stop.absolute);
        let max_passes = self.common.max_passes.unwrap_or(base.stop.max_passes);
        let stop = Stop { absolute, max_passes, ..base.stop };
        let glm = Glm { l2: self.l2, intercept: !self.no_intercept, stop, ..base };
        let fit = Fit::new().watch(&mut watch).spread(&shards);
        let model = glm.fit_with(&rows.x, &rows.y, fit)?;
        save(&model, &self.common, ranks)?;
        show.say(model.summary());
        show.end(model.report, &shards);
        Ok(ExitCode::SUCCESS)
    }
}
