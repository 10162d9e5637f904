//! The theorems of section 4 with their constants, the certificate, and the laws of sampling by enumeration.

use fenchel_optim::random::stream;
use fenchel_optim::{Cadence, StepSize, Stop};
use fenchel_saddle::methods::{
    At, MirrorDescentSettings, MirrorPdhgSettings, MirrorProxSettings, Oracle, mirror_descent,
    mirror_pdhg, mirror_prox, stochastic_mirror_descent,
};
use fenchel_saddle::multiclass::{
    Dual, Geometry, Multiclass, Sampler, Sampling, SublinearSettings, sublinear,
};
use fenchel_saddle::{MulticlassLoss, Primal, SaddleProblem};
use rand::RngExt;

use crate::data;

const HINGE: MulticlassLoss = MulticlassLoss::Hinge;
const SOFTMAX: MulticlassLoss = MulticlassLoss::Softmax;

fn once(passes: f64) -> Stop {
    Stop { check: Cadence::Every(1e9), ..Stop::after_passes(passes) }
}

/// Theorem 4.1, `2 sqrt(5) a / sqrt(T)`. The rest term `r/T` is 0: the hinge is linear, and the entropy is smallest at the start.
#[test]
fn mirror_descent_keeps_its_bound() {
    for (loss, k, lambda) in [(HINGE, 4, 0.01), (HINGE, 2, 0.0), (SOFTMAX, 3, 0.02)] {
        let samples = data::samples(30, 6, k, 1);
        let problem = Multiclass::new(&samples, loss, 4.0, lambda).unwrap();
        for steps in [10_u64, 100, 1000] {
            let settings = MirrorDescentSettings {
                horizon: Some(steps),
                stop: once(steps as f64),
                ..Default::default()
            };
            let state = mirror_descent(&problem, &settings, None, &mut ()).unwrap().state;
            let bound = 2.0 * 5.0_f64.sqrt() * problem.scale() / (steps as f64).sqrt();
            let ratio = problem.split_gap(&state.x, &state.y) / bound;
            assert!(ratio <= 1.0 && ratio > 0.02, "{loss:?} {k} {steps}: {ratio}");
        }
    }
}

/// `2a/T` in all geometries that have a closed form; tight enough that a wrong constant would show.
#[test]
fn mirror_prox_keeps_its_bound() {
    let geometries = [Primal::Entries, Primal::Rows]
        .into_iter()
        .flat_map(|primal| [Dual::Entropy, Dual::Euclidean].map(|dual| Geometry { primal, dual }));
    for geometry in geometries {
        for (loss, k) in [(HINGE, 4), (HINGE, 2), (SOFTMAX, 4)] {
            if loss == SOFTMAX && geometry.dual == Dual::Euclidean {
                continue;
            }
            let samples = data::samples(30, 6, k, 2);
            let problem = Multiclass::with_geometry(&samples, loss, 4.0, 0.01, geometry).unwrap();
            let mut worst = 0.0_f64;
            for steps in [1.0, 10.0, 100.0, 1000.0] {
                let settings =
                    MirrorProxSettings { step: StepSize::Theory, stop: once(2.0 * steps) };
                let state = mirror_prox(&problem, &settings, None, &mut ()).unwrap().state;
                let ratio = problem.split_gap(&state.x, &state.y) * steps / (2.0 * problem.scale());
                assert!(ratio <= 1.0, "{geometry:?} {loss:?} {steps}: {ratio}");
                worst = worst.max(ratio);
            }
            assert!(worst > 0.1, "{geometry:?} {loss:?}: {worst}");
        }
    }
}

