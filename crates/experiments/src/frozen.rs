//! This module tests the claims of an experiment. A claim about a method must fail if the method does nothing.
//!
//! [`check`] first runs an experiment as it is. Then it runs the experiment again for every method that a claim depends on,
//! with this method frozen at its starting point. A claim that still passes does not test the method. The code of the
//! experiment implements the freezing. It passes the stopping rule of an iterative method through [`Context::stop`], which
//! sets the number of passes of a frozen method to 0. For other methods it asks [`Context::is_frozen`].
//!
//! ```
//! use fenchel_experiments::{Context, Experiment, Failure, Outcome, Source, frozen};
//! use fenchel_optim::Stop;
//!
//! fn run(context: &Context, outcome: &mut Outcome) -> Result<(), Failure> {
//!     let stop = context.stop("halving", Stop::after_passes(10.0));
//!     let gap = 0.5_f64.powf(stop.max_passes);
//!     let sentence = Source::OURS.claim("the gap halves at every pass").rests_on(["halving"]);
//!     outcome.claim(sentence.ours("at most 1e-3").holds((gap, gap <= 1e-3)));
//!     Ok(())
//! }
//! let halving = Experiment { id: "xx-1", run, ..Experiment::of("") };
//! let survivors = frozen::check(&halving, &Context::new(1))?;
//! assert!(survivors.is_empty());
//! # Ok::<(), Failure>(())
//! ```

use crate::{Claim, Context, Experiment, Failure, Ground, Outcome, Verdict};

/// A claim that passes although a method that it depends on stayed at its starting point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Survivor {
    /// The frozen method; empty for a claim that names no method.
    pub method: String,
    /// The statement of the claim.
    pub statement: String,
    /// The measurement with the method frozen.
    pub measured: String,
}

/// Runs an experiment once as it is, and once per method with this method frozen. Returns the [`survivors`].
///
/// # Errors
/// The errors of the experiment.
pub fn check(experiment: &Experiment, context: &Context) -> Result<Vec<Survivor>, Failure> {
    survivors(experiment, context, &experiment.outcome(context)?)
}

/// Runs an experiment once per method, with this method frozen. `honest` is the outcome of a run without a frozen method.
///
/// The function returns two kinds of claims. Claims of the first kind pass although a method that they depend on is frozen.
/// Claims of the second kind pass in `honest` and name no method. [`Ground::Exact`] claims need not name a method.
///
/// # Errors
/// The errors of the experiment.
pub fn survivors(
    experiment: &Experiment,
    context: &Context,
    honest: &Outcome,
) -> Result<Vec<Survivor>, Failure> {
    let mut methods: Vec<String> = Vec::new();
    for method in honest.claims.iter().flat_map(|claim| &claim.rests_on) {
        if !methods.contains(method) {
            methods.push(method.clone());
        }
    }
    let survivor = |method: &str, claim: &Claim| Survivor {
        method: method.to_owned(),
        statement: claim.statement.clone(),
        measured: claim.measured.clone(),
    };
    let passes = |claim: &&Claim| claim.verdict == Verdict::Pass;
    let nameless = |claim: &&Claim| claim.rests_on.is_empty() && claim.ground != Ground::Exact;
    let mut survivors: Vec<Survivor> =
        honest.claims.iter().filter(passes).filter(nameless).map(|c| survivor("", c)).collect();
    for method in methods {
        let outcome = experiment
            .outcome(&context.with_frozen(&method))
            .map_err(|failure| failure.during(format!("{} with {method} frozen", experiment.id)))?;
        let rests = |claim: &&Claim| claim.rests_on.contains(&method);
        let still = outcome.claims.iter().filter(passes).filter(rests);
        survivors.extend(still.map(|claim| survivor(&method, claim)));
    }
    Ok(survivors)
}

#[cfg(test)]
mod tests {
    use fenchel_optim::Stop;

    use super::*;
    use crate::{Sample, Source};

    /// `F - F*` of a method that starts at 1 and reduces it by a constant factor per pass.
    fn gap(context: &Context, method: &str, factor: f64) -> f64 {
        factor.powf(context.stop(method, Stop::after_passes(20.0)).max_passes)
    }

    fn race(context: &Context, outcome: &mut Outcome) -> Result<(), Failure> {
        let slow = Sample::exact(gap(context, "slow", 0.7));
        let fast = Sample::exact(gap(context, "fast", 0.3));
        let order =
            || Source::OURS.claim("slow is slower").rests_on(["slow", "fast"]).ours("above");
        outcome
            .claim(order().holds(fast.below(&slow)))
            .claim(order().holds(fast.below(&slow).and(slow.improves_on(1e-2))))
            .claim(Source::OURS.claim("nothing named").ours("-").holds((0.0, true)))
            .claim(Source::OURS.claim("counted").ours("-").exact((2.0, true)));
        Ok(())
    }

    #[test]
    fn only_a_pinned_loser_makes_an_order_that_a_frozen_method_cannot_pass() {
        let experiment = Experiment { id: "xx-1", run: race, ..Experiment::of("") };
        let survivors = check(&experiment, &Context::new(1)).unwrap();
        let found: Vec<(&str, &str)> =
            survivors.iter().map(|s| (s.method.as_str(), s.statement.as_str())).collect();
        // The first order, with the loser not pinned, passes with a loser that does nothing.
        assert_eq!(found, [("", "nothing named"), ("slow", "slow is slower")]);
    }
}
