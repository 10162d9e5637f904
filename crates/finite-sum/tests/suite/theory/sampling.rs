//! Rates of dual coordinate ascent with adaptive draws (Le Priol, Piche and Lacoste-Julien 2018, appendix F; theorem 3 is that of
//! Csiba, Qu and Richtarik's AdaSDCA), by enumeration of the term that is drawn.
//!
//! `c_i = 1 + L_i / (n mu)`, `d_i` the dual residue, `g_i` the gap of a term.

use crate::common::multiclass::codes;
use crate::common::{Data, data};
use fenchel_finite_sum::loss::{Hinge, Logistic, Squared};
use fenchel_finite_sum::methods::{DualState, SdcaSettings, SdcaStep, draw_weights, sdca};
use fenchel_finite_sum::multiclass::{self, MulticlassState};
use fenchel_finite_sum::multiclass::{MulticlassPoint, MulticlassProblem, MulticlassSettings};
use fenchel_finite_sum::{Point, Problem};
use fenchel_linalg::{Dense, Design};
use fenchel_optim::prox::Zero;
use fenchel_optim::random::{Generator, Order, Visits, stream};
use fenchel_optim::{Loss, Stop};
use rand::RngExt;

use super::{D, N, dot, dual_value, one_step};

/// A dual point of a problem with one margin, and what the theorems talk about, written out.
struct State {
    mu: f64,
    dual: Vec<f64>,
    value: f64,
    /// `P - D`
    gap: f64,
    residues: Vec<f64>,
    gaps: Vec<f64>,
    conditions: Vec<f64>,
}

type Toy<'a, L> = Problem<'a, Dense<'a, f64>, L, Zero>;

fn pose<L: Loss>(data: &Data, loss: L, classify: bool, mu: f64) -> Toy<'_, L> {
    let y = if classify { &data.signs } else { &data.reals };
    Problem::new(Dense::new(data.dense.view()).unwrap(), y, loss, Zero, mu).unwrap()
}

impl State {
    /// Derivatives at random margins.
    fn random<L: Loss + Copy>(problem: &Toy<'_, L>, data: &Data, rng: &mut Generator) -> Self {
        let (mu, y, loss) = (problem.l2(), problem.targets(), *problem.loss());
        let dual: Vec<f64> =
            y.iter().map(|&y| loss.derivative(rng.random_range(-3.0..3.0), y)).collect();
        let rows: Vec<Vec<f64>> = data.dense.rows().into_iter().map(|a| a.to_vec()).collect();
        let x: Vec<f64> = (0..D)
            .map(|c| -rows.iter().zip(&dual).map(|(a, s)| a[c] * s).sum::<f64>() / (mu * N as f64))
            .collect();
        let margins: Vec<f64> = rows.iter().map(|a| dot(a, &x)).collect();
        let each = |f: &dyn Fn(usize) -> f64| (0..N).map(f).collect::<Vec<f64>>();
        let value = dual_value(problem, &dual);
        let point = Point { weights: x, intercept: 0.0 };
        State {
            mu,
            value,
            gap: problem.objective(&point).unwrap() - value,
            residues: each(&|i| (loss.derivative(margins[i], y[i]) - dual[i]).abs()),
            gaps: each(&|i| {
                loss.value(margins[i], y[i]) + loss.conjugate(dual[i], y[i]) - dual[i] * margins[i]
            }),
            conditions: each(&|i| {
                1.0 + loss.curvature() * dot(&rows[i], &rows[i]) / (mu * N as f64)
            }),
            dual,
        }
    }

    fn state(&self) -> DualState {
        DualState::new(Point::zero(D), self.dual.clone())
    }

    /// What the library draws by, made to sum to 1.
    fn probabilities<L: Loss>(&self, problem: &Toy<'_, L>, order: &Order) -> Vec<f64> {
        let weights = draw_weights(problem, order, self.state()).unwrap().unwrap();
        let total: f64 = weights.iter().sum();
        weights.iter().map(|w| w / total).collect()
    }