/// `2 (r + 1/r) a/T` with the constant step, in all geometries, and far below it with the line search, which must not end above the constant
/// step's gap.
#[test]
fn mirror_pdhg_keeps_its_bound() {
    let geometries = [Primal::Entries, Primal::Rows]
        .into_iter()
        .flat_map(|primal| [Dual::Entropy, Dual::Euclidean].map(|dual| Geometry { primal, dual }));
    for geometry in geometries {
        for (loss, k) in [(HINGE, 4), (HINGE, 2), (SOFTMAX, 4)] {
            if loss == SOFTMAX && geometry.dual == Dual::Euclidean {
                continue;
            }
            let samples = data::samples(30, 6, k, 2);
            let problem = Multiclass::with_geometry(&samples, loss, 4.0, 0.01, geometry).unwrap();
            for balance in [1.0, 3.0] {
                let mut worst = 0.0_f64;
                for steps in [1.0, 10.0, 100.0, 1000.0] {
                    let gap = |step| {
                        let settings = MirrorPdhgSettings { step, balance, stop: once(steps) };
                        let state = mirror_pdhg(&problem, &settings, None, &mut ()).unwrap().state;
                        problem.split_gap(&state.x, &state.y)
                    };
                    let bound = 2.0 * problem.scale() * (balance + 1.0 / balance) / steps;
                    let ratio = gap(StepSize::Theory) / bound;
                    assert!(ratio <= 1.0, "{geometry:?} {loss:?} {steps}: {ratio}");
                    worst = worst.max(ratio);
                    if steps == 1000.0 {
                        let searched = gap(StepSize::Backtracking) / bound;
                        assert!(searched <= ratio, "{geometry:?} {loss:?}: {searched} {ratio}");
                    }
                }
                assert!(worst > 0.05, "{geometry:?} {loss:?}: {worst}");
            }
        }
    }
}

/// The halves of the field are the field; with the default of the trait too.
#[test]
fn halves_of_the_field_are_the_field() {
    struct Whole<'a>(&'a Multiclass<'a>);
    impl SaddleProblem for Whole<'_> {
        fn x_setup(&self) -> &dyn fenchel_saddle::setup::Setup {
            self.0.x_setup()
        }
        fn y_setup(&self) -> &dyn fenchel_saddle::setup::Setup {
            self.0.y_setup()
        }
        fn field(&self, x: &[f64], y: &[f64], gx: &mut [f64], gy: &mut [f64]) {
            self.0.field(x, y, gx, gy);
        }
        fn coupling(&self) -> f64 {
            self.0.coupling()
        }
        fn objective(&self, x: &[f64]) -> f64 {
            self.0.objective(x)
        }
        fn lower_bound(&self, y: &[f64]) -> f64 {
            self.0.lower_bound(y)
        }
    }
    let samples = data::samples(20, 5, 3, 4);
    let problem = Multiclass::new(&samples, HINGE, 3.0, 0.02).unwrap();
    let settings = MirrorPdhgSettings { stop: once(50.0), ..Default::default() };
    let one = mirror_pdhg(&problem, &settings, None, &mut ()).unwrap().state;
    let two = mirror_pdhg(&Whole(&problem), &settings, None, &mut ()).unwrap().state;
    assert_eq!(one, two);
    // A run in two parts is the run in one: the state takes all along but the step's first growth.
    let half =
        MirrorPdhgSettings { step: StepSize::Theory, stop: once(25.0), ..Default::default() };
    let first = mirror_pdhg(&problem, &half, None, &mut ()).unwrap().state;
    let last = mirror_pdhg(&problem, &half, Some(first), &mut ()).unwrap().state;
    assert!(problem.split_gap(&last.x, &last.y) < 2.0 * problem.scale() * (10.0 / 3.0) / 25.0);
}

