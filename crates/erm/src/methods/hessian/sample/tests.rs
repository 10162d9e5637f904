use super::*;
use fenchel_linalg::Dense;
use fenchel_optim::random::stream;
use ndarray::Array2;

#[test]
fn every_row_is_drawn_as_often_as_its_probability_says() {
    let sizes = [0.5, 3.0, 0.0, 1.0, 0.25, 9.0, 0.25];
    let offsets = 10_000;
    let mut drawn = [0.0; 7];
    for k in 0..offsets {
        for (i, probability) in systematic(&sizes, 3.5, (k as f64 + 0.5) / offsets as f64) {
            assert_eq!(probability, f64::min(3.5 * sizes[i] / 14.0, 1.0));
            drawn[i] += 1.0 / offsets as f64;
        }
    }
    for (i, &size) in sizes.iter().enumerate() {
        assert!((drawn[i] - f64::min(0.25 * size, 1.0)).abs() < 2e-4, "{i}: {}", drawn[i]);
    }
}

/// Row 17 alone holds column 2.
#[test]
fn a_feature_of_one_row_is_never_lost() {
    let x = Array2::from_shape_fn((1000, 3), |(i, c)| match c {
        2 => f64::from(u8::from(i == 17)),
        _ => ((i * (c + 3)) as f64).sin(),
    });
    let h = vec![0.25; 1000];
    for seed in 0..20 {
        let design = Dense::new(x.view()).unwrap();
        let rng = &mut stream(seed, 0);
        let variables = Variables { set: &[0, 1, 2], intercept: false, l2: 1e-6 };
        let rows = draw_rows(&design, &h, variables, 30.0, rng);
        assert!(rows.contains(&(17, 1.0)), "{seed}");
        assert!((20..=32).contains(&rows.len()), "{}", rows.len());
    }
}
