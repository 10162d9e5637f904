//! A fit of every crate has its picture by one call, which shows what it must.

use fenchel::causal::effect::EffectEstimator;
use fenchel::causal::{Admg, effects_figure};
use fenchel::crf::{CorpusBuilder, Crf, Instance};
use fenchel::datasets::embedded::{self, WINE_FEATURES};
use fenchel::expfam::glm::{Glm, PoissonLog};
use fenchel::ggm::path::grid;
use fenchel::ggm::{GraphicalLasso, GraphicalLassoCv, Statistics};
use fenchel::linear::path::{Grid, PathSettings, elastic_net_path};
use fenchel::linear::{LassoCv, LogisticRegression, Standardiser};
use fenchel::metrics::{Confusion, calibration_figure, precision_recall_figure, roc_figure};
use fenchel::moments::spectrum::EigenOrder;
use fenchel::moments::{Components, GaussianMixture, IndexRegressor, PhdPlus, Sir, synthetic};
use fenchel::optim::Trace;
use fenchel::plot::{Colour, Figure, Kind};
use fenchel::prelude::*;

type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;

/// A picture is whole, has the words, and no numbers that are none.
fn shows(svg: &str, words: &[&str]) {
    assert!(svg.starts_with("<svg viewBox") && svg.ends_with("</svg>\n"));
    assert!(
        !svg.contains("NaN") && !svg.contains("\"inf") && svg.contains("prefers-color-scheme:dark")
    );
    for word in words {
        assert!(svg.contains(&format!(">{word}")), "{word} is missing in {svg}");
    }
}

fn wine() -> Result<(Named<Array2<f64>>, Array1<f64>)> {
    let data = embedded::wine_alcohol();
    let x = Standardiser::fit(&data.x)?.transform(&data.x)?;
    Ok((Named { x, names: Names::new(WINE_FEATURES[1..].iter().copied()) }, data.y))
}

#[test]
fn a_path_names_its_largest_weights() -> Result {
    let (x, y) = wine()?;
    let grid = Grid::Log { count: 20, smallest: 1e-3 };
    let path = elastic_net_path(&x, &y, &PathSettings { grid, ..PathSettings::default() })?;
    let figure = path.figure();
    // Eight names, and one for all the others.
    assert_eq!(figure.series.iter().filter(|s| !s.name.is_empty()).count(), 9);
    let largest = &figure.series[figure.series.len() - 1];
    let last = path.point(19).ok_or("20 points")?.weights;
    let size = last.iter().fold(0.0, |m: f64, w| m.max(w.abs()));
    assert_eq!(largest.points[19].1.abs(), size);
    shows(&path.svg(), &["proline", "others", "penalty", "weight"]);
    Ok(())
}

#[test]
fn cross_validations_mark_both_penalties_and_warn_at_the_end_of_the_grid() -> Result {
    let (x, y) = wine()?;
    let whole = LassoCv::default().fit(&x, &y)?;
    shows(&whole.svg(), &["best", "one standard error"]);
    assert_eq!(whole.figure().series[0].band.len(), whole.scores.len());
    let short = LassoCv { grid: Some(Grid::Log { count: 4, smallest: 0.3 }), ..LassoCv::default() };
    shows(&short.fit(&x, &y)?.svg(), &["Warning: the best penalty is the smallest of the grid"]);
    let statistics = Statistics::from_data(&x)?;
    let path = GraphicalLasso::default().fit_path(&statistics, &grid(0.9, 0.5, 5)?)?;
    assert!(path.ebic_warning(0.5)?.is_some());
    shows(&path.svg(0.5)?, &["least EBIC", "Warning: the best penalty"]);
    let fitted = GraphicalLassoCv::default().fit(&x)?;
    shows(&fitted.svg(), &["chosen", "penalty"]);
    shows(&fitted.model.network().svg(), &["proline", "positive partial correlation"]);
    let map = fitted.model.heat_map();
    assert_eq!((map.rows.names.len(), map.values.len()), (12, 144));
    shows(&map.svg(), &["magnesium"]);
    assert!(fitted.model.network().dot().contains("label=\"proline\""));
    Ok(())
}

