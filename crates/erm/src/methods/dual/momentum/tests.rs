use super::*;

/// Without strong convexity the factors of Nesterov: `b -> 1`. With it, `b -> (1 - sqrt q) / (1 + sqrt q)`.
#[test]
fn the_factor_tends_to_its_limit() {
    for (ratio, limit) in [(0.0, 1.0), (0.04, 0.8 / 1.2)] {
        let mut momentum = Momentum::new(ratio, vec![0.0]);
        let mut centre = vec![0.0];
        let mut push = 0.0;
        for k in 1..20_000 {
            let x = [f64::from(k)];
            // A centre ahead of nothing: never uphill.
            centre[0] = x[0] - 1.0;
            momentum.extrapolate(&x, &mut centre);
            push = centre[0] - x[0];
        }
        assert!(f64::abs(push - limit) < 1e-3, "{push} {limit}");
    }
}

#[test]
fn it_starts_again_when_it_points_uphill() {
    let mut momentum = Momentum::new(0.1, vec![0.0]);
    let mut centre = vec![0.0];
    momentum.extrapolate(&[1.0], &mut centre);
    assert!(momentum.alpha < 1.0);
    centre[0] = 3.0;
    momentum.extrapolate(&[2.0], &mut centre);
    assert_eq!((momentum.alpha, centre[0]), (1.0, 2.0));
}