/// The repaired Theorem 4.2, `(3 sqrt(10) a + (7/sqrt(2)) s) / sqrt(T)`, for both samplings and for the lazy form.
#[test]
fn sampled_descent_keeps_its_bound_on_average() {
    let samples = data::samples(20, 5, 4, 3);
    let problem = Multiclass::new(&samples, HINGE, 3.0, 0.01).unwrap();
    let steps = 2000_u64;
    let root = (steps as f64).sqrt();
    let bound = 3.0 * 10.0_f64.sqrt() * problem.scale() + 7.0 / 2.0_f64.sqrt() * problem.noise();
    let bound = bound / root;
    for sampling in [Sampling::Partial, Sampling::Full] {
        let mut mean = 0.0;
        for seed in 0..10 {
            let mut oracle = Sampler::new(&problem, sampling, seed).unwrap();
            let stop = once(steps as f64 * oracle.passes());
            let settings =
                MirrorDescentSettings { horizon: Some(steps), stop, ..Default::default() };
            let state =
                stochastic_mirror_descent(&problem, &mut oracle, &settings, None, &mut ()).unwrap();
            mean += 0.1 * problem.split_gap(&state.state.x, &state.state.y);
        }
        assert!(mean <= bound && mean > 0.01 * bound, "{sampling:?}: {mean} {bound}");
    }
    let mut mean = 0.0;
    for seed in 0..10 {
        let stop = once(steps as f64 * 25.0 / 100.0);
        let settings = SublinearSettings { horizon: Some(steps), stop, seed, ..Default::default() };
        mean +=
            0.1 * sublinear(&problem, &settings, None, &mut ()).unwrap().state.split_gap(&problem);
    }
    assert!(mean <= bound && mean > 0.01 * bound, "{mean} {bound}");
}

struct Pair {
    x: Vec<f64>,
    y: Vec<f64>,
    x_coordinates: Vec<f64>,
    y_coordinates: Vec<f64>,
}

impl Pair {
    /// A random pair: a few random steps from the centre.
    fn random(problem: &Multiclass, seed: u64, size: f64) -> Self {
        let mut rng = stream(seed, 5);
        let (sx, sy) = (problem.x_setup(), problem.y_setup());
        let (mut x_coordinates, mut y_coordinates) =
            (vec![0.0; sx.coordinates()], vec![0.0; sy.coordinates()]);
        sx.centre(&mut x_coordinates);
        sy.centre(&mut y_coordinates);
        let mut gradient = |length: usize| -> Vec<f64> {
            (0..length).map(|_| rng.random_range(-1.0..1.0)).collect()
        };
        let mut g = gradient(sx.dimension());
        g[sx.dimension() - 1] = 0.0;
        sx.step(&mut x_coordinates, &g, size * problem.radius());
        sy.step(&mut y_coordinates, &gradient(sy.dimension()), size);
        let (mut x, mut y) = (vec![0.0; sx.dimension()], vec![0.0; sy.dimension()]);
        sx.point(&x_coordinates, &mut x);
        sy.point(&y_coordinates, &mut y);
        Pair { x, y, x_coordinates, y_coordinates }
    }

    fn at(&self) -> At<'_> {
        At {
            x: &self.x,
            y: &self.y,
            x_coordinates: &self.x_coordinates,
            y_coordinates: &self.y_coordinates,
        }
    }
}

/// Norms of Table 4.1: that of `X U` (dual to the dual variables) and of `X'(V - Y)`.
fn squares(problem: &Multiclass, scores: &[f64], gradient: &[f64]) -> (f64, f64) {
    (problem.y_setup().dual_norm(scores).powi(2), {
        let mut padded = gradient.to_vec();
        padded.push(0.0);
        problem.x_setup().dual_norm(&padded).powi(2)
    })
}