    /// The rise of the dual value by a step of the library on each term, in the mean.
    fn expected_rise<L: Loss>(&self, problem: &Toy<'_, L>, step: SdcaStep, p: &[f64]) -> f64 {
        let rise = |j: usize| {
            let (order, stop) = one_step(j);
            let settings = SdcaSettings { step, order, stop, seed: 0, batch: 1 };
            let after = sdca(problem, &settings, Some(self.state()), &mut ()).unwrap();
            dual_value(problem, &after.state.dual) - self.value
        };
        p.iter().enumerate().map(|(j, p)| p * rise(j)).sum()
    }

    /// `theta = sum_i d_i^2 / sum_i d_i^2 c_i / p_i`
    fn theta(&self, p: &[f64]) -> f64 {
        let squares = || self.residues.iter().map(|d| d * d);
        let below: f64 = squares().zip(&self.conditions).zip(p).map(|((d, c), p)| d * c / p).sum();
        squares().sum::<f64>() / below
    }

    /// `chi^2`, of the gaps.
    fn non_uniformity(&self) -> f64 {
        let mean = self.gaps.iter().sum::<f64>() / N as f64;
        self.gaps.iter().map(|g| g * g).sum::<f64>() / N as f64 / (mean * mean)
    }
}

#[track_caller]
fn proportional(found: &[f64], expected: impl Iterator<Item = f64>, what: &str) {
    let expected: Vec<f64> = expected.collect();
    let total: f64 = expected.iter().sum();
    for (found, expected) in found.iter().zip(&expected) {
        assert!((found - expected / total).abs() <= 1e-12, "{what}: {found} {}", expected / total);
    }
}

/// Theorem 3: with `p_i` proportional to `d_i sqrt(c_i)` and steps `theta / p_i` on a quadratic loss,
/// `E[D+ - D] = theta (P - D)`; exact steps do at least as well, so that `D* - D` falls by the factor `1 - theta`. No other
/// probabilities have a larger `theta`, and that of fixed ones is `1 / sum_i c_i` at best.
#[test]
fn residues_contract_at_the_rate_of_theorem_3() {
    let mut tightest: f64 = 0.0;
    for seed in 0..200 {
        let mut rng = stream(seed, 3);
        let mu = 10f64.powf(rng.random_range(-2.5..0.0));
        let data = data(N, D, 1.0, seed);
        let problem = pose(&data, Squared, false, mu);
        let state = State::random(&problem, &data, &mut rng);
        let p = state.probabilities(&problem, &Order::Residual);
        let by_hand = state.residues.iter().zip(&state.conditions).map(|(d, c)| d * c.sqrt());
        proportional(&p, by_hand, "residues");
        let theta = state.theta(&p);
        // The theorem's own steps, on vectors written out: s_i + (theta / p_i) (phi_i'(a_i.x) - s_i).
        let x: Vec<f64> = (0..D)
            .map(|c| {
                let sum: f64 = (0..N).map(|i| data.dense[[i, c]] * state.dual[i]).sum();
                -sum / (mu * N as f64)
            })
            .collect();
        let rise: f64 = (0..N)
            .map(|i| {
                let margin: f64 = (0..D).map(|c| data.dense[[i, c]] * x[c]).sum();
                let mut dual = state.dual.clone();
                dual[i] += theta / p[i] * (margin - data.reals[i] - dual[i]);
                p[i] * (dual_value(&problem, &dual) - state.value)
            })
            .sum();
        let scale = 1.0 + state.value.abs() / state.mu;
        let bound = theta * state.gap;
        assert!((rise - bound).abs() <= 1e-12 * scale, "seed {seed}: {rise:e} {bound:e}");
        let exact = state.expected_rise(&problem, SdcaStep::Exact, &p);
        assert!(exact >= bound * (1.0 - 1e-9), "seed {seed}: {exact:e} {bound:e}");
        tightest = tightest.max(bound / exact);
        // The gap is no less than the suboptimality: E[D* - D+] <= (1 - theta) (D* - D).
        let (w, b) = crate::common::reference(&data.dense, &data.reals, &Squared, &Zero, mu, false);
        let best = problem.objective(&Point { weights: w, intercept: b }).unwrap();
        let before = best - state.value;
        assert!(before - exact <= (1.0 - theta) * before * (1.0 + 1e-9), "seed {seed}");
        // No other draws are better, and those by c_i alone are no better than 1 / sum c_i.
        let importance = state.probabilities(&problem, &Order::Lipschitz);
        proportional(&importance, state.conditions.iter().copied(), "importance");
        let of_importance = 1.0 / state.conditions.iter().sum::<f64>();
        assert!((state.theta(&importance) - of_importance).abs() <= 1e-12);
        assert!(theta >= of_importance);
        for _ in 0..20 {
            let other: Vec<f64> = p.iter().map(|p| p * rng.random_range(0.5..2.0)).collect();
            let total: f64 = other.iter().sum();
            let other: Vec<f64> = other.iter().map(|p| p / total).collect();
            assert!(state.theta(&other) <= theta * (1.0 + 1e-12), "seed {seed}");
        }
    }
    assert!(tightest > 0.5, "the bound is nowhere near: {tightest}");
}

