//! Every setup against its definition: the step minimises what it says, the divergence is that of the potential, the
//! potential is strongly convex, `Omega` bounds the divergence from the centre.

use fenchel_optim::random::{Generator, stream};
use fenchel_saddle::setup::{
    Domain, Euclidean, EuclideanSimplexes, GroupBall, L1Ball, Setup, Simplexes,
};
use rand::RngExt;

/// A setup, a way to draw a gradient, and the norm in which it is strongly convex (of the difference of two points, where the
/// point determines it).
struct Case {
    name: &'static str,
    setup: Box<dyn Setup>,
    norm: fn(&[f64], usize) -> f64,
    columns: usize,
}

fn row_norms(d: &[f64], columns: usize, row: impl Fn(&[f64]) -> f64) -> Vec<f64> {
    d.chunks(columns).map(row).collect()
}

fn l1(row: &[f64]) -> f64 {
    row.iter().map(|v| v.abs()).sum()
}

fn l2(row: &[f64]) -> f64 {
    row.iter().map(|v| v * v).sum::<f64>().sqrt()
}

fn cases() -> Vec<Case> {
    let two_by_one: fn(&[f64], usize) -> f64 = |d, k| l2(&row_norms(d, k, l1));
    let one_by_two: fn(&[f64], usize) -> f64 = |d, k| {
        let entries = d.len() / k * k;
        l1(&row_norms(&d[..entries], k, l2))
    };
    let plain: fn(&[f64], usize) -> f64 = |d, _| l2(d);
    // The difference of two points of the ball is at most that of their parts.
    let ball: fn(&[f64], usize) -> f64 = |d, _| l1(&d[..d.len() - 1]);
    let case = |name, setup, norm, columns| Case { name, setup, norm, columns };
    vec![
        case("simplexes", Box::new(Simplexes::new(3, 4)), two_by_one, 4),
        case("euclidean simplexes", Box::new(EuclideanSimplexes::new(3, 4)), plain, 4),
        case("l1 ball", Box::new(L1Ball::new(5, 2.5)), ball, 5),
        case("groups of 6", Box::new(GroupBall::new(6, 3, 2.0)), one_by_two, 3),
        case("groups of 2", Box::new(GroupBall::new(2, 3, 0.7)), one_by_two, 3),
        case("group of 1", Box::new(GroupBall::new(1, 3, 1.5)), one_by_two, 3),
        case("ball", Box::new(Euclidean::new(4, Domain::Ball { radius: 1.5 })), plain, 4),
        case("box", Box::new(Euclidean::new(4, Domain::Box { low: -1.0, high: 2.0 })), plain, 4),
        case("space", Box::new(Euclidean::new(4, Domain::Free { radius: 3.0 })), plain, 4),
    ]
}

fn gradient(setup: &dyn Setup, case: &Case, rng: &mut Generator) -> Vec<f64> {
    let mut g: Vec<f64> = (0..setup.dimension()).map(|_| rng.random_range(-2.0..2.0)).collect();
    // The weight of the mass is a penalty: not negative.
    if case.name.starts_with("l1") || case.name.starts_with("group") {
        g[setup.dimension() - 1] = rng.random_range(0.0..0.5);
    }
    g
}

/// A random place, by a few random steps of random lengths.
fn wander(case: &Case, rng: &mut Generator) -> Vec<f64> {
    let setup = &*case.setup;
    let mut place = vec![0.0; setup.coordinates()];
    setup.centre(&mut place);
    for _ in 0..rng.random_range(1..4) {
        let g = gradient(setup, case, rng);
        setup.step(&mut place, &g, 10.0_f64.powf(rng.random_range(-2.0..0.7)));
    }
    place
}

