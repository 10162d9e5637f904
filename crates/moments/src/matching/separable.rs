//! Independent features: one small score-matching problem per feature.

use fenchel_linalg::parallel::try_map;
use fenchel_linalg::{Gram, Invalid};
use fenchel_optim::Refusal;
use ndarray::{Array1, Array2};

use super::basis::{Bandwidth, Ridge, check_bandwidth, ridged};
use super::coordinate::Coordinate;
use super::learned::{Form, LearnedScore};
use super::settings::ScoreMatching;
use crate::blocks::{Blocks, gather};
use crate::error::Error;
use crate::whitening::Whitening;

pub(crate) fn fit_separable(
    settings: &ScoreMatching,
    functions: usize,
    data: &dyn Blocks,
) -> Result<LearnedScore, Error> {
    if functions < 3 {
        return Err(Invalid::Parameter {
            name: "functions a feature",
            value: functions as f64,
            expected: "at least 3",
        }
        .into());
    }
    if settings.select.is_some() {
        let what = "a selection for the separable basis".to_owned();
        return Err(Refusal::unsupported("score matching", what).into());
    }
    let d = data.width();
    // Two copies of the data, and up to a core's share of systems of `functions` unknowns with their factors.
    let (n, m) = (data.count() as u64, functions as u64);
    let needed = m.saturating_mul(m.saturating_add(64)).saturating_mul(64);
    let copies = n.saturating_mul(d as u64).saturating_mul(2);
    let needed = needed.saturating_add(copies).saturating_mul(8);
    Refusal::check_memory("score matching", needed, settings.max_memory, "use fewer functions")?;
    // Scaling keeps the features independent; whitening would not.
    let whitening = if settings.whiten {
        let Whitening { mean, covariance, conditioning, .. } =
            Whitening::of(data, settings.max_memory)?;
        let map = Array2::from_diag(&covariance.diag().mapv(|v| 1.0 / v.sqrt()));
        Some(Whitening { mean, covariance, map, conditioning })
    } else {
        None
    };
    let x = match &whitening {
        Some(whitening) => whitening.apply(gather(data).view()),
        None => gather(data),
    };
    let bandwidth = match settings.bandwidth {
        // Three quarters of a standard deviation: the best of 0.3 to 1.5 for the mixture of the thesis and 10,000 samples.
        Bandwidth::Relative(h) => 0.75 * h,
        Bandwidth::Absolute(h) => h,
    };
    let fitted = try_map(0..d, |c| {
        let values = x.column(c).to_vec();
        let spread = if settings.whiten { 1.0 } else { deviation(&values) };
        if !(spread > 0.0) {
            return Err(Error::Constant { what: "features", columns: vec![c] });
        }
        let bandwidth = bandwidth * spread;
        check_bandwidth(bandwidth)?;
        one(settings, functions, &values, bandwidth)
    })?;
    let objective = fitted.iter().map(|(_, risk)| risk).sum();
    let coordinates = fitted.into_iter().map(|(coordinate, _)| coordinate).collect();
    LearnedScore::new(whitening, false, Form::Separable(coordinates), objective, None, data)
}

fn deviation(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n).sqrt()
}

fn one(
    settings: &ScoreMatching,
    functions: usize,
    values: &[f64],
    bandwidth: f64,
) -> Result<(Coordinate, f64), Error> {
    let n = values.len();
    let bumps = functions - 2;
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let centres: Vec<f64> = (0..bumps).map(|j| sorted[(2 * j + 1) * n / (2 * bumps)]).collect();
    let mut gram = Gram::new(functions);
    let mut b = Array1::<f64>::zeros(functions);
    let (mut row, mut slopes) = (vec![0.0; functions], vec![0.0; functions]);
    for &x in values {
        Coordinate::basis(&centres, bandwidth, x, &mut row, &mut slopes);
        gram.next_row()[..functions].copy_from_slice(&row);
        b.iter_mut().zip(&slopes).for_each(|(b, s)| *b += s);
    }
    let c = Array2::from_shape_vec((functions, functions), gram.finish()).expect("a square");
    let (c, b) = (c / n as f64, b / n as f64);
    let diagonal = c.diag().sum() / functions as f64;
    let ridge = match settings.ridge {
        // The systems are small and the samples many: a hundredth of the ridge that many bumps in many dimensions need.
        Ridge::Relative(a) => 0.01 * a * diagonal,
        Ridge::Absolute(a) => a,
    };
    let (factor, _) = ridged(c, ridge, diagonal)?;
    let theta = factor.solve(b.view())?;
    let risk = -0.5 * b.dot(&theta);
    Ok((Coordinate { centres, bandwidth, theta: theta.to_vec() }, risk))
}
