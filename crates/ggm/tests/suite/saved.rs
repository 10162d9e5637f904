//! Files with the right checksum and one changed value: they are refused, or the model that they hold can be used.

use fenchel_ggm::conditional::GaussianCrfModel;
use fenchel_ggm::item_field::{AttributeField, AttributeFieldModel, ItemFieldModel, Ratings};
use fenchel_ggm::latent::LatentVariableModel;
use fenchel_ggm::{
    GaussianCrf, GaussianModel, GraphicalLasso, ItemField, LatentGraphicalLasso, Saved, Statistics,
};
use fenchel_linalg::{Named, Names};
use fenchel_optim::model::envelope;
use fenchel_optim::random::stream;
use ndarray::{Array2, array};

/// The text of a model within its file.
fn text<M: Saved>(model: &M) -> String {
    let mut file = Vec::new();
    model.save(&mut file).unwrap();
    let file = String::from_utf8(file).unwrap();
    let from = file.find("\"model\":").unwrap() + "\"model\":".len();
    file[from..file.rfind(",\"crc32\"").unwrap()].trim().to_owned()
}

/// All texts with one number replaced by another, or one list by an empty one.
fn mutants(text: &str) -> Vec<String> {
    let bytes = text.as_bytes();
    let part = |b: u8| b.is_ascii_digit() || matches!(b, b'.' | b'-' | b'+' | b'e');
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let number = matches!(bytes[at], b'[' | b',' | b':')
            && bytes.get(at + 1).is_some_and(|b| b.is_ascii_digit() || *b == b'-');
        if number {
            let from = at + 1;
            let to = from + bytes[from..].iter().take_while(|b| part(**b)).count();
            for new in ["0", "-1", "1", "7", "1000000", "1e308", "1e-320", "-0.5", "null"] {
                found.push(format!("{}{new}{}", &text[..from], &text[to..]));
            }
        }
        if bytes[at] == b'[' {
            let mut depth = 0;
            let close = bytes[at..].iter().position(|b| {
                depth += i32::from(*b == b'[') - i32::from(*b == b']');
                depth == 0
            });
            let to = at + close.unwrap() + 1;
            found.push(format!("{}[]{}", &text[..at], &text[to..]));
        }
        at += 1;
    }
    found
}

fn check<M: Saved>(model: &M, used: impl Fn(&M)) {
    let text = text(model);
    let load = |text: &str| M::load(envelope(M::KIND, M::VERSION, text).as_bytes());
    assert!(load(&text).is_ok(), "{}", M::KIND);
    let (mut refused, mut kept) = (0, 0);
    for mutant in mutants(&text) {
        match load(&mutant) {
            Ok(found) => {
                kept += 1;
                used(&found);
            }
            Err(_) => refused += 1,
        }
    }
    assert!(refused > 20, "{}: {refused} refused, {kept} kept", M::KIND);
}

fn data() -> Array2<f64> {
    array![
        [1.0, 1.2, 0.3],
        [2.0, 1.7, -0.2],
        [3.0, 3.3, 0.1],
        [4.0, 4.1, -0.3],
        [5.0, 4.6, 0.2],
        [2.5, 2.0, 0.9]
    ]
}

fn use_gaussian(m: &GaussianModel) {
    let _ = (m.graph(), m.edges(), m.partial_correlations(), m.condition(&[(0, 1.0)]));
    let _ = (m.log_density(&data()), m.score(&data()), m.mahalanobis(&data()));
    let _ = m.sample(2, &mut stream(1, 0));
}

/// The fields are public.
#[test]
fn a_model_whose_parts_do_not_fit_is_refused_by_name() {
    let model = GraphicalLasso::default().fit(&data()).unwrap();
    for (rows, columns) in [(2, 2), (3, 2), (2, 3), (4, 4), (0, 0)] {
        let broken = GaussianModel { precision: Array2::zeros((rows, columns)), ..model.clone() };
        let errors =
            [broken.score(&data()).unwrap_err(), broken.condition(&[(0, 1.0)]).unwrap_err()];
        assert!(errors.iter().all(|e| e.to_string().contains("precision")), "{errors:?}");
        assert!(broken.sample(2, &mut stream(1, 0)).is_err());
    }
}