fn point(setup: &dyn Setup, place: &[f64]) -> Vec<f64> {
    let mut point = vec![0.0; setup.dimension()];
    setup.point(place, &mut point);
    point
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// For a minimiser `z+` of `eta <g, z> + D(z, z_t)` every `z` has `eta <g, z> + D(z, z_t) >= (the minimum) + D(z, z+)`: the three
/// point inequality, which holds at no other point.
#[test]
fn steps_obey_the_three_point_inequality() {
    let mut rng = stream(1, 0);
    for case in cases() {
        let setup = &*case.setup;
        for _ in 0..200 {
            let from = wander(&case, &mut rng);
            let g = gradient(setup, &case, &mut rng);
            let eta = 10.0_f64.powf(rng.random_range(-3.0..1.0));
            let mut to = from.clone();
            setup.step(&mut to, &g, eta);
            let value = |place: &[f64]| {
                eta * dot(&g, &point(setup, place)) + setup.divergence(place, &from)
            };
            let least = value(&to);
            for _ in 0..5 {
                let z = wander(&case, &mut rng);
                let room = value(&z) - least - setup.divergence(&z, &to);
                let size = 1.0 + value(&z).abs() + least.abs();
                assert!(room >= -1e-9 * size, "{}: {room}", case.name);
            }
        }
    }
}

#[test]
fn potentials_are_strongly_convex_and_radii_are_bounds() {
    let mut rng = stream(2, 0);
    for case in cases() {
        let setup = &*case.setup;
        let mut centre = vec![0.0; setup.coordinates()];
        setup.centre(&mut centre);
        let mut far = 0.0_f64;
        for _ in 0..2000 {
            let (z, w) = (wander(&case, &mut rng), wander(&case, &mut rng));
            let d: Vec<f64> =
                point(setup, &z).iter().zip(point(setup, &w)).map(|(a, b)| a - b).collect();
            let norm = (case.norm)(&d, case.columns);
            let divergence = setup.divergence(&z, &w);
            assert!(divergence >= 0.5 * norm * norm * (1.0 - 1e-9) - 1e-12, "{}", case.name);
            far = far.max(setup.divergence(&z, &centre));
            if case.name != "space" {
                assert!(far <= setup.radius() * (1.0 + 1e-9), "{}: {far}", case.name);
            }
            // Dual norms are dual: <g, d> <= norm*(g) norm(d).
            let mut g = gradient(setup, &case, &mut rng);
            if case.name.starts_with("l1") || case.name.starts_with("group") {
                g[setup.dimension() - 1] = 0.0;
            }
            assert!(dot(&g, &d) <= setup.dual_norm(&g) * norm + 1e-9, "{}", case.name);
        }
        assert!(far > 0.2 * setup.radius() || case.name == "space", "{}: {far}", case.name);
    }
}

/// Lemma 4.1: `argmin c1 sum x + <s, x> + c2 sum x ln(x/x0)` on the solid simplex, in closed form; the step is the case
/// `c1 = lambda - c2` because the potential holds `- sum x` as well.
#[test]
fn the_step_on_the_l1_ball_is_lemma_4_1() {
    let (m, bound, lambda) = (3, 1.7, 0.2);
    let setup = L1Ball::new(m, bound);
    let g = [0.5, -1.0, 0.25, lambda];
    for eta in [0.01, 0.3, 5.0] {
        let mut place = vec![0.0; 4];
        setup.centre(&mut place);
        setup.step(&mut place, &g, eta);
        let c2 = bound / eta;
        let start = bound / (2.0 * m as f64);
        let both: Vec<f64> =
            (0..m).flat_map(|i| [g[i], -g[i]]).map(|s| start * (-s / c2).exp()).collect();
        let mass: f64 = both.iter().sum();
        let c1 = lambda - c2;
        let rho = (mass * (-(c1 + c2) / c2).exp()).min(bound);
        let expected: Vec<f64> =
            both.chunks(2).map(|pair| rho * (pair[0] - pair[1]) / mass).chain([rho]).collect();
        let found = point(&setup, &place);
        for (a, b) in found.iter().zip(&expected) {
            assert!((a - b).abs() < 1e-12, "{found:?} {expected:?}");
        }
    }
}

/// The step with the entropy of the softmax loss has a closed form: its derivative vanishes along the simplex.
#[test]
fn the_entropy_of_the_objective_joins_the_step() {
    let setup = Simplexes::new(2, 3).with_entropy(vec![0.5, 2.0]);
    let g = [0.3, -0.2, 0.9, 0.0, 1.0, -1.0];
    let mut rng = stream(3, 0);
    for eta in [0.1, 1.0, 30.0] {
        let from: Vec<f64> = {
            let mut place = vec![0.0; 6];
            let start: Vec<f64> = (0..6).map(|_| rng.random_range(0.1..1.0)).collect();
            setup.place(&start, &mut place);
            place
        };
        let mut to = from.clone();
        setup.step(&mut to, &g, eta);
        for (j, weight) in [0.5, 2.0].into_iter().enumerate() {
            let slopes: Vec<f64> = (3 * j..3 * j + 3)
                .map(|i| g[i] + weight * (to[i] + 1.0) + (to[i] - from[i]) / eta)
                .collect();
            assert!(slopes.iter().all(|s| (s - slopes[0]).abs() < 1e-9), "{slopes:?}");
            let total: f64 = (3 * j..3 * j + 3).map(|i| to[i].exp()).sum();
            assert!((total - 1.0).abs() < 1e-12);
        }
    }
}

#[test]
fn places_of_points_lead_back_to_the_points() {
    let mut rng = stream(4, 0);
    for case in cases() {
        let setup = &*case.setup;
        for _ in 0..100 {
            let z = point(setup, &wander(&case, &mut rng));
            let mut place = vec![0.0; setup.coordinates()];
            setup.place(&z, &mut place);
            let again = point(setup, &place);
            // The mass of the l1 ball may grow by what positive entries need.
            let entries = if case.name == "l1 ball" { z.len() - 1 } else { z.len() };
            for (a, b) in z[..entries].iter().zip(&again) {
                assert!((a - b).abs() <= 2e-3 * (1.0 + a.abs()), "{}: {a} {b}", case.name);
            }
        }
    }
}
