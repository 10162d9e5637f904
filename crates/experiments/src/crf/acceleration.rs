//! Beyond the paper, section 7: SDCA accelerated by Catalyst.
//!
//! The default of its proximal weight was chosen on the text sets. It is measured on handwriting and on parts of speech.

use fenchel_crf::methods::{CatalystSettings, SdcaSettings, catalyst, sdca};
use fenchel_crf::{Features, Problem};
use fenchel_linalg::parallel;
use fenchel_optim::{Cadence, Report, Stop};

use super::tasks::Set;
use crate::documents::adaptive_sdca as paper;
use crate::race::in_passes;
use crate::{Context, Experiment, Failure, Outcome, SEEDS, Sample, Table};

pub(super) const ACCELERATION: Experiment = Experiment {
    id: "crf-acc",
    title: "Section 7: accelerated SDCA",
    question: "Does acceleration (Catalyst) save passes of SDCA for conditional random fields?",
    learnt: "On handwritten words (OCR) it saves about half of the passes at a tenth of the paper's penalty, and a third at the paper's penalty; half or more at both in a full run. On parts of speech SDCA needs one or two dozen passes, and acceleration saves few or none of them.",
    quick: "this run has 200 handwritten words, and 40 sentences for parts of speech",
    smaller: "a full run has 2,000 of the paper's 6,202 words, and 300 of the 8,936 sentences of CoNLL-2000 in the place of the paper's Penn Treebank",
    needs: &["ocr", "conll2000"],
    run: experiment,
    ..Experiment::of(super::DOCUMENT)
};

const PLAIN: &str = "SDCA by gaps";
const FAST: &str = "accelerated";
const LARGE: &str = "accelerated, large kappa";

/// The target: a certified gap, relative to the objective.
const TARGET: f64 = 1e-4;
/// `n l2` of the two races.
const PENALTIES: [f64; 2] = [0.1, 1.0];
/// The large proximal weight over `l2`, of which the default is 2.
const FACTOR: f64 = 100.0;
/// Passes after which a run ends in any case, and one with a large proximal weight.
const MOST: f64 = 300.0;
const MOST_LARGE: f64 = 100.0;

fn experiment(context: &Context, outcome: &mut Outcome) -> Result<(), Failure> {
    outcome
        .setting("target", "a duality gap of 1e-4 of the objective, computed after every pass")
        .setting("kappa", "weight of the proximal term (Catalyst): 2 l2 by default; large: 100 l2")
        .setting("seeds", format!("{SEEDS}; numbers are medians over the seeds [least, largest]"));
    let mut table = Table::new(
        "Passes that each method needs to a duality gap of 1e-4 of the objective, medians over 5 seeds; never: not within 300 passes, 100 with the large kappa",
        ["data", "n l2", PLAIN, FAST, LARGE],
    );
    let mut measured = vec![];
    let sets = [(Set::Ocr, context.pick(200, 2_000)), (Set::Parts, context.pick(40, 300))];
    for (k, (set, limit)) in sets.into_iter().enumerate() {
        context.progress(k as f64 / sets.len() as f64, set.name())?;
        let task = set.load(context, limit)?;
        task.describe(outcome);
        for penalty in PENALTIES {
            let l2 = penalty / task.train.sequences() as f64;
            let problem = Problem::new(&task.train, l2, Features::default())?;
            let plain = passes(context, PLAIN, |seed, stop| {
                let settings = SdcaSettings { seed, stop, ..SdcaSettings::default() };
                Ok(sdca::<f64, _>(&problem, &settings, None, &mut ())?.report)
            })?;
            let accelerated = |name: &str, kappa| {
                passes(context, name, |seed, stop| {
                    let settings =
                        CatalystSettings { kappa, seed, stop, ..CatalystSettings::default() };
                    Ok(catalyst::<f64, _>(&problem, &settings, None, &mut ())?.report)
                })
            };
            let (fast, large) = (accelerated(FAST, None)?, accelerated(LARGE, Some(FACTOR * l2))?);
            let name = task.name;
            measured.push(format!("{name}, n l2 {penalty}: {FAST} {fast}, {PLAIN} {plain} passes"));
            let medians = [&plain, &fast, &large].map(|run| in_passes(run.median()).into());
            table.push([name.into(), penalty.into()].into_iter().chain(medians));
        }
    }
    outcome.table(table);
    outcome.claim(
        paper(
            "7",
            "acceleration schemes have been proposed for both SAG and SDCA, though they have not been tested yet for training CRFs",
        )
        .claim("acceleration has not been tested for training conditional random fields")
        .rests_on([PLAIN, FAST])
        .reported("passes to a duality gap of 1e-4 of the objective, of accelerated SDCA (kappa = 2 l2) and of SDCA by gaps, medians over 5 seeds. Not judged: the sentence says only that nobody has tested it, which a measurement cannot contradict", measured.join("; ")),
    );
    Ok(())
}

/// The passes to the target, with a certificate after every pass.
fn passes(
    context: &Context,
    name: &str,
    solve: impl Fn(u64, Stop) -> Result<Report, Failure> + Sync,
) -> Result<Sample, Failure> {
    let max_passes = if name == LARGE { MOST_LARGE } else { MOST };
    let stop = Stop { check: Cadence::Every(1.0), max_passes, ..Stop::at_relative(TARGET) };
    let stop = context.stop(name, stop);
    Sample::over_seeds(parallel::try_map(0..SEEDS as u64, |seed| {
        context.check()?;
        let report = solve(context.seed + seed, stop)?;
        let there = report.certificate.relative() <= TARGET;
        Ok::<_, Failure>(if there { report.passes } else { f64::INFINITY })
    })?)
}
