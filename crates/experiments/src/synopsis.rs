//! The question and the answer of each experiment. They are the first two sentences of its section in the report.

/// The question and the answer of one experiment.
#[derive(Debug, Clone, Copy)]
pub struct Synopsis {
    /// Id of the experiment.
    pub id: &'static str,
    /// The source file of the experiment, relative to `crates/experiments/src`.
    pub file: &'static str,
    /// The question, as one sentence.
    pub question: &'static str,
    /// The answer according to the expected verdicts of its claims.
    pub learnt: &'static str,
}

/// The question and the answer of the experiment with this id.
pub fn find(id: &str) -> Option<&'static Synopsis> {
    ALL.iter().find(|s| s.id == id)
}

const fn about(
    id: &'static str,
    file: &'static str,
    question: &'static str,
    learnt: &'static str,
) -> Synopsis {
    Synopsis { id, file, question, learnt }
}

/// Every experiment once, in the order of the report.
pub static ALL: &[Synopsis] = &[
    about(
        "fs-ex1",
        "finite_sum/classification.rs",
        "On large classification data, is Finito in permuted order the quickest incremental method, and by how much?",
        "Permuted orders help, but SDCA gains as much from them as Finito, and at random SAG with its best step, Finito and SDCA are close.",
    ),
    about(
        "fs-ex2",
        "finite_sum/regression.rs",
        "Do the same orders hold for least squares?",
        "Finito needs the smaller step and must not introduce its terms one by one; L-BFGS is competitive where there are few features.",
    ),
    about(
        "fs-ex3",
        "finite_sum/tuned.rs",
        "Which method needs the fewest passes over the data when each has its best step?",
        "Permuted Finito is the best per pass; SAGA, random Finito and SDCA are alike; SAG with its best step is not behind them at first, but on least squares it is.",
    ),
    about(
        "fs-ex4",
        "finite_sum/sparse.rs",
        "Does SAGA converge with an l1 penalty alone, where no term is strongly convex?",
        "It does, with a linear tail, and it finds the support of the solution.",
    ),
    about(
        "fs-ex5",
        "finite_sum/orders.rs",
        "What does the order in which terms are visited change?",
        "A new permutation in each pass is best for Finito and bad for SAG; cyclic order spoils both where features turn slowly, and a tenth of the step mends that for Finito alone; coordinate descent is fine in all orders, and best with the largest derivative.",
    ),
    about(
        "fs-ex6",
        "finite_sum/lower_bound.rs",
        "How fast can any incremental method be, and is there a problem on which one is that fast?",
        "SDCA attains the bound on the worst case; the constant that is printed is too large by a factor of n.",
    ),
    about(
        "fs-ex7",
        "finite_sum/early_late.rs",
        "Does an incremental gradient method have the quick start of SGD and the fast end of L-BFGS?",
        "SAGA has both on most sets; the factor of 10 to 20 over a batch method depends on the data.",
    ),
    about(
        "fs-ex8",
        "finite_sum/acceleration.rs",
        "What does acceleration of SDCA gain, and what does a wrong constant cost it?",
        "It gains much where there are few terms for the condition number and nothing in the big-data regime; an L that is 100 times too large costs most of the gain, not all.",
    ),
    about(
        "gg-27",
        "ggm/graphs.rs",
        "Does a prior on degrees find more edges of a scale-free graph than the l1 norm?",
        "It is ahead on two of three families, and no worse on any where as many false edges are allowed as there are true ones; reweighted l1, tuned as carefully, is level.",
    ),
    about(
        "gg-28",
        "ggm/hubs.rs",
        "Are the hubs of a network of genes clearer under the degree prior?",
        "The genes of the document are absent; on generated ones hubs are at least as large as under the l1 norm, and the degree prior clusters most.",
    ),
    about(
        "gg-29",
        "ggm/prox.rs",
        "Which method computes the proximal operator of the degree prior in the fewest iterations?",
        "Dual decomposition; the minimum-norm point gets a usable accuracy, and subgradient steps do not get far.",
    ),
    about(
        "gg-30",
        "ggm/costs.rs",
        "What do the l1 norm, reweighted l1 and the degree prior cost?",
        "The degree prior costs more than one l1 problem and less than a sequence of reweighted ones.",
    ),
    about(
        "gg-33",
        "ggm/shortcut.rs",
        "How does the work of SHORTCUT grow with the number of variables?",
        "More slowly than the cubic growth of its brute-force rival, because its search of a pair stays near the root of the length.",
    ),
    about(
        "gg-34",
        "ggm/products.rs",
        "How many products does the fast maximum look at?",
        "The root of the length where entries are independent, and all of them on an input that is made to be bad.",
    ),
    about(
        "gg-36",
        "ggm/roc.rs",
        "Which rule finds edges best: thresholds, the lasso, or neighbourhoods?",
        "With few false edges thresholds of conditional covariances are ahead of the lasso; with many they are level.",
    ),
    about(
        "gg-36b",
        "ggm/roc.rs",
        "Do the rules come in the same order on random graphs without hubs?",
        "Yes: thresholds of conditional covariances are ahead with few false edges, SHORTCUT and both conditional tests find about the same edges, and with many the lasso is level.",
    ),
    about(
        "gg-37",
        "ggm/held_out.rs",
        "Which rule selects the graph of share returns that predicts best?",
        "The shares of the document are absent; on generated ones its order does not come out and is not judged.",
    ),
    about(
        "gg-38",
        "ggm/held_out.rs",
        "And which one for temperatures, where neighbours are much alike?",
        "The temperatures of the document are absent; on a generated field the rules are close, and its order is not judged.",
    ),
    about(
        "gg-53",
        "ggm/films.rs",
        "Does an item field predict ratings of films better than neighbourhood methods?",
        "With ten neighbours it reaches the document's error and is ahead of cosine neighbourhoods on a fixed graph, but behind those among the films that a user rated; fifty are worse than ten.",
    ),
    about(
        "gg-54",
        "ggm/iterations.rs",
        "Does the test error keep falling while an item field is trained?",
        "It falls steeply in the first iterations and is a little above its least value in the end.",
    ),
    about(
        "crf-table1",
        "crf/sizes.rs",
        "Are these the data sets that the paper trained on?",
        "Sequences, labels and weights agree in most rows; tokens of the Dutch entities and attributes of an image are counted in another way.",
    ),
    about(
        "crf-41",
        "crf/sampling.rs",
        "Which sequences should SDCA draw?",
        "Those with large gaps: sampling by gaps is ahead of uniform sampling, and always taking the largest gap is worse; importance does not cost here what the paper says.",
    ),
    about(
        "crf-42",
        "crf/sampling.rs",
        "How large a share of the draws should be adaptive?",
        "Most of the gain is there at small shares, and little changes beyond 0.8.",
    ),
    about(
        "crf-43",
        "crf/methods.rs",
        "Is SDCA with sampling by gaps the quickest method on handwriting and entities?",
        "On the entities it is, by updates and by calls of the oracle; on handwriting SAG-NUS needs fewer updates.",
    ),
    about(
        "crf-44",
        "crf/methods.rs",
        "And on chunks and parts of speech?",
        "It is, on both; uniform SDCA and OEG need similar numbers of updates on the chunks alone.",
    ),
    about(
        "crf-45",
        "crf/errors.rs",
        "Do all methods reach the same test error, and how soon?",
        "On text all are near the optimum's error after a few passes; on handwriting the errors still change at pass 20.",
    ),
    about(
        "crf-46",
        "crf/line_search.rs",
        "How precise must the line search of SDCA be?",
        "A sub-precision of 0.01 is enough and takes about two Newton steps; far from the optimum it takes more.",
    ),
    about(
        "crf-47",
        "crf/sampling.rs",
        "Is the mean of the last known gaps a good guess of the duality gap?",
        "It is within a factor of two once every sequence was seen; it overestimates, because gaps fall between two visits.",
    ),
    about(
        "crf-trees",
        "crf/trees.rs",
        "Does the paper's algorithm 2 do on trees and skip chains what it does on chains?",
        "It needs a quarter to a fifth of the passes of L-BFGS, and gaps beat uniform draws; the edges themselves lower no test error.",
    ),
    about(
        "crf-start",
        "crf/start.rs",
        "From which marginals should dual methods for CRFs start?",
        "From the true labels, smoothed: there the gap is that of zero weights; from the uniform distribution it is a thousand times larger, and costs half as many passes again or twice as many.",
    ),
    about(
        "crf-l1",
        "crf/elastic_net.rs",
        "Is SDCA by gaps as quick with an l1 penalty, where weights become 0?",
        "It is: it needs a fifth of the oracle calls of OWL-QN or fewer, sampling by gaps still helps, and about a tenth of the weights label as well as all of them.",
    ),
    about(
        "crf-oeg",
        "crf/oeg.rs",
        "Does gap sampling help OEG as it helps SDCA?",
        "It does: a block's gap follows from the step itself without another call, and OEG saves a third to a half of its oracle calls.",
    ),
    about(
        "crf-acc",
        "crf/acceleration.rs",
        "Does acceleration help SDCA for CRFs where the penalty is small?",
        "On handwriting it saves half of the passes; where SDCA needs a dozen or two, on parts of speech, it saves next to nothing.",
    ),
    about(
        "ml-structure",
        "mrf_learn/structure.rs",
        "How many sweeps does a gradient by sampling need when a bound on its error decides?",
        "Of order ten: the adaptive schedule is as accurate as thirty sweeps in every iteration, and sweeps much less.",
    ),
    about(
        "ml-structure-20",
        "mrf_learn/larger.rs",
        "Does the same hold for twenty nodes, with weak and with strong couplings?",
        "The accuracy does; with strong couplings the bound stops saying anything on the way, and less is saved.",
    ),
    about(
        "ml-lambda",
        "mrf_learn/structure.rs",
        "And for three strengths of the penalty?",
        "The accuracy holds for each, and the sweeps begin at one and rise.",
    ),
    about(
        "ml-bound",
        "mrf_learn/tightness.rs",
        "How close is the bound to the error of the gradient?",
        "Within a factor of ten after the first iterations, far closer than the bound it is compared with.",
    ),
    about(
        "ml-senate",
        "mrf_learn/senate.rs",
        "What do votes of the US Senate show when a sparse network is learned from them?",
        "The two parties, and Ben Nelson and Chafee across; Rockefeller's ties across are not seen, for he missed a third of the votes.",
    ),
    about(
        "gr-sl",
        "graphical/structure.rs",
        "How near to the truth are graphs that are learned from samples, by scores and by tests?",
        "On asia the exact search is an arc away from the truth and hill climbing nearly always finds the same graph; on alarm PC comes nearer than hill climbing.",
    ),
    about(
        "ca-ex1",
        "causal/adaptation.rs",
        "After an intervention on the cause, does the causal model adapt faster?",
        "Yes, on nearly every pair, and the distance at the start says how fast.",
    ),
    about(
        "ca-ex2",
        "causal/adaptation.rs",
        "And after an intervention on the effect?",
        "Then the anticausal model is faster: the quicker model is not always the causal one.",
    ),
    about(
        "ca-ex3",
        "causal/adaptation.rs",
        "Is it the same when distributions are sparse?",
        "After an intervention on the cause the causal model has a slight lead.",
    ),
    about(
        "ca-ex4",
        "causal/adaptation.rs",
        "And for an intervention on the effect, with sparse distributions?",
        "No model has a lead: the divergence explodes for all of them.",
    ),
    about(
        "ca-ex5",
        "causal/adaptation.rs",
        "Which model is faster when interventions of both kinds are mixed?",
        "The causal one, by the interventions on the cause.",
    ),
    about(
        "ca-ex6",
        "causal/adaptation.rs",
        "And with sparse distributions?",
        "The models can hardly be told apart; their means differ a little more than the specification says.",
    ),
    about(
        "ca-ex7",
        "causal/adaptation.rs",
        "What if one mechanism alone is redrawn?",
        "The causal model has a slight advantage and performs like the joint one.",
    ),
    about(
        "ca-ex7b",
        "causal/adaptation.rs",
        "What if all mechanisms are redrawn, or moved by noise?",
        "The comparison depends on how they are moved; the numbers are shown.",
    ),
    about(
        "ca-ex8",
        "causal/theory.rs",
        "How large is the ball in which an intervention leaves the causal model ahead?",
        "Tiny for dense distributions and as large as the deviation for sparse ones; the printed estimate of its radius has a wrong sign.",
    ),
    about(
        "ca-ex9",
        "causal/theory.rs",
        "How often is the direction wrong that the prior itself makes most probable?",
        "As often as the table says, to the digit that it prints.",
    ),
    about(
        "ca-ex10",
        "causal/normal.rs",
        "For normal variables, which model is closer after an intervention on the cause?",
        "The causal one, on every pair in natural parameters and on most in others.",
    ),
    about(
        "ca-ex11",
        "causal/normal.rs",
        "And after an intervention on the effect?",
        "The anticausal model is farther on most pairs, not on all.",
    ),
    about(
        "ca-ex12",
        "causal/normal.rs",
        "Does the distance decide the speed for normal variables too?",
        "Hardly: both models adapt at nearly the same speed.",
    ),
    about(
        "ca-ex13",
        "causal/theory.rs",
        "Can the direction be learned from the speed of adaptation?",
        "From interventions on the cause, yes; those on the effect teach the wrong direction.",
    ),
    about(
        "ca-ex14",
        "causal/theory.rs",
        "Does the printed bound of stochastic gradients hold when a run starts at the optimum?",
        "No: the noise of single samples moves it away. With the missing term the bound holds.",
    ),
    about(
        "ca-ex15",
        "causal/theory.rs",
        "Which treatment of kidney stones is better?",
        "B among those who were treated, A once the size of the stones is adjusted for.",
    ),
    about(
        "ca-census",
        "causal/census.rs",
        "Are the answers about identification right on random graphs?",
        "Every formula gives the effect of a random model, and every refusal comes with two models that agree on all that is seen.",
    ),
    about(
        "ca-tuebingen",
        "causal/real.rs",
        "How often is the direction of real pairs found?",
        "Shares of right directions are shown beside the half that chance has.",
    ),
    about(
        "ca-sachs",
        "causal/real.rs",
        "How close are learned graphs of protein signalling to the consensus?",
        "Distances of each method are shown; no document states what they should be.",
    ),
    about(
        "ca-nhefs",
        "causal/real.rs",
        "How much weight does quitting smoking add?",
        "About three and a half kilograms after adjustment, by every estimator; the plain difference of means is smaller.",
    ),
    about(
        "ef-1",
        "expfam/variance.rs",
        "What is the exact risk of estimating a variance, and are its bounds tight?",
        "Maximum likelihood has infinite risk below three observations; a prior mends that, and its bound is off by two in the end.",
    ),
    about(
        "ef-2",
        "expfam/priors.rs",
        "Which prior has the least risk?",
        "A strong one at the truth; a weak one does better with a larger mean, near 1 + 1/n0 times the truth.",
    ),
    about(
        "ef-3",
        "expfam/bias.rs",
        "How do bias and variance of MAP fall?",
        "The bias like 1/n^2 and the variance like 1/n.",
    ),
    about(
        "ef-4",
        "expfam/paths.rs",
        "Where do the means of estimates lie in the two parametrisations?",
        "On a segment in mean parameters, where maximum likelihood is unbiased; natural parameters bend it.",
    ),
    about(
        "ef-5",
        "expfam/shapes.rs",
        "What do the functions behind the bounds look like?",
        "They are barriers whose quadratic bound holds up to a crossing at 0.2153.",
    ),
    about(
        "ef-6",
        "expfam/notions.rs",
        "Which notion of variance stays finite for barrier objectives?",
        "The gap to the optimum does; the usual two do not, and with a constant step the method ends in a ball.",
    ),
    about(
        "ef-7",
        "expfam/asymptotics.rs",
        "Does n times the risk tend to d / 2?",
        "It does for nine families, by maximum likelihood and by MAP, and what is left falls like 1/n.",
    ),
    about(
        "cs-1",
        "expfam/averages.rs",
        "Can averaging predictions beat the best linear model?",
        "Yes where the model is wrong: a larger step is then even better, and averaged parameters never do.",
    ),
    about(
        "cs-2",
        "expfam/averages.rs",
        "When is averaging predictions not superior?",
        "When the model is nearly right: halving the step then gains a factor four for parameters and two for predictions.",
    ),
    about(
        "cs-3",
        "expfam/kernel.rs",
        "Do averaged predictions lead with a kernel?",
        "They do at large steps, by smaller factors than were read from one run, and tie at small ones.",
    ),
    about(
        "cs-4",
        "expfam/real.rs",
        "And on real data?",
        "With large steps they lead for the linear model; for the kernel, each with its best step, the two are level.",
    ),
    about(
        "mo-e1",
        "moments/contour.rs",
        "What do the features of the experiments look like?",
        "A mixture whose mass is on the square that is shown.",
    ),
    about(
        "mo-e2",
        "moments/exact.rs",
        "Does SADE find the directions where SIR cannot?",
        "SADE's error falls like 1/n; SIR's stops, for the features are not elliptical.",
    ),
    about(
        "mo-e3",
        "moments/exact.rs",
        "On a staircase, which of SADE, SPHD and PHD+ is best?",
        "SADE, then SPHD, then PHD+.",
    ),
    about(
        "mo-e4",
        "moments/exact.rs",
        "What can be found from two classes?",
        "SADE finds one direction of two, as it must; SPHD is better than PHD+.",
    ),
    about(
        "mo-e5",
        "moments/exact.rs",
        "And on a quadratic model?",
        "SADE and SPHD converge; PHD+ finds both directions only by absolute eigenvalues.",
    ),
    about(
        "mo-e6",
        "moments/grid.rs",
        "What does it cost to learn the score function?",
        "A small factor, with an error that still falls like a power of n.",
    ),
    about(
        "mo-e7",
        "moments/bandwidth.rs",
        "Is a score that is learned together with the directions better than one learned before?",
        "With too wide a bandwidth, yes; at the best bandwidth a learned score is nearly as good as the exact one.",
    ),
    about(
        "mo-e8",
        "moments/bandwidth.rs",
        "And on the rational model?",
        "The same, and bumps over a Gaussian score hardly depend on bandwidth and ridge.",
    ),
    about(
        "mo-e9",
        "moments/dimension.rs",
        "Does MAVE lose to SADE as the number of features grows?",
        "On four directions it does; on the document's ten, at full size, refined MAVE stays ahead to the last number of features.",
    ),
    about(
        "mo-e10",
        "moments/failures.rs",
        "Which method sees which dependence?",
        "Each finds what the table of the thesis says, and nothing else.",
    ),
    about(
        "mo-coverage",
        "moments/coverage.rs",
        "Do 95 % regions of directions hold the truth in 95 % of repetitions?",
        "They do, for the normal limit of SIR and for bootstrap intervals.",
    ),
    about(
        "sa-runtime",
        "saddle/runtime.rs",
        "Does a step of the sublinear method cost O(n + d + k)?",
        "Its operations grow in proportion to the size.",
    ),
    about(
        "sa-race",
        "saddle/rivals.rs",
        "Is it ahead of stochastic subgradients and mirror prox?",
        "Its gap falls about as fast as the theorem says, and mirror prox keeps its bound; the race against subgradients is judged at full size alone.",
    ),
    about(
        "sa-real",
        "saddle/real.rs",
        "How accurate is a sparse classifier on real data, with how many weights?",
        "More than 85 % on iris, wine and digits at the largest radius; each fit comes with its gap.",
    ),
];

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::registry;

    /// A line for every experiment, in its order, with the file that has it.
    #[test]
    fn every_experiment_has_a_question_and_an_answer() {
        let ids = |all: &mut dyn Iterator<Item = &'static str>| all.collect::<Vec<_>>();
        assert_eq!(
            ids(&mut ALL.iter().map(|s| s.id)),
            ids(&mut registry::ALL.iter().map(|e| e.id))
        );
        for s in ALL {
            assert!(s.question.ends_with('?') && s.learnt.ends_with('.'), "{}", s.id);
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(s.file);
            let code = std::fs::read_to_string(&path).unwrap_or_default();
            assert!(code.contains(&format!("\"{}\"", s.id)), "{} is not in {}", s.id, s.file);
        }
    }
}