#[test]
fn a_run_shows_what_was_proved() -> Result {
    let data = embedded::breast_cancer();
    let mut trace = Trace::new();
    let mut watch = |p: &Progress| {
        trace.rows.push(*p);
        std::ops::ControlFlow::Continue(())
    };
    let fit = LogisticRegression { l2: Some(1e-2), ..LogisticRegression::default() };
    let x = Standardiser::fit(&data.x)?.transform(&data.x)?;
    let model = fit.fit_with(&x, data.y.view(), Fit::new().watch(&mut watch))?;
    shows(&trace.svg(), &["passes over the data"]);
    let gap = &trace.figure().series[0];
    assert_eq!(
        gap.points[gap.points.len() - 1].1,
        trace.rows[trace.rows.len() - 1].certificate.value()
    );
    let (truth, scores) = (data.y.to_vec(), model.predict_proba(&x)?.to_vec());
    shows(&roc_figure(&truth, &scores)?.svg(), &["ROC curve: area 0.99"]);
    shows(&precision_recall_figure(&truth, &scores)?.svg(), &["precision", "recall"]);
    let groups = &calibration_figure(&truth, &scores)?.series[1];
    assert_eq!(groups.points.len(), 10);
    // No malignant tumour in a group is no proof that there is none.
    let inside =
        |band: &(f64, f64)| band.0 > -1e-12 && band.1 < 1.0 + 1e-12 && band.1 - band.0 > 0.02;
    assert!(groups.band.iter().all(inside), "{:?}", groups.band);
    let predicted = model.predict(&x)?.mapv(|y| usize::from(y > 0.0)).to_vec();
    let classes: Vec<usize> = truth.iter().map(|&y| usize::from(y > 0.0)).collect();
    let map = Confusion::new(&classes, &predicted, 2)?.heat_map(&["malignant", "benign"])?;
    assert!((map.values[0] + map.values[1] - 1.0).abs() < 1e-12);
    shows(&map.svg(), &["malignant", "rows: truth; columns: prediction"]);
    Ok(())
}

#[test]
fn a_glm_has_a_forest_and_a_line_of_residuals() -> Result {
    let x =
        Named { x: array![[0.0], [0.0], [0.0], [1.0], [1.0], [1.0]], names: Names::new(["group"]) };
    let y = [2.0, 3.0, 4.0, 9.0, 7.0, 8.0];
    let model = Glm::new(PoissonLog).fit(&x, &y[..])?;
    let figure = model.summary().figure();
    // The intercept has no row; the interval is that of the standard error.
    let c = &model.summary().coefficients[1];
    assert_eq!((figure.y.names.len(), figure.series[0].points[0].0), (1, c.estimate));
    assert!((figure.series[0].band[0].1 - c.estimate - 1.959_964 * c.standard_error).abs() < 1e-5);
    shows(&model.summary().svg(), &["group"]);
    let residuals = &model.qq_figure(&x, &y, None)?.series[0];
    assert!(residuals.points.windows(2).all(|w| w[0].0 < w[1].0 && w[0].1 <= w[1].1));
    Ok(())
}

