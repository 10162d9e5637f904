//! Accuracy of a recovered graph.

use fenchel_graphical::BinaryPairwise;

use crate::error::Error;

/// The area under the ROC curve of `scores` against the edges of the true model. The scores are those of the pairs
/// `i < j`, row by row; ties count one half. `None` if the true graph has no edge, or all edges.
///
/// # Errors
/// [`Error::Metrics`] for a wrong number of scores, or NaN.
pub fn edge_auc(truth: &BinaryPairwise, scores: &[f64]) -> Result<Option<f64>, Error> {
    let labels = edge_labels(truth);
    let edges = labels.iter().filter(|&&edge| edge).count();
    if edges == 0 || edges == labels.len() {
        return Ok(None);
    }
    Ok(Some(fenchel_metrics::roc_auc(&labels, scores)?))
}

/// Precision, recall and F1 of the scores that are not 0.
///
/// # Errors
/// [`Error::Metrics`] if the number of scores is wrong; [`Error::Invalid`] for NaN.
pub fn edge_scores(
    truth: &BinaryPairwise,
    scores: &[f64],
) -> Result<fenchel_metrics::Scores, Error> {
    check_numbers(scores)?;
    let found: Vec<bool> = scores.iter().map(|&score| score != 0.0).collect();
    Ok(fenchel_metrics::binary_scores(&edge_labels(truth), &found)?)
}

/// Pairs in which the supports differ: the structural Hamming distance.
///
/// # Errors
/// [`Error::Invalid`] for a wrong number of scores, or NaN.
pub fn hamming(truth: &BinaryPairwise, scores: &[f64]) -> Result<usize, Error> {
    let labels = edge_labels(truth);
    fenchel_linalg::Invalid::check_length("scores", labels.len(), scores.len())?;
    check_numbers(scores)?;
    Ok(labels.iter().zip(scores).filter(|(edge, score)| **edge != (**score != 0.0)).count())
}

/// Refuses NaN, which would count as an edge.
fn check_numbers(scores: &[f64]) -> Result<(), Error> {
    match scores.iter().find(|score| score.is_nan()) {
        None => Ok(()),
        Some(&value) => {
            let expected = "a number for every pair";
            Err(fenchel_linalg::Invalid::Parameter { name: "scores", value, expected }.into())
        }
    }
}

/// Whether `i` and `j` are joined, of all pairs `i < j`, row by row.
pub fn edge_labels(truth: &BinaryPairwise) -> Vec<bool> {
    let p = truth.variables();
    let mut labels = vec![false; p * (p - 1) / 2];
    for (i, j, _) in truth.edges() {
        let (i, j) = (i as usize, j as usize);
        labels[i * (2 * p - i - 1) / 2 + j - i - 1] = true;
    }
    labels
}
