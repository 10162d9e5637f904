//! Norms, conjugates, and the theorems of the first chapter; the sampled and the baseline methods.

use fenchel_optim::random::{Generator, stream};
use fenchel_optim::{Cadence, Stop};
use fenchel_saddle::conjugate::Conjugate;
use fenchel_saddle::methods::{MirrorDescentSettings, Oracle, stochastic_mirror_prox};
use fenchel_saddle::minimise::{Slope, mirror_minimise, projected_gradient};
use fenchel_saddle::multiclass::{Multiclass, Sampler, Sampling, SubgradientSettings, subgradient};
use fenchel_saddle::norms::{conjugate, mixed, norm};
use fenchel_saddle::setup::{Domain, Euclidean, Simplexes};
use fenchel_saddle::{MulticlassLoss, SaddleProblem};
use ndarray::Array2;
use rand::RngExt;
use std::cell::RefCell;

use crate::data;

fn once(passes: f64) -> Stop {
    Stop { check: Cadence::Every(1e9), ..Stop::after_passes(passes) }
}

fn uniform(n: usize, rng: &mut Generator) -> Vec<f64> {
    (0..n).map(|_| rng.random_range(-1.0..1.0)).collect()
}

/// Hoelder: `<A, B> <= norm(A) norm*(B)`, with equality for a `B` that is built for `A`.
#[test]
fn mixed_norms_are_dual() {
    let mut rng = stream(1, 0);
    for (p, q) in [(1.0, 1.0), (1.0, 2.0), (2.0, 1.0), (2.0, 2.0), (3.0, 1.5), (f64::INFINITY, 2.0)]
    {
        for _ in 0..50 {
            let a = Array2::from_shape_vec((4, 3), uniform(12, &mut rng)).unwrap();
            let b = Array2::from_shape_vec((4, 3), uniform(12, &mut rng)).unwrap();
            let dual = mixed(b.view(), conjugate(p), conjugate(q));
            assert!((&a * &b).sum() <= mixed(a.view(), p, q) * dual * (1.0 + 1e-12));
        }
    }
}

/// Lemmas 4.2, 4.3: `sup sum_i norm(X_i) norm(U_i) = norm_{q1 x q2}(X')` over the unit ball if `p2 <= q2`.
#[test]
fn weights_of_samplers_have_the_largest_column_as_supremum() {
    let mut rng = stream(2, 0);
    for (p1, p2, q1, q2) in
        [(1.0, 1.0, 2.0, f64::INFINITY), (1.0, 2.0, 2.0, 2.0), (2.0, 1.0, 2.0, f64::INFINITY)]
    {
        let x = Array2::from_shape_vec((5, 4), uniform(20, &mut rng)).unwrap();
        let columns: Vec<f64> =
            x.columns().into_iter().map(|c| norm(c.iter().copied(), q1)).collect();
        let supremum = norm(columns.iter().copied(), conjugate(p1));
        for _ in 0..300 {
            let u = Array2::from_shape_vec((4, 3), uniform(12, &mut rng)).unwrap();
            let u = &u / mixed(u.view(), p1, p2);
            let sum: f64 = columns
                .iter()
                .zip(u.rows())
                .map(|(c, row)| c * norm(row.iter().copied(), q2))
                .sum();
            assert!(sum <= supremum * (1.0 + 1e-12));
        }
        // Attained with one entry a row, the rows in the direction dual to the columns' norms.
        let mut u = Array2::zeros((4, 3));
        let top = (0..4).fold(0, |b, i| if columns[i] > columns[b] { i } else { b });
        for i in 0..4 {
            u[[i, 0]] = if p1 == 1.0 { f64::from(u8::from(i == top)) } else { columns[i] };
        }
        let u = &u / mixed(u.view(), p1, p2);
        let sum: f64 =
            columns.iter().zip(u.rows()).map(|(c, row)| c * norm(row.iter().copied(), q2)).sum();
        assert!((sum - supremum).abs() < 1e-12);
    }
}