/// Theorems 1, 2, 4 and 5 for the steps of one derivative (`1/c_i`) and exact ones, with `s = min 1/c_i`: the expected rise
/// is at least `(s/n) gap`, `gap / sum c_i`, `(s/n) chi^2 gap`, `chi gap / (n QM(c))`. For the squared loss a step `1/c_i` gains `g_i / (n
/// c_i)`, no more, so that the second is an equality.
#[test]
fn gaps_contract_at_the_rates_of_theorems_4_and_5() {
    fn check<L: Loss + Copy>(loss: L, classify: bool) {
        let n = N as f64;
        for seed in 0..100 {
            let mut rng = stream(seed, 4);
            let mu = 10f64.powf(rng.random_range(-2.5..0.0));
            let data = data(N, D, 1.0, seed);
            let problem = pose(&data, loss, classify, mu);
            let state = State::random(&problem, &data, &mut rng);
            let (gap, c) = (state.gap, &state.conditions);
            let mean = state.gaps.iter().sum::<f64>() / n;
            assert!((mean - gap).abs() <= 1e-9 * (1.0 + gap), "the gap is the mean of the terms'");
            let s = c.iter().fold(1.0, |s: f64, c| s.min(1.0 / c));
            let square = state.non_uniformity();
            let quadratic_mean = (c.iter().map(|c| c * c).sum::<f64>() / n).sqrt();
            let both = state.gaps.iter().zip(c).map(|(g, c)| g * c);
            let gaps = state.probabilities(&problem, &Order::Gap);
            proportional(&gaps, state.gaps.iter().copied(), "gaps");
            let lipschitz = state.probabilities(&problem, &Order::LipschitzGap);
            proportional(&lipschitz, both, "gaps and constants");
            let importance = state.probabilities(&problem, &Order::Lipschitz);
            for step in [SdcaStep::Exact, SdcaStep::Constant] {
                let rise = |p: &[f64]| state.expected_rise(&problem, step, p);
                for (which, rise, bound) in [
                    ("uniform", rise(&[1.0 / n; N]), s / n * gap),
                    ("importance", rise(&importance), gap / c.iter().sum::<f64>()),
                    ("gap", rise(&gaps), s / n * square * gap),
                    ("both", rise(&lipschitz), square.sqrt() * gap / (n * quadratic_mean)),
                ] {
                    assert!(rise >= bound * (1.0 - 1e-9), "{which} {seed}: {rise:e} {bound:e}");
                    let attained = which == "importance" && step == SdcaStep::Constant && !classify;
                    assert!(!attained || rise <= bound * (1.0 + 1e-9), "{rise:e} {bound:e}");
                }
            }
        }
    }
    check(Logistic, true);
    check(Squared, false);
}

