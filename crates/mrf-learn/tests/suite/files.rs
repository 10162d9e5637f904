//! Files of models in which one value was changed, with the checksum of the changed text: they are refused, or the model
//! works without a panic.

use fenchel_linalg::Names;
use fenchel_mrf_learn::potts::{Alignment, Alphabet, Gaps, PottsModel, PottsPseudoLikelihood};
use fenchel_mrf_learn::{Coordinates, Data, ExactMle, MissingPolicy, NetworkModel, Penalty, Spg};
use fenchel_optim::model::Saved;
use fenchel_optim::random::stream;
use ndarray::Array2;
use rand::RngExt;

use mutants::{load, try_all};

#[path = "../../../optim/tests/mutants/mod.rs"]
mod mutants;

/// Changes every value in every way. Returns how many files were refused, and how many models worked.
fn mutate<M: Saved + PartialEq + std::fmt::Debug>(model: &M, used: impl Fn(&M)) -> (usize, usize) {
    let whole = serde_json::to_value(model).unwrap();
    assert_eq!(&load::<M>(&whole).unwrap(), model);
    try_all(model, load, used)
}

fn bits() -> Array2<u8> {
    let mut random = stream(1, 0);
    Array2::from_shape_fn((20, 3), |_| random.random_range(0..2))
}

#[test]
fn changed_networks_are_refused_or_work() {
    let data = Data::binary(bits().view(), MissingPolicy::Error).unwrap();
    let used = |model: &NetworkModel| {
        let _ = model.edges();
        let _ = model.scores();
        let _ = model.graph();
        let _ = model.influence().map(|influence| influence.spectral_radius());
        let _ = model.predict(&data);
        let _ = model.probabilities(&data, 1);
        let _ = model.score(&data);
        let _ = model.log_likelihood(&data);
        let _ = model.sample(4, 2, 0);
        let _ = model.write_edges(&[], Vec::new());
        #[cfg(feature = "plot")]
        let _ = model.network().svg();
        let _ = model.to_owned().save(Vec::new());
        let short = ExactMle::default();
        let _ = ExactMle { stop: fenchel_optim::Stop { max_passes: 2.0, ..short.stop }, ..short }
            .fit_with(&data, fenchel_mrf_learn::Fit::new().start(model));
    };
    let exact = ExactMle { penalty: Penalty::edges(0.05), ..ExactMle::default() };
    let (refused, works) = mutate(&exact.fit(&data).unwrap(), used);
    assert!(refused > 250 && works > 30, "{refused} {works}");
    let spg = Spg { chains: 8, average: fenchel_mrf_learn::Averaging::All, ..Spg::default() };
    let (refused, works) = mutate(&spg.with_iterations(3).fit(&data).unwrap(), used);
    assert!(refused > 500 && works > 100, "{refused} {works}");
}

#[test]
fn changed_discrete_networks_are_refused_or_work() {
    let data = Data::states(bits().mapv(|bit| 2 * bit).view()).unwrap();
    let used = |model: &NetworkModel| {
        let _ = model.edges();
        let _ = model.scores();
        let _ = model.table(0, 1);
        let _ = model.factor_graph();
        let _ = model.graph();
        let _ = model.influence();
        let _ = model.conditional(&[0, 2, 2], 1);
        let _ = model.predict(&data);
        let _ = model.score(&data);
        let _ = model.log_likelihood(&data);
        let _ = model.sample(4, 2, 0);
        let _ = model.to_owned().save(Vec::new());
    };
    let penalty = Penalty { unary_weight: 1.0, ..Penalty::group(0.1) };
    let coordinates = Coordinates::Indicators;
    let exact = ExactMle { penalty, coordinates, ..ExactMle::default() };
    let (refused, works) = mutate(&exact.fit(&data).unwrap(), used);
    assert!(refused > 200 && works > 30, "{refused} {works}");
}

#[test]
fn changed_potts_models_are_refused_or_work() {
    let mut random = stream(2, 0);
    let letters = Array2::from_shape_fn((6, 3), |_| b"AB-"[random.random_range(0..3)]);
    let alphabet = Alphabet::new("AB", '-').unwrap();
    let data = Alignment::new(letters.view(), alphabet, Gaps::State).unwrap();
    let used = |model: &PottsModel| {
        let _ = model.contact_scores();
        let _ = model.zero_sum();
        let _ = model.log_score(&[0, 1, 2]);
        let _ = model.mutation_effects(&[0, 1, 2]);
        let _ = model.score(&data);
        let _ = model.sample(2, 2, 0);
        let _ = model.save(Vec::new());
    };
    let model = PottsPseudoLikelihood::default().fit(&data).unwrap();
    let (refused, works) = mutate(&model, used);
    assert!(refused > 150 && works > 30, "{refused} {works}");
}

/// A network has the names of its data, keeps them in a file, and prints its edges by them.
#[test]
fn a_network_has_the_names_of_its_variables() {
    let names = Names::new(["cough", "fever", "smokes"]);
    let data =
        Data::binary(bits().view(), MissingPolicy::Error).unwrap().named(names.clone()).unwrap();
    let model = ExactMle { penalty: Penalty::l1(0.001), ..ExactMle::default() }.fit(&data).unwrap();
    assert_eq!(model.names, names);
    let (i, j, coupling) = model.edges()[0];
    let text = model.to_string();
    let (i, j) = (&names[i as usize], &names[j as usize]);
    assert_eq!(text.lines().nth(1).unwrap(), format!("{coupling:9.6}  {i} - {j}"));
    let mut file = vec![];
    model.save(&mut file).unwrap();
    assert_eq!(NetworkModel::load(&file[..]).unwrap(), model);
    let error = data.named(Names::new(["cough"])).unwrap_err().to_string();
    assert_eq!(error, "names of the variables: expected length 3, found 1");
}
