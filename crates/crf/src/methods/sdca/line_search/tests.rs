use super::*;
use fenchel_graphical::chain::{Chain, ChainMarginals};
use fenchel_optim::random::stream;
use proptest::prelude::*;
use rand::RngExt;

/// Marginals of a chain with random scores.
fn random(states: usize, length: usize, scale: f64, seed: u64) -> ChainMarginals {
    let mut rng = stream(seed, 0);
    let mut chain = Chain::shared(states, length).unwrap();
    let mut fill = |row: &mut [f64]| row.fill_with(|| scale * rng.random_range(-1.0..1.0));
    (0..length).for_each(|t| fill(chain.unary_mut(t)));
    (0..states).for_each(|j| fill(chain.pairwise_mut(0, j)));
    let mut marginals = ChainMarginals::new();
    chain.marginals(&mut marginals).unwrap();
    marginals
}

fn line<'m>(
    from: &'m ChainMarginals,
    target: &'m ChainMarginals,
    (linear, quadratic): (f64, f64),
) -> Line<'m, ChainMarginals> {
    let tracked = Some((from.entropy(), 0.0));
    let (bend, previous, safe) = (None, 0.3, 0.1);
    Line { from, target, linear, quadratic, bend, tracked, previous, safe }
}

/// `H(m + s d)` by adding up all labellings.
fn entropy(from: &ChainMarginals, target: &ChainMarginals, step: f64) -> f64 {
    let mut mixed = from.clone();
    mixed.mix(target, step);
    let (states, length) = (from.states(), from.length());
    (0..states.pow(length as u32))
        .map(|code| {
            let y: Vec<usize> = (0..length as u32).map(|t| code / states.pow(t) % states).collect();
            let log = mixed.log_probability(&y).unwrap();
            -log.exp() * log
        })
        .sum()
}

proptest! {
    #[test]
    fn derivatives_agree_with_differences_of_values(
        states in 2usize..4, length in 1usize..5, seed: u64, step in 0.1..0.9_f64,
        linear in -5.0..5.0_f64, quadratic in 0.0..5.0_f64,
    ) {
        let (from, target) =
            (random(states, length, 2.0, seed), random(states, length, 2.0, seed ^ 1));
        let line = line(&from, &target, (linear, quadratic));
        let value = |s: f64| {
            entropy(&from, &target, s) - entropy(&from, &target, 0.0)
                + s * (linear - 0.5 * s * quadratic)
        };
        let terms = line.terms(step);
        prop_assert!((line.gain(step, terms.entropy) - value(step)).abs() < 1e-10);
        let h = 1e-3;
        // Five points: the error is of order h^4.
        let first = (8.0 * (value(step + h) - value(step - h))
            - (value(step + 2.0 * h) - value(step - 2.0 * h))) / (12.0 * h);
        let second = (16.0 * (value(step + h) + value(step - h))
            - (value(step + 2.0 * h) + value(step - 2.0 * h)) - 30.0 * value(step)) / (12.0 * h * h);
        let close = |a: f64, b: f64, tolerance: f64| (a - b).abs() < tolerance * (1.0 + b.abs());
        let found = line.derivatives(step, &terms);
        prop_assert!(close(found.0, first, 1e-8), "{first}");
        prop_assert!(close(found.1, second, 1e-5), "{second}");
    }

    #[test]
    fn searches_find_the_maximum(
        states in 2usize..5, length in 1usize..6, seed: u64, best in 0.02..0.98_f64,
        quadratic in 0.0..20.0_f64,
    ) {
        let (from, target) =
            (random(states, length, 3.0, seed), random(states, length, 3.0, seed ^ 1));
        // The linear term that makes `f'` vanish where it should.
        let slope = from.line_terms(&target, best).slope;
        let line = line(&from, &target, (slope + best * quadratic, quadratic));
        prop_assume!(line.derivatives(1e-3, &line.terms(1e-3)).0 > 0.0);
        let brent = line.search(SdcaStep::Brent { tolerance: 1e-12 });
        for start in [NewtonStart::Half, NewtonStart::Previous] {
            let newton = line.search(SdcaStep::Newton { tolerance: 1e-12, start });
            let curvature = -line.derivatives(best, &line.terms(best)).1;
            prop_assert!((newton.step - best).abs() < 1e-11 + 1e-13 / curvature, "{newton:?}");
            // Brent's method compares values, which are flat to rounding around the maximum.
            let flat = (1e-14 * (1.0 + from.entropy()) / curvature).sqrt();
            prop_assert!((brent.step - newton.step).abs() < 1e-7 + 10.0 * flat, "{brent:?} {newton:?}");
            let value = |found: Move| line.gain(found.step, found.entropy.unwrap());
            prop_assert!((value(brent) - value(newton)).abs() < 1e-12 * (1.0 + value(newton)));
        }
    }

    /// The start is so near the boundary that `f'(0)` is about 700 times the direction.
    #[test]
    fn starts_at_the_border_are_left(
        states in 2usize..5, length in 1usize..6, seed: u64, quadratic in 0.0..1e3_f64,
    ) {
        let path: Vec<usize> = (0..length).map(|t| t % states).collect();
        for smoothing in [1e-300, 1e-30] {
            let from = ChainMarginals::<f64>::smoothed(states, &path, smoothing).unwrap();
            let target = random(states, length, 1.0, seed);
            // As of a block whose target is the model's own: f'(1) = -q.
            let linear = from.line_terms(&target, 1.0).slope;
            let line = line(&from, &target, (linear, quadratic));
            let newton = line.search(SdcaStep::Newton { tolerance: 1e-12, start: NewtonStart::Half });
            prop_assert!(newton.step > 0.0 && newton.step < 1.0 + 1e-12, "{newton:?}");
            let value = |s: f64| line.gain(s, line.terms(s).entropy);
            let most = value(newton.step);
            for k in 1..200 {
                let other = value(f64::from(k) / 200.0);
                prop_assert!(other <= most + 1e-10 * (1.0 + most.abs()), "{k} {other} {most}");
            }
            let single = line.search(SdcaStep::SingleNewton);
            prop_assert!(single.step > 0.0 && single.step < 1.0 && value(single.step) > 0.0, "{single:?}");
        }
    }
}