/// The same with a distribution a term, the divergence as gap and the loss 1/2-smooth in the Euclidean norm.
#[test]
fn distributions_contract_at_the_rates_too() {
    const R: usize = 3;
    let n = N as f64;
    for seed in 0..60 {
        let mut rng = stream(seed, 5);
        let mu = 10f64.powf(rng.random_range(-2.0..0.0));
        let data = data(N, D, 1.0, seed);
        let y = codes(&data.reals, seed);
        let design = Dense::new(data.dense.view()).unwrap();
        let problem = MulticlassProblem::new(design, &y, R, Zero, mu).unwrap();
        let p: Vec<[f64; R]> = (0..N)
            .map(|_| {
                let e: [f64; R] = std::array::from_fn(|_| rng.random_range(-2.0..2.0f64).exp());
                e.map(|v| v / e.iter().sum::<f64>())
            })
            .collect();
        let reduced = |p: &[[f64; R]]| -> Vec<f64> {
            let wrong = |(p, &y): (&[f64; R], &usize)| {
                let mut p = p.to_vec();
                p.remove(y);
                p
            };
            p.iter().zip(&y).flat_map(wrong).collect()
        };
        let u = |i: usize, k: usize| p[i][k] - f64::from(u8::from(y[i] == k));
        let x = |c: usize, k: usize| {
            -(0..N).map(|i| data.dense[[i, c]] * u(i, k)).sum::<f64>() / (mu * n)
        };
        let own = |i: usize| {
            let z: [f64; R] =
                std::array::from_fn(|k| (0..D).map(|c| data.dense[[i, c]] * x(c, k)).sum::<f64>());
            let e = z.map(f64::exp);
            e.map(|v| v / e.iter().sum::<f64>())
        };
        let own: Vec<[f64; R]> = (0..N).map(own).collect();
        let pairs = || p.iter().zip(&own);
        let residues: Vec<f64> = pairs()
            .map(|(p, q)| p.iter().zip(q).map(|(p, q)| (p - q) * (p - q)).sum::<f64>().sqrt())
            .collect();
        let gaps: Vec<f64> =
            pairs().map(|(p, q)| p.iter().zip(q).map(|(p, q)| p * (p / q).ln()).sum()).collect();
        let c: Vec<f64> = (0..N)
            .map(|i| {
                let row = data.dense.row(i);
                1.0 + 0.5 * row.dot(&row) / (mu * n)
            })
            .collect();
        let start = || MulticlassState::new(MulticlassPoint::zero(D, R), reduced(&p));
        let probabilities = |order: Order| -> Vec<f64> {
            let weights = multiclass::draw_weights(&problem, &order, start());
            let weights = weights.unwrap().unwrap();
            let total: f64 = weights.iter().sum();
            weights.iter().map(|w| w / total).collect()
        };
        // -(1/n) sum p log p - ||A'u||^2 / (2 mu n^2)
        let value = |state: &MulticlassState| {
            let (mut entropy, mut v) = (0.0, [[0.0; R]; D]);
            for (i, stored) in state.dual.chunks(R - 1).enumerate() {
                let mut p = stored.to_vec();
                p.insert(y[i], 1.0 - stored.iter().sum::<f64>());
                for k in 0..R {
                    entropy -= if p[k] > 0.0 { p[k] * p[k].ln() } else { 0.0 };
                    let u = p[k] - f64::from(u8::from(y[i] == k));
                    (0..D).for_each(|f| v[f][k] += data.dense[[i, f]] * u);
                }
            }
            let square: f64 = v.iter().flatten().map(|v| v * v).sum();
            entropy / n - square / (2.0 * mu * n * n)
        };
        let before = value(&start());
        let rises: Vec<f64> = (0..N)
            .map(|j| {
                let (order, stop) = one_step(j);
                let settings = MulticlassSettings { order, stop, ..Default::default() };
                let after = multiclass::sdca(&problem, &settings, Some(start()), &mut ()).unwrap();
                value(&after.state) - before
            })
            .collect();
        let expected = |p: &[f64]| p.iter().zip(&rises).map(|(p, r)| p * r).sum::<f64>();
        let by_residues = probabilities(Order::Residual);
        proportional(&by_residues, residues.iter().zip(&c).map(|(d, c)| d * c.sqrt()), "residues");
        let by_gaps = probabilities(Order::Gap);
        proportional(&by_gaps, gaps.iter().copied(), "gaps");
        let by_both = probabilities(Order::LipschitzGap);
        proportional(&by_both, gaps.iter().zip(&c).map(|(g, c)| g * c), "both");
        let importance = probabilities(Order::Lipschitz);
        proportional(&importance, c.iter().copied(), "importance");
        let gap = gaps.iter().sum::<f64>() / n;
        let square = gaps.iter().map(|g| g * g).sum::<f64>() / n / (gap * gap);
        let s = c.iter().fold(1.0, |s: f64, c| s.min(1.0 / c));
        let quadratic_mean = (c.iter().map(|c| c * c).sum::<f64>() / n).sqrt();
        for (which, rise, bound) in [
            ("uniform", expected(&[1.0 / n; N]), s / n * gap),
            ("importance", expected(&importance), gap / c.iter().sum::<f64>()),
            ("gap", expected(&by_gaps), s / n * square * gap),
            ("both", expected(&by_both), square.sqrt() * gap / (n * quadratic_mean)),
        ] {
            assert!(rise >= bound * (1.0 - 1e-9), "{which} {seed}: {rise:e} {bound:e}");
        }
    }
}