#[test]
fn a_changed_value_is_refused_or_harmless() {
    let x = data();
    let gaussian = GraphicalLasso::default().fit(&x).unwrap();
    check(&gaussian, use_gaussian);
    let latent = LatentGraphicalLasso { rank_penalty: 0.1, ..Default::default() };
    let latent = latent.fit(&x).unwrap();
    check(&latent, |m: &LatentVariableModel| {
        use_gaussian(&m.observed);
        let _ = (m.hidden(), m.graph(), m.low_rank(), m.transform(&data()), m.score(&data()));
    });
    let (inputs, outputs) = (Array2::from_shape_fn((6, 1), |(i, _)| x[[i, 0]]), {
        Array2::from_shape_fn((6, 2), |(i, j)| x[[i, j + 1]])
    });
    let crf = GaussianCrf::default().fit(&inputs, &outputs).unwrap();
    check(&crf, |m: &GaussianCrfModel| {
        let _ = (m.graph(), m.coefficients(), m.predict(&inputs), m.score(&inputs, &outputs));
    });
    let marks = x.indexed_iter().map(|((i, j), v)| (i as u32, j as u32, *v));
    let ratings = Ratings::new(6, 3, marks).unwrap();
    let use_field = |m: &ItemFieldModel| {
        let _ = (m.predict(&[(0, 2.0)]), m.variance(1, &[(0, 2.0)]), m.top(&[(0, 2.0)], 2));
        let _ = (m.predict_all(&ratings), m.mean_absolute_error(&ratings, &ratings));
    };
    check(&ItemField::default().fit(&ratings).unwrap(), use_field);
    let field = AttributeField::default();
    let field = field.fit(&ratings, &Array2::from_shape_fn((6, 1), |(i, _)| i as f64)).unwrap();
    check(&field, |m: &AttributeFieldModel| {
        use_field(&m.rest);
        let _ = m.predict(&[1.0], &[(0, 2.0)]);
    });
}

/// The covariance predicts and the precision scores: they must belong together. Of neighbours, both directions.
#[test]
fn what_a_file_holds_twice_must_agree() {
    let x = data();
    let one = |j: usize| Array2::from_shape_fn((6, 1), |(i, _)| x[[i, j]]);
    let mut crf = GaussianCrf::default().fit(&one(0), &one(1)).unwrap();
    crf.covariance[[0, 0]] = 1000.0;
    assert!(crf.check().unwrap_err().contains("inverse"));
    let ratings = [(0, 0, 5.0), (0, 1, 5.0), (1, 0, 1.0), (1, 1, 2.0), (2, 0, 5.0), (3, 1, 1.0)];
    let field = ItemField::default().fit(&Ratings::new(4, 2, ratings).unwrap()).unwrap();
    assert_eq!(field.check(), Ok(()));
    let with = |neighbours| ItemFieldModel { neighbours, ..field.clone() };
    for wrong in [
        vec![vec![(1, 1.0)], vec![]],
        vec![vec![(1, 1.0)], vec![(0, 2.0)]],
        vec![vec![(0, 1.0)], vec![]],
        vec![vec![(1, 1.0), (1, 1.0)], vec![(0, 1.0), (0, 1.0)]],
        vec![vec![(7, 1.0)], vec![]],
    ] {
        let model = with(wrong);
        assert!(model.check().is_err());
        assert!(model.predict(&[(0, 3.0)]).is_err());
        assert!(model.variance(1, &[(0, 3.0)]).is_err());
    }
}

/// Models take the names of the data, or of their statistics, keep them in files, and print them.
#[test]
fn a_network_has_the_names_of_its_variables() {
    let wine = fenchel_datasets::embedded::wine();
    let names = Names::new(fenchel_datasets::embedded::WINE_FEATURES);
    let x = Named { x: wine.x, names: names.clone() };
    let lasso = GraphicalLasso { l1: 0.3.into(), ..GraphicalLasso::default() };
    let model = lasso.fit(&x).unwrap();
    assert_eq!(model.names, names);
    let statistics = Statistics::from_data(&x).unwrap();
    assert_eq!(lasso.fit(&statistics).unwrap().names, names);
    let path = lasso.fit_path(&statistics, &[0.5, 0.3]).unwrap();
    assert_eq!(path.ebic_model(0.0).unwrap().names, names);
    let (i, j, partial) = model.edges()[0];
    let text = model.to_string();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[0],
        format!("13 variables, {} edges with partial correlations", model.edges().len())
    );
    assert_eq!(lines[1], format!("{partial:9.6}  {} - {}", names[i], names[j]));
    let mut file = Vec::new();
    model.save(&mut file).unwrap();
    assert_eq!(GaussianModel::load(&file[..]).unwrap(), model);
    let other = Named { names: names.iter().rev().cloned().collect(), ..x };
    assert!(
        model
            .score(&other)
            .unwrap_err()
            .to_string()
            .contains("expected \"alcohol\", as in the fit")
    );
    let short = GaussianModel { names: Names::new(["alcohol"]), ..model };
    assert!(short.check().unwrap_err().contains("names of the columns"));
}