#[test]
fn conjugates_obey_fenchel_and_duality_is_tight() {
    let mut rng = stream(3, 0);
    let all = [
        Conjugate::HalfSquare,
        Conjugate::L1,
        Conjugate::Entropy,
        Conjugate::Hinge,
        Conjugate::Logistic,
    ];
    for f in all {
        for _ in 0..200 {
            let mut x = uniform(4, &mut rng);
            let y = uniform(4, &mut rng);
            if f == Conjugate::Entropy {
                x.iter_mut().for_each(|x| *x = x.abs());
                let total: f64 = x.iter().sum();
                x.iter_mut().for_each(|x| *x /= total);
            } else {
                x.iter_mut().for_each(|x| *x *= 3.0);
            }
            let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
            assert!(f.value(&x) + f.conjugate(&y) >= dot(&x, &y) - 1e-12, "{f:?}");
            let mut slope = vec![0.0; 4];
            f.subgradient(&x, &mut slope);
            let gap = f.value(&x) + f.conjugate(&slope) - dot(&x, &slope);
            assert!(gap.abs() < 1e-9, "{f:?}: {gap}");
        }
    }
    // min norm(x)^2/2 + sum hinge(A x): weak duality at random points, equality at the optimum (found by coordinate ascent).
    let a = Array2::from_shape_vec((6, 3), uniform(18, &mut rng)).unwrap();
    let primal = |x: &[f64]| {
        let t = a.dot(&ndarray::ArrayView1::from(x)).to_vec();
        Conjugate::HalfSquare.value(x) + Conjugate::Hinge.value(&t)
    };
    let point = |y: &[f64]| (-a.t().dot(&ndarray::ArrayView1::from(y))).to_vec();
    let dual =
        |y: &[f64]| -Conjugate::HalfSquare.conjugate(&point(y)) - Conjugate::Hinge.conjugate(y);
    let mut y = vec![0.0; 6];
    for _ in 0..100 {
        let (x, z) = (uniform(3, &mut rng), uniform(6, &mut rng));
        let z: Vec<f64> = z.iter().map(|z| -z.abs()).collect();
        assert!(primal(&x) >= dual(&z) - 1e-12);
    }
    for _ in 0..3000 {
        for j in 0..6 {
            let x = point(&y);
            let margin: f64 = a.row(j).iter().zip(&x).map(|(a, x)| a * x).sum();
            let square: f64 = a.row(j).iter().map(|a| a * a).sum();
            y[j] = (y[j] + (margin - 1.0) / square).clamp(-1.0, 0.0);
        }
    }
    assert!((primal(&point(&y)) - dual(&y)).abs() < 1e-9);
}

/// `sum_i abs(<a_i, x> - b_i)`, or one random term times their number.
struct Absolute {
    a: Array2<f64>,
    b: Vec<f64>,
    random: Option<RefCell<Generator>>,
}

impl Slope for Absolute {
    fn value(&self, x: &[f64]) -> f64 {
        let t = self.a.dot(&ndarray::ArrayView1::from(x));
        t.iter().zip(&self.b).map(|(t, b)| (t - b).abs()).sum::<f64>()
    }

    fn slope(&self, x: &[f64], out: &mut [f64]) {
        out.fill(0.0);
        let n = self.b.len();
        let rows = match &self.random {
            None => 0..n,
            Some(random) => {
                let j = random.borrow_mut().random_range(0..n);
                j..j + 1
            }
        };
        let scale = if self.random.is_some() { n as f64 } else { 1.0 };
        for i in rows {
            let t: f64 = self.a.row(i).iter().zip(x).map(|(a, x)| a * x).sum();
            let sign = scale * (t - self.b[i]).signum();
            out.iter_mut().zip(self.a.row(i)).for_each(|(o, a)| *o += sign * a);
        }
    }

    fn lower_bound(&self) -> f64 {
        0.0
    }
}