#[test]
fn an_effect_has_its_graph_balance_and_overlap() -> Result {
    let graph = Admg::parse("age -> drug -> health; age -> health; drug <-> health")?;
    let set = |name: &str| graph.set(&[name]);
    let network = graph.adjustment_network(set("drug")?, set("health")?, set("age")?);
    assert_eq!(network.edges.iter().filter(|e| e.kind == Kind::Both).count(), 1);
    assert_eq!(network.nodes[1].colour, Colour::Vermilion);
    shows(&network.svg(), &["adjusted for", "treatment", "drug"]);
    let x = array![[0.0], [0.0], [0.0], [1.0], [1.0], [1.0]];
    let treated = [false, false, true, false, true, true];
    let estimator = EffectEstimator { bootstrap: 20, ..EffectEstimator::default() };
    let model = estimator.fit(x.view(), &treated, &[0.0, 0.5, 2.0, 5.0, 7.0, 7.5])?;
    // A third of the others and two thirds of the treated have the column: two thirds of a deviation apart.
    let love = model.love_plot(&["age"])?;
    assert!((love.series[0].points[0].0 - 2.0 / 3.0).abs() < 1e-12);
    assert!(love.series[1].points[0].0 < 1e-4);
    assert!(model.love_plot(&["age", "sex"]).is_err());
    shows(&model.overlap_figure(&treated)?.svg(), &["treated", "untreated", "propensity"]);
    let effects = [("means", 1.5, None), ("weighting", 2.0, Some((1.0, 3.0)))];
    let words = ["means (interval not computed)", "weighting", "Dashed line: no effect"];
    shows(&effects_figure("kg", effects).svg(), &words);
    Ok(())
}

/// The bars of a figure in their order, which must not rise.
fn falls(figure: &Figure) -> Vec<f64> {
    let mut points: Vec<(f64, f64)> = figure.series.iter().flat_map(|s| s.points.clone()).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    assert!(points.windows(2).all(|w| w[0].1 >= w[1].1), "{points:?}");
    points.into_iter().map(|p| p.1).collect()
}

#[test]
fn directions_have_a_scree_and_an_index_its_curve() -> Result {
    let (x, y) = wine()?;
    let sir = Sir { components: Components::Fixed(1), ..Sir::default() };
    let model = IndexRegressor::new(sir).fit(&x, &y)?;
    let figure = model.figure();
    assert_eq!((figure.series[0].points.len(), figure.series[1].points.len()), (178, 121));
    shows(&figure.svg(), &["fitted", "response"]);
    let shares = falls(&model.reduction.scree());
    assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    shows(
        &model.reduction.scree().svg(),
        &["178 rows. How many directions are kept: the number was given"],
    );
    // By their signs the eigenvalues fall, their sizes do not.
    let signed = PhdPlus {
        order: EigenOrder::Algebraic,
        components: Components::EigenGap(3),
        ..PhdPlus::default()
    };
    let features = GaussianMixture::thesis(4)?;
    let problem = synthetic::rational(&features, 400, 0.25, 1)?;
    let found = signed.fit(&problem.x, &problem.y, &features)?;
    assert_eq!(found.rule, signed.components);
    let sizes = found.explained();
    assert!(sizes.windows(2).into_iter().any(|w| w[0] < w[1]), "{sizes}");
    falls(&found.scree());
    shows(&model.reduction.svg(), &["proline"]);
    Ok(())
}

#[test]
fn the_worst_sentences_come_first() -> Result {
    let read = |words: &[&str], labels: &[&str]| {
        let mut instance = Instance::new();
        for (word, label) in words.iter().zip(labels) {
            instance.begin_token(label);
            instance.push_pair("word", word);
        }
        instance
    };
    let mut builder = CorpusBuilder::new();
    builder.push(&read(&["the", "dog"], &["D", "N"]))?;
    builder.push(&read(&["a", "cat"], &["D", "N"]))?;
    let model = Crf::default().fit(&builder.finish(1)?)?;
    let words = [vec!["the", "cat"], vec!["the", "cat"]];
    let sentences = [read(&words[0], &["D", "N"]), read(&words[1], &["N", "N"])];
    let text = model.worst(&sentences, &words, 1)?;
    assert_eq!((text.lines.len(), text.lines[0][0].label.as_str()), (1, "D, not N"));
    shows(&text.svg(), &["the", "D, not N", "wrong: the given label, not the true one"]);
    assert!(model.worst(&sentences, &words[..1], 1).is_err());
    Ok(())
}