/// Unbiased; the second moment is the square of the sum of weights; the variance is below Propositions 4.2, 4.3, 4.5; another law
/// has a larger second moment.
#[test]
fn sampling_obeys_its_exact_laws() {
    let rows = Geometry { primal: Primal::Rows, dual: Dual::Entropy };
    let flat = Geometry { primal: Primal::Rows, dual: Dual::Euclidean };
    let mixed = Geometry { primal: Primal::Entries, dual: Dual::Euclidean };
    let plain = Geometry::default();
    let cases = [
        (Sampling::Partial, plain),
        (Sampling::Full, plain),
        (Sampling::Partial, rows),
        (Sampling::Partial, flat),
        (Sampling::Partial, mixed),
    ];
    for (sampling, geometry) in cases {
        for (seed, size) in [(1, 0.5), (2, 3.0), (3, 10.0)] {
            let (n, d, k) = (5, 4, 3);
            let samples = data::samples(n, d, k, 10 + seed);
            let problem = Multiclass::with_geometry(&samples, HINGE, 2.0, 0.0, geometry).unwrap();
            let pair = Pair::random(&problem, seed, size);
            let at = pair.at();
            let oracle = Sampler::new(&problem, sampling, 0).unwrap();
            let law = oracle.law(&at);
            let mut rng = stream(seed, 6);
            let skew = |weights: &[f64], rng: &mut fenchel_optim::random::Generator| -> Vec<f64> {
                weights.iter().map(|w| w * rng.random_range(0.3..2.0)).collect()
            };
            let other = fenchel_saddle::multiclass::Law {
                features: skew(&law.features, &mut rng),
                rows: skew(&law.rows, &mut rng),
            };
            let mut best = vec![];
            for law in [&law, &other] {
                let (total_u, total_v): (f64, f64) =
                    (law.features.iter().sum(), law.rows.iter().sum());
                let (mut mean_u, mut mean_v) = (vec![0.0; n * k], vec![0.0; d * k]);
                let (mut second_u, mut second_v) = (0.0, 0.0);
                let (mut all_u, mut all_v) = (vec![], vec![]);
                let split = |place: usize| match sampling {
                    Sampling::Partial => (place, 0),
                    Sampling::Full => (place / k, place % k),
                };
                for place in 0..law.features.len().max(law.rows.len()) {
                    let (mut u, mut v) = (vec![0.0; n * k], vec![0.0; d * k]);
                    let (feature, class) = split(place.min(law.features.len() - 1));
                    let (row, row_class) = split(place.min(law.rows.len() - 1));
                    let draw = fenchel_saddle::multiclass::Draw { feature, class, row, row_class };
                    oracle.estimate(&at, law, draw, 1.0, &mut u, &mut v);
                    let (norm_u, norm_v) = squares(&problem, &u, &v);
                    if place < law.features.len() {
                        let p = law.features[place] / total_u;
                        mean_u.iter_mut().zip(&u).for_each(|(m, u)| *m += p * u);
                        second_u += p * norm_u;
                        all_u.push((p, u));
                    }
                    if place < law.rows.len() {
                        let p = law.rows[place] / total_v;
                        mean_v.iter_mut().zip(&v).for_each(|(m, v)| *m += p * v);
                        second_v += p * norm_v;
                        all_v.push((p, v));
                    }
                }
                // The exact field, without the linear terms.
                let (mut gx, mut gy) = (vec![0.0; d * k + 1], vec![0.0; n * k]);
                problem.field(&pair.x, &pair.y, &mut gx, &mut gy);
                for (m, g) in mean_v.iter().zip(&gx) {
                    assert!((m / n as f64 - g).abs() < 1e-12);
                }
                let mut labelled = vec![0.0; n * k];
                let zero = vec![0.0; d * k + 1];
                problem.field(&zero, &pair.y, &mut vec![0.0; d * k + 1], &mut labelled);
                for i in 0..n * k {
                    let exact = -(gy[i] - labelled[i]) * n as f64;
                    assert!((mean_u[i] - exact).abs() < 1e-12, "{sampling:?} {geometry:?}");
                }
                let variance = |all: &[(f64, Vec<f64>)], mean: &[f64], of_u: bool| -> f64 {
                    all.iter()
                        .map(|(p, e)| {
                            let d: Vec<f64> = e.iter().zip(mean).map(|(e, m)| e - m).collect();
                            let (u, v) = squares(
                                &problem,
                                if of_u { &d } else { &[] },
                                if of_u { &zero[1..] } else { &d },
                            );
                            p * if of_u { u } else { v }
                        })
                        .sum()
                };
                best.push((second_u, second_v));
                if best.len() == 1 {
                    assert!((second_u - total_u * total_u).abs() < 1e-9 * second_u);
                    assert!((second_v - total_v * total_v).abs() < 1e-9 * second_v);
                    let (bound_u, bound_v) = problem.variance_bounds();
                    let scale = 1.0 / (n * n) as f64;
                    assert!(scale * variance(&all_u, &mean_u, true) <= bound_u);
                    assert!(scale * variance(&all_v, &mean_v, false) <= bound_v);
                }
            }
            assert!(best[1].0 > best[0].0 && best[1].1 > best[0].1, "{sampling:?} {geometry:?}");
        }
    }
}

