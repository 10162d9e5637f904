//! This program predicts the alcohol content of wines from one linear combination (index) of twelve other measurements.
//!
//! SIR and SADE with a learned score estimate the index. A local regression on the index then predicts. For comparison, a linear
//! function of the least-squares index predicts too. R2 is computed on held-out wines by five-fold cross-validation, and the index is
//! estimated again in each fold. The program writes two figures to the temporary folder: the eigenvalues, and the alcohol content
//! against the index.
//!
//! The data are embedded (UCI Wine, CC BY 4.0). The diabetes data of scikit-learn, a usual choice, come without a licence.
//!
//! Run: `cargo run --release -p fenchel-examples --example index_regression`

use std::error::Error;

use fenchel_datasets::embedded::wine_alcohol;
use fenchel_metrics::{k_fold, r2};
use fenchel_moments::ellipticity::Ellipticity;
use fenchel_moments::gmm::gaussian_single_index;
use fenchel_moments::matching::{Basis, Centres};
use fenchel_moments::{Components, IndexRegressor, LearnedSade, ScoreMatching, Sir, Slicing};
use ndarray::{Array2, ArrayView1, Axis};

fn main() -> Result<(), Box<dyn Error>> {
    fenchel_examples::end_on_closed_pipe();
    let wines = wine_alcohol();
    let (x, y) = (&wines.x, &wines.y);
    println!("{} wines, {} measurements", x.nrows(), x.ncols());
    println!("the features look {:?}", Ellipticity::new(x)?.advice(0.01)?);

    let components = Components::Fixed(1);
    let slicing = Slicing::EqualCount(8);
    let sir = Sir { components, slicing };
    let score =
        ScoreMatching { basis: Basis::Bumps(Centres::AllSamples), ..ScoreMatching::default() };
    let sade = LearnedSade { components, slicing, score, ..LearnedSade::default() };
    let by_sir = IndexRegressor::new(sir).fit(x, y)?;
    let by_sade = IndexRegressor::new(sade).fit(x, y)?;
    println!("\nR2 of held-out wines (the width of the smoother is chosen by the same folds)");
    println!("a line on the least-squares index  {:.3}", line_r2(x, y.view())?);
    println!("a curve on the index of SIR        {:.3}", by_sir.cross_validated_r2);
    println!("a curve on the index of SADE       {:.3}", by_sade.cross_validated_r2);
    println!("\nshares of the eigenvalues of SIR: {:.2}", by_sir.reduction.explained());
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