/// Theorems 1.1, 1.4 and 1.5: on the ball and on the simplex, with all terms and with one.
#[test]
fn subgradient_and_mirror_descent_keep_their_bounds() {
    let mut rng = stream(4, 0);
    for entropy in [false, true] {
        let a = Array2::from_shape_vec((8, 5), uniform(40, &mut rng)).unwrap();
        // A solution with value 0 in the domain.
        let x =
            if entropy { vec![0.6, 0.1, 0.1, 0.1, 0.1] } else { vec![0.5, -0.5, 0.2, 0.1, 0.0] };
        let b = a.dot(&ndarray::Array1::from(x)).to_vec();
        let of_row = |row: ndarray::ArrayView1<f64>| {
            norm(row.iter().copied(), if entropy { f64::INFINITY } else { 2.0 })
        };
        let sum: f64 = a.rows().into_iter().map(of_row).sum();
        let square: f64 = a.rows().into_iter().map(|row| 8.0 * of_row(row).powi(2)).sum();
        let simplex = Simplexes::new(1, 5);
        let ball = Euclidean::new(5, Domain::Ball { radius: 1.0 });
        let setup: &dyn fenchel_saddle::setup::Setup = if entropy { &simplex } else { &ball };
        for steps in [16_u64, 256, 4096] {
            let root = (2.0 * setup.radius() / steps as f64).sqrt();
            let exact = Absolute { a: a.clone(), b: b.clone(), random: None };
            let solution = mirror_minimise(&exact, setup, sum, steps, &once(1e9), &mut ()).unwrap();
            let value = exact.value(&solution.state.x);
            assert!(value <= sum * root && value > 0.0, "{value} {}", sum * root);
            assert!((solution.report.certificate.value() - value).abs() < 1e-12);
            let mut mean = 0.0;
            for seed in 0..10 {
                let random = Some(RefCell::new(stream(seed, 1)));
                let noisy = Absolute { a: a.clone(), b: b.clone(), random };
                let solution =
                    mirror_minimise(&noisy, setup, square.sqrt(), steps, &once(1e9), &mut ())
                        .unwrap();
                mean += 0.1 * exact.value(&solution.state.x);
            }
            assert!(mean <= square.sqrt() * root, "{mean}");
        }
    }
}

/// `sum w_i (x_i - c_i)^2 / 2`.
struct Quadratic {
    weights: Vec<f64>,
    centre: Vec<f64>,
}

impl Slope for Quadratic {
    fn value(&self, x: &[f64]) -> f64 {
        (0..x.len()).map(|i| 0.5 * self.weights[i] * (x[i] - self.centre[i]).powi(2)).sum()
    }

    fn slope(&self, x: &[f64], out: &mut [f64]) {
        (0..x.len()).for_each(|i| out[i] = self.weights[i] * (x[i] - self.centre[i]));
    }
}

/// Theorems 1.2 and 1.3 on a box that holds the centre back.
#[test]
fn projected_gradients_keep_their_bounds() {
    let f = Quadratic { weights: vec![10.0, 1.0, 0.1], centre: vec![2.0, 0.5, -0.7] };
    let setup = Euclidean::new(3, Domain::Box { low: -1.0, high: 1.0 });
    let (best, start) = ([1.0, 0.5, -0.7], [-1.0, -1.0, 1.0]);
    let distance = |x: &[f64]| x.iter().zip(&best).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
    for steps in [1.0, 5.0, 20.0, 100.0] {
        let x = projected_gradient(&f, &setup, 10.0, &start, &once(steps), &mut ()).unwrap().state;
        let error = f.value(&x) - f.value(&best);
        assert!(error <= 4.0 * 10.0 * distance(&start) / steps + 1e-15);
        assert!(distance(&x) <= (-steps * 0.1 / 10.0).exp() * distance(&start));
    }
}

/// `4 sqrt(3) a/T + 2 sqrt(14) s/sqrt(b T)`, mean over seeds; larger batches help.
#[test]
fn stochastic_mirror_prox_keeps_its_bound() {
    let samples = data::samples(15, 5, 3, 5);
    let problem = Multiclass::new(&samples, MulticlassLoss::Hinge, 2.0, 0.01).unwrap();
    let steps = 300_u64;
    let mut means = vec![];
    for batch in [1, 40] {
        let mut mean = 0.0;
        for seed in 0..6 {
            let mut oracle =
                Sampler::new(&problem, Sampling::Partial, seed).unwrap().batched(batch);
            let stop = once(2.0 * steps as f64 * oracle.passes());
            let settings =
                MirrorDescentSettings { horizon: Some(steps), stop, ..Default::default() };
            let solution =
                stochastic_mirror_prox(&problem, &mut oracle, &settings, None, &mut ()).unwrap();
            mean += problem.split_gap(&solution.state.x, &solution.state.y) / 6.0;
        }
        let t = steps as f64;
        let bound = 4.0 * 3.0_f64.sqrt() * problem.scale() / t
            + 2.0 * 14.0_f64.sqrt() * problem.noise() / (batch as f64 * t).sqrt();
        assert!(mean <= bound, "{batch}: {mean} {bound}");
        means.push(mean);
    }
    assert!(means[1] < 0.7 * means[0], "{means:?}");
}

