//! Is one number, made of twelve measurements, enough to tell the alcohol content of a wine?
//!
//! This program predicts from one linear combination (index) of the measurements. SIR and SADE with a learned score estimate the index,
//! and a local regression on it predicts. For comparison, a linear function of the least-squares index predicts too. R2 is computed on
//! held-out wines by five-fold cross-validation, and the index is estimated again in each fold.
//!
//! The data are embedded (UCI Wine, CC BY 4.0). The diabetes data of scikit-learn, a usual choice, come without a licence.
//!
//! ```text
//! cargo run --release -p fenchel-examples --example index_regression
//! ```

use std::error::Error;
use std::process::ExitCode;

use fenchel_datasets::embedded::wine_alcohol;
use fenchel_examples::Show;
use fenchel_linalg::text::fixed;
use fenchel_metrics::{k_fold, r2};
use fenchel_moments::ellipticity::Ellipticity;
use fenchel_moments::gmm::gaussian_single_index;
use fenchel_moments::matching::{Basis, Centres};
use fenchel_moments::{Components, IndexRegressor, LearnedSade, ScoreMatching, Sir, Slicing};
use ndarray::{Array2, ArrayView1, Axis};

fn main() -> ExitCode {
    Show::run(example)
}

fn example(show: &Show) -> Result<(), Box<dyn Error>> {
    show.real("178 wines, twelve measurements beside the alcohol content (UCI)");
    let wines = wine_alcohol();
    let (x, y) = (&wines.x, &wines.y);
    let advice = format!("{:?}", Ellipticity::new(x)?.advice(0.01)?);
    println!("the features look {}", advice.to_lowercase());

    let components = Components::Fixed(1);
    let slicing = Slicing::EqualCount(8);
    let sir = Sir { components, slicing };
    let score =
        ScoreMatching { basis: Basis::Bumps(Centres::AllSamples), ..ScoreMatching::default() };
    let sade = LearnedSade { components, slicing, score, ..LearnedSade::default() };
    let by_sir = IndexRegressor::new(sir).fit(x, y)?;
    let by_sade = IndexRegressor::new(sade).fit(x, y)?;
    println!("\nR2 of held-out wines (the width of the smoother is chosen by the same folds)");
    let line = line_r2(x, y.view())?;
    println!("a line on the least-squares index  {line:.3}");
    println!("a curve on the index of SIR        {:.3}", by_sir.cross_validated_r2);
    println!("a curve on the index of SADE       {:.3}", by_sade.cross_validated_r2);
    let mut figure = by_sir.figure();
    figure.title = format!("Alcohol of wines. {}", figure.title);
    figure.note = "Sliced inverse regression: the index is a sum of twelve measurements with weights. Points: the 178 wines; the curve is fitted to all, R2 is of 5 folds.".into();
    show.picture("index", &figure.svg())?;
    show.picture("eigenvalues", &by_sir.reduction.scree().svg())?;
    let shares = by_sir.reduction.explained();
    let shares: Vec<String> = shares.iter().take(4).map(|share| fixed(*share, 2)).collect();
    println!("\nthe first shares of the eigenvalues of SIR: {}", shares.join(" "));
    let best = by_sir.cross_validated_r2.max(by_sade.cross_validated_r2);
    show.conclude(format_args!(
        "one index explains {:.0} % of the variance of alcohol; a curve on it explains {:.0} points {} than a line on the least-squares index.",
        100.0 * best,
        100.0 * (best - line).abs(),
        if best >= line { "more" } else { "fewer" }
    ));
    Ok(())
}

/// R2 of straight lines on the least-squares index.
fn line_r2(x: &Array2<f64>, y: ArrayView1<f64>) -> Result<f64, Box<dyn Error>> {
    let mut predicted = vec![0.0; y.len()];
    for (train, held) in k_fold(y.len(), 5, 0)? {
        let (part, target) = (x.select(Axis(0), &train), y.select(Axis(0), &train));
        let w = gaussian_single_index(&part, &target)?;
        let index = part.dot(&w);
        let n = train.len() as f64;
        let (mean, middle) = (index.sum() / n, target.sum() / n);
        let slope =
            (&index - mean).dot(&(&target - middle)) / (&index - mean).dot(&(&index - mean));
        for i in held {
            predicted[i] = middle + slope * (x.row(i).dot(&w) - mean);
        }
    }
    Ok(r2(&y.to_vec(), &predicted)?)
}