/// AdaSDCA+ replayed: scores at the beginning of every pass, a tenth of what was drawn.
#[test]
fn scores_are_renewed_every_pass_and_fade_by_ten() {
    let data = data(40, D, 0.7, 3);
    let design = Dense::new(data.dense.view()).unwrap();
    let problem = Problem::new(design, &data.signs, Logistic, Zero, 0.02).unwrap();
    let n = problem.n();
    for order in [Order::Residual, Order::Gap, Order::LipschitzGap] {
        let mut state = DualState::new(Point::zero(D), vec![0.0; n]);
        let mut visits = Visits::scored(&vec![0.0; n], 0.1, 7).unwrap();
        for pass in 1..=4 {
            let scores = draw_weights(&problem, &order, state.clone()).unwrap().unwrap();
            visits.set_scores(&scores).unwrap();
            let script: Vec<usize> = (0..n).map(|_| visits.draw()).collect();
            let settings = SdcaSettings {
                order: Order::Scripted(script),
                stop: Stop::after_passes(1.0),
                ..Default::default()
            };
            let by_hand = sdca(&problem, &settings, Some(state), &mut ()).unwrap().state;
            // Scores are worth half a pass.
            let stop = Stop::after_passes(1.5 * f64::from(pass));
            let settings =
                SdcaSettings { order: order.clone(), seed: 7, stop, ..Default::default() };
            let found = sdca(&problem, &settings, None, &mut ()).unwrap();
            assert_eq!(found.report.passes, 1.5 * f64::from(pass));
            for (a, b) in found.state.dual.iter().zip(&by_hand.dual) {
                assert!((a - b).abs() <= 1e-12, "{order:?} pass {pass}: {a} {b}");
            }
            state = DualState::new(by_hand.point, by_hand.dual);
        }
    }
}

/// With the hinge most dual variables end at a bound, where there is no gap: draws by the gaps leave them alone.
#[test]
fn draws_by_gaps_spare_support_vector_machines_most_of_their_passes() {
    let data = data(1500, 20, 0.5, 4);
    let design = Dense::new(data.dense.view()).unwrap();
    let problem = Problem::new(design, &data.signs, Hinge, Zero, 0.1 / 1500.0).unwrap();
    let passes = |order: Order| {
        let stop = Stop { relative: 1e-3, max_passes: 5000.0, ..Stop::default() };
        let settings = SdcaSettings { order, stop, ..Default::default() };
        let report = sdca(&problem, &settings, None, &mut ()).unwrap().report;
        assert!(report.certificate.value() <= 1e-3, "{report}");
        report.passes
    };
    let (gap, permuted) = (passes(Order::Gap), passes(Order::default()));
    assert!(2.0 * gap <= permuted, "{gap} {permuted}");
    // Residues need a Lipschitz constant.
    let settings = SdcaSettings { order: Order::Residual, ..Default::default() };
    let refused = sdca(&problem, &settings, None, &mut ()).unwrap_err().to_string();
    assert!(refused.contains("hinge") && refused.contains("Order::Gap"), "{refused}");
    assert_eq!(problem.design().rows(), 1500);
}