/// `sup norm(X U) = A` over the unit ball: never above, attained at a vertex.
#[test]
fn the_coupling_constant_is_the_largest_column() {
    let samples = data::samples(7, 5, 3, 4);
    for primal in [Primal::Entries, Primal::Rows] {
        for dual in [Dual::Entropy, Dual::Euclidean] {
            let problem =
                Multiclass::with_geometry(&samples, HINGE, 1.0, 0.0, Geometry { primal, dual })
                    .unwrap();
            let mut rng = stream(4, 4);
            let n = samples.rows() as f64;
            let linear = |u: &[f64]| {
                let mut x = u.to_vec();
                x.push(1.0);
                let y = vec![1.0 / 3.0; 21];
                let (mut gy, mut shift) = (vec![0.0; 21], vec![0.0; 21]);
                problem.field(&x, &y, &mut [0.0; 16], &mut gy);
                problem.field(&[0.0; 16], &y, &mut [0.0; 16], &mut shift);
                gy.iter_mut().zip(&shift).for_each(|(g, s)| *g -= s);
                problem.y_setup().dual_norm(&gy)
            };
            let mut top = 0.0_f64;
            for _ in 0..300 {
                let mut u: Vec<f64> =
                    (0..15).map(|_| rng.random_range(-1.0_f64..1.0).powi(5)).collect();
                let norm = problem.norm(&u);
                u.iter_mut().for_each(|u| *u /= norm);
                assert!(linear(&u) <= problem.coupling() * (1.0 + 1e-12));
            }
            for vertex in 0..15 {
                let mut u = vec![0.0; 15];
                u[vertex] = 1.0;
                top = top.max(linear(&u));
            }
            assert!((top - problem.coupling()).abs() < 1e-12);
            assert!((problem.coupling() - samples.largest_column() / n).abs() < 1e-15);
        }
    }
}

/// Gaussian features: `A/sqrt(n) <= sigma (1 + sqrt(2 ln(d/delta)/n))` and `B/n <= sigma sqrt(2 ln(2 d n/delta))` but for a share
/// `delta` of the data sets (Remark 2; the thesis leaves out the 2 in front of `d`).
#[test]
fn constants_of_random_features() {
    let (n, d) = (200, 50);
    let mut rng = stream(5, 5);
    let mut normal = || {
        let (a, b): (f64, f64) = (rng.random_range(0.0..1.0), rng.random_range(0.0..1.0));
        (-2.0 * (1.0 - a).ln()).sqrt() * (std::f64::consts::TAU * b).cos()
    };
    for _ in 0..5 {
        let x = ndarray::Array2::from_shape_fn((n, d), |_| normal());
        let design = fenchel_linalg::AsDesign::as_design(&x).unwrap();
        let y: Vec<usize> = (0..n).map(|j| j % 2).collect();
        let samples = fenchel_saddle::multiclass::Samples::new(&design, &y, 2, None).unwrap();
        let delta = 1e-6;
        let column = 1.0 + (2.0 * (d as f64 / delta).ln() / n as f64).sqrt();
        assert!(samples.largest_column() / (n as f64).sqrt() <= column);
        let row = (2.0 * (2.0 * (d * n) as f64 / delta).ln()).sqrt();
        assert!(samples.sum_of_tops() / n as f64 <= row);
    }
}