/// `E[P(average)] - P* <= r B/sqrt(T)`. The method knows no radius: `P(0)/penalty` holds no one back.
#[test]
fn the_baseline_keeps_its_bound() {
    let samples = data::samples(40, 6, 4, 6);
    let problem = Multiclass::new(&samples, MulticlassLoss::Hinge, 20.0, 0.05).unwrap();
    let bilinear = fenchel_saddle::multiclass::HingeBilinear::new(&problem).unwrap();
    let stop = Stop { absolute: 1e-7, relative: 0.0, max_passes: 2e4, ..Stop::default() };
    let settings = fenchel_saddle::methods::PdhgSettings { stop, ..Default::default() };
    let best = fenchel_saddle::methods::pdhg(&bilinear, &settings, None, &mut ()).unwrap();
    let frobenius = best.state.x.iter().map(|u| u * u).sum::<f64>().sqrt();
    let optimum = best.report.certificate.objective().unwrap();
    let (x, _) = data::dense(40, 6, 4, 6);
    let b = (2.0 * x.iter().map(|v| v * v).sum::<f64>() / 40.0).sqrt();
    for passes in [2.0, 50.0] {
        let mut mean = 0.0;
        for seed in 0..10 {
            let settings = SubgradientSettings {
                frobenius: Some(frobenius),
                stop: once(passes),
                seed,
                ..Default::default()
            };
            let u = subgradient(&problem, &settings, &mut ()).unwrap().state;
            mean += 0.1 * problem.primal(&u);
        }
        // The composite step adds at most the penalty's share at the start.
        let bound = frobenius * b / (passes * 40.0_f64).sqrt();
        assert!(mean - optimum <= bound && mean > optimum, "{mean} {optimum} {bound}");
    }
}

/// Figure 1-1: convex losses are above the count of errors, 1 at 0, convex but for the count itself.
#[test]
fn losses_of_a_margin_bound_the_errors() {
    use fenchel_saddle::conjugate::MarginLoss;
    let grid: Vec<f64> = (-400..=400).map(|i| f64::from(i) / 100.0).collect();
    for loss in MarginLoss::ALL {
        assert_eq!(loss.value(0.0), 1.0, "{loss:?}");
        for m in &grid {
            assert!(loss.value(*m) >= MarginLoss::ZeroOne.value(*m), "{loss:?} at {m}");
            let chord = 0.5 * (loss.value(m - 0.7) + loss.value(m + 0.7));
            let convex = loss.value(*m) <= chord + 1e-12;
            assert!(convex || loss == MarginLoss::ZeroOne, "{loss:?} at {m}");
        }
    }
    assert!((MarginLoss::Logistic.value(1.0) - 0.451_941_083_083_048_2).abs() < 1e-15);
}

/// Products with sparse rows, for every number of classes that has a kernel of its own and one beyond: the same objective and dual as dense ones.
#[test]
fn sparse_products_are_those_of_the_dense_matrix() {
    use fenchel_linalg::AsDesign;
    for k in [2, 4, 5, 9, 12, 13, 16, 17, 33] {
        let (csr, dense, y) = data::sparse(60, 11, k, 5);
        let a = fenchel_saddle::multiclass::Samples::new(&csr.as_design().unwrap(), &y, k, None)
            .unwrap();
        let b = fenchel_saddle::multiclass::Samples::new(&dense.as_design().unwrap(), &y, k, None)
            .unwrap();
        let one = Multiclass::new(&a, MulticlassLoss::Hinge, 5.0, 0.01).unwrap();
        let two = Multiclass::new(&b, MulticlassLoss::Hinge, 5.0, 0.01).unwrap();
        let u: Vec<f64> = (0..11 * k).map(|i| (1.3 * i as f64).sin()).collect();
        let row = 0.5 * (k * (k + 1)) as f64;
        let v: Vec<f64> = (0..60 * k).map(|i| (i % k + 1) as f64 / row).collect();
        assert!((one.primal(&u) - two.primal(&u)).abs() < 1e-12, "{k}");
        assert!((one.dual(&v) - two.dual(&v)).abs() < 1e-12, "{k}");
    }
}
