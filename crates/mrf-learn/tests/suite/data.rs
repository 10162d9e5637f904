use fenchel_mrf_learn::{Coordinates, Data, Error, MissingPolicy, NetworkModel, Penalty, Spg};
use fenchel_optim::model::Saved;
use ndarray::{Array2, array};

use crate::common::two_states;

#[test]
fn what_is_not_binary_is_named() {
    let x = array![[0u8, 1], [2, 1]];
    let error = Data::binary(x.view(), MissingPolicy::Error).unwrap_err().to_string();
    assert_eq!(error, "data: row 1, column 0 is 2; expected 0, 1, or 255 for a missing value");
    let x = array![[0.0, 1.0], [0.5, f64::NAN]];
    let error = Data::binary(x.view(), MissingPolicy::Error).unwrap_err();
    assert!(matches!(error, Error::Entry { row: 1, column: 0, .. }));
    let x = array![[0.0, f64::NAN]];
    let error = Data::binary(x.view(), MissingPolicy::Error).unwrap_err();
    assert!(matches!(error, Error::Entry { row: 0, column: 1, .. }), "{error}");
    let empty: Array2<bool> = Array2::default((0, 3));
    assert!(Data::binary(empty.view(), MissingPolicy::Error).is_err());
    let empty: Array2<bool> = Array2::default((3, 0));
    assert!(Data::binary(empty.view(), MissingPolicy::Error).is_err());
    let wide: Array2<bool> = Array2::default((1, 65_536));
    let error = Data::binary(wide.view(), MissingPolicy::Error).unwrap_err().to_string();
    assert!(error.contains("65535"), "{error}");
}

#[test]
fn missing_cells_follow_the_policy() {
    let x = array![[1i8, 1], [-1, 1], [0, 1]];
    let zero = Data::binary(x.view(), MissingPolicy::AsZero).unwrap();
    assert_eq!(zero.means(Coordinates::Binary).unwrap(), [1.0 / 3.0, 1.0 / 3.0, 1.0]);
    let dropped = Data::binary(x.view(), MissingPolicy::DropRow).unwrap();
    assert_eq!(
        (dropped.rows(), dropped.means(Coordinates::Binary).unwrap()),
        (2, vec![0.5, 0.5, 1.0])
    );
    let imputed = Data::binary(x.view(), MissingPolicy::Impute).unwrap();
    assert_eq!(imputed.missing(), [(1, 0)]);
    let all = array![[-1i8], [-1]];
    assert!(Data::binary(all.view(), MissingPolicy::DropRow).is_err());
    // A column without a single value says nothing about edges.
    let never = array![[1i8, -1], [0, -1]];
    let error = Data::binary(never.view(), MissingPolicy::Impute).unwrap_err().to_string();
    assert!(error.contains("column 1"), "{error}");
}

/// 130 rows: the last word is not full.
#[test]
fn means_are_those_of_the_rows() {
    let x = Array2::from_shape_fn((130, 5), |(r, i)| (r * (i + 3) + r / 7) % 3 == 0);
    let data = Data::binary(x.view(), MissingPolicy::Error).unwrap();
    let weights: Vec<f64> = (0..130).map(|r| 1.0 + f64::from(r % 4)).collect();
    let total: f64 = weights.iter().sum();
    let weighted = data.clone().with_weights(&weights).unwrap();
    let (plain, heavy) =
        (data.means(Coordinates::Binary).unwrap(), weighted.means(Coordinates::Binary).unwrap());
    let mut c = 0;
    for i in 0..5 {
        for j in i..5 {
            let both = |r: usize| f64::from(u8::from(x[[r, i]] && x[[r, j]]));
            let mean: f64 = (0..130).map(both).sum::<f64>() / 130.0;
            let mean_w: f64 = (0..130).map(|r| weights[r] * both(r)).sum::<f64>() / total;
            assert!((plain[c] - mean).abs() < 1e-14 && (heavy[c] - mean_w).abs() < 1e-13);
            c += 1;
        }
    }
    assert!(data.clone().with_weights(&[1.0]).is_err());
    assert!(data.clone().with_weights(&vec![f64::NAN; 130]).is_err());
    assert!(data.with_weights(&vec![0.0; 130]).is_err());
}

#[test]
fn bad_penalties_are_refused() {
    for penalty in [
        Penalty::l1(-0.1),
        Penalty::l1(f64::NAN),
        Penalty { unary_weight: -1.0, ..Penalty::default() },
        Penalty { weights: vec![1.0; 2], ..Penalty::default() },
        Penalty { weights: vec![1.0, f64::NAN, 1.0], ..Penalty::default() },
    ] {
        assert!(penalty.strengths(&two_states(2)).is_err(), "{penalty:?}");
    }
    assert!(
        Penalty { weights: vec![1.0, f64::INFINITY, 1.0], ..Penalty::default() }
            .strengths(&two_states(2))
            .is_ok()
    );
}

/// By hand: means 3/4, 1/2, 1/2 of `x_0`, `x_0 x_1`, `x_1`.
#[test]
fn the_largest_strength_by_hand() {
    let means = [0.75, 0.5, 0.5];
    let all = Penalty::l1(1.0).largest_strength(&means, &two_states(2)).unwrap();
    assert_eq!(all, 0.25);
    let edges = Penalty::edges(1.0).largest_strength(&means, &two_states(2)).unwrap();
    assert_eq!(edges, 0.125);
}

#[test]
fn a_model_comes_back_from_its_file_and_goes_out_as_a_graph() {
    let x = array![[1u8, 1, 0], [1, 1, 1], [0, 0, 1], [0, 0, 0], [1, 1, 0], [0, 1, 1]];
    let data = Data::binary(x.view(), MissingPolicy::Error).unwrap();
    let spg = Spg {
        penalty: Penalty::l1(0.05),
        chains: 100,
        average: fenchel_mrf_learn::Averaging::All,
        ..Spg::default()
    };
    let model = spg.with_iterations(5).fit(&data).unwrap();
    let mut file = vec![];
    model.save(&mut file).unwrap();
    assert_eq!(NetworkModel::load(&file[..]).unwrap(), model);
    let names = ["a & b".to_owned(), "c, d".to_owned(), "e".to_owned()];
    #[cfg(feature = "plot")]
    assert!(model.network().named(names.clone()).graphml().contains("a &amp; b"));
    let mut out = vec![];
    model.write_edges(&names, &mut out).unwrap();
    assert!(String::from_utf8(out).unwrap().contains("a & b,\"c, d\","));
    let ones = model.probabilities(&data, 1).unwrap();
    let likely = ones.mapv(|share| u8::from(share > 0.5));
    assert_eq!(model.predict(&data).unwrap(), likely);
    assert!(model.score(&data).unwrap() < 0.0);
}

/// Cells to impute stay so in a selection of rows, repeated or not, and with them what methods refuse.
#[test]
fn selections_keep_missing_cells() {
    let x = array![[1i8, -1], [0, 1], [-1, -1], [1, 0]];
    let data = Data::binary(x.view(), MissingPolicy::Impute).unwrap();
    let picked = data.select(&[2, 0, 1, 2]).unwrap();
    assert_eq!(picked.missing(), [(0, 0), (0, 1), (1, 1), (3, 0), (3, 1)]);
    assert!(matches!(fenchel_mrf_learn::ExactMle::default().fit(&picked), Err(Error::Refused(_))));
}

/// A forbidden edge survives being saved.
#[test]
fn infinite_weights_are_saved() {
    use fenchel_optim::model::Saved;
    let weights = vec![1.0, f64::INFINITY, 2.0];
    let penalty = Penalty { weights, ..Penalty::l1(0.1) };
    let data = Data::binary(array![[1u8, 1], [0, 0], [0, 1]].view(), MissingPolicy::Error).unwrap();
    let model = fenchel_mrf_learn::ExactMle { penalty, ..Default::default() }.fit(&data).unwrap();
    let mut bytes = vec![];
    model.save(&mut bytes).unwrap();
    assert_eq!(fenchel_mrf_learn::NetworkModel::load(&bytes[..]).unwrap(), model);
}

#[test]
fn scores_and_means_that_do_not_fit() {
    use fenchel_mrf_learn::metrics;
    let truth = fenchel_graphical::BinaryPairwise::new(&[0.0; 3], &[(0, 1, 1.0)]).unwrap();
    assert!(metrics::hamming(&truth, &[1.0, f64::NAN, 0.0]).is_err());
    assert!(metrics::edge_scores(&truth, &[1.0, f64::NAN, 0.0]).is_err());
    assert!(Penalty::l1(1.0).largest_strength(&[0.1], &two_states(3)).is_err());
}

/// A cell to impute has no value: what would count it refuses. Rows that were dropped are named by the data and counted by the model.
#[test]
fn missing_cells_are_not_zeros() {
    let x = array![[1i8, -1, 0], [0, 1, 1], [1, 1, -1], [1, 0, 0], [0, 0, 1], [1, 1, 1]];
    let dropped = Data::binary(x.view(), MissingPolicy::DropRow).unwrap();
    assert_eq!((dropped.dropped(), dropped.rows()), (&[0_u32, 2][..], 4));
    let pseudo =
        fenchel_mrf_learn::PseudoLikelihood { penalty: Penalty::l1(0.1), ..Default::default() };
    let model = pseudo.fit(&dropped).unwrap();
    let told = fenchel_mrf_learn::Warning::RowsDropped { dropped: 2, kept: 4 };
    assert_eq!(model.warnings, [told]);
    let sampled = Spg { chains: 64, ..Spg::default() }.with_iterations(2).fit(&dropped).unwrap();
    assert!(sampled.warnings.contains(&told));
    let holes = Data::binary(x.view(), MissingPolicy::Impute).unwrap();
    assert!(holes.dropped().is_empty());
    for (name, error) in [
        ("predict", model.predict(&holes).unwrap_err()),
        ("probabilities", model.probabilities(&holes, 1).unwrap_err()),
        ("score", model.score(&holes).unwrap_err()),
        ("log_likelihood", model.log_likelihood(&holes).unwrap_err()),
    ] {
        let text = error.to_string();
        assert!(matches!(error, Error::Refused(_)) && text.contains(name), "{text}");
    }
    assert!(model.score(&dropped).unwrap() < 0.0);
}

/// A file with a right checksum may still hold lists that are no model.
#[test]
fn lists_that_are_no_network_are_refused() {
    let x = array![[1u8, 1, 0], [1, 0, 1], [0, 0, 1], [0, 1, 0]];
    let data = Data::binary(x.view(), MissingPolicy::Error).unwrap();
    let fit = fenchel_mrf_learn::ExactMle { penalty: Penalty::l1(0.1), ..Default::default() };
    let network =
        NetworkModel { theta: vec![0.5, 0.4, 0.0, -1.0, -0.3, 0.25], ..fit.fit(&data).unwrap() };
    let mut file = vec![];
    network.save(&mut file).unwrap();
    let file = String::from_utf8(file).unwrap();
    let (_, content) = file.split_once("\"model\":").unwrap();
    let (content, _) = content.rsplit_once(",\"crc32\"").unwrap();
    let theta = "[0.5,0.4,0.0,-1.0,-0.3,0.25]";
    let layout = "{\"cards\":[2,2,2],\"coordinates\":\"Binary\"}";
    assert!(content.contains(theta) && content.contains(layout), "{content}");
    let load = |old: &str, new: &str| {
        let (kind, version) = (NetworkModel::KIND, NetworkModel::VERSION);
        let changed = content.replace(old, new);
        NetworkModel::load(fenchel_optim::model::envelope(kind, version, &changed).as_bytes())
    };
    assert_eq!(load("", "").unwrap(), network);
    for list in ["[]", "[0.0]", "[0.5,0.4,0.0,-1.0,-0.3]", "[1e999,0.0,0.0,0.0,0.0,0.0]"] {
        assert!(load(theta, list).is_err(), "{list}");
    }
    for (cards, coordinates) in [
        ("[]", "Binary"),
        ("[2,2]", "Binary"),
        ("[2,2,3]", "Binary"),
        ("[2,2,3]", "Spins"),
        ("[2,0,2]", "Indicators"),
        ("[2,2,256]", "Indicators"),
        ("[2,2,2]", "Indicators"),
    ] {
        let other = format!("{{\"cards\":{cards},\"coordinates\":\"{coordinates}\"}}");
        assert!(load(layout, &other).is_err(), "{other}");
    }
    // Parameters for which no list of a file could be long enough are refused before they are allocated.
    let wide = format!("{{\"cards\":[{}2],\"coordinates\":\"Indicators\"}}", "255,".repeat(2000));
    let error = load(layout, &wide).unwrap_err().to_string();
    assert!(error.contains("GiB"), "{error}");
    let other = NetworkModel { average: Some(vec![0.0]), ..network };
    let mut bytes = vec![];
    assert!(other.save(&mut bytes).is_err() || NetworkModel::load(&bytes[..]).is_err());
}

/// Rows that are spread over ranks, which are threads here: the means of all rows, the same for any number of ranks.
#[test]
fn means_of_spread_rows_are_those_of_all() {
    use fenchel_mrf_learn::ExactMle;
    use fenchel_optim::spread::{Communicator, Shards, share, threads};
    use ndarray::{Axis, Slice};

    // Of no even size, and none at all among them.
    const SHARDS: [usize; 6] = [13, 0, 64, 1, 30, 22];
    for (most, coordinates) in [
        (2, Coordinates::Binary),
        (2, Coordinates::Spins),
        (2, Coordinates::Indicators),
        (4, Coordinates::Indicators),
    ] {
        let x = Array2::from_shape_fn((130, 4), |(r, i)| ((r * (i + 3) + r / 7) % most) as u8);
        let cards = [most; 4];
        let on_ranks = |x: &Array2<u8>, size: usize, other: usize| {
            threads::run(size, |ranks| {
                let own = &SHARDS[share(SHARDS.len(), ranks.rank(), size)];
                let shards = Shards::new(ranks, own)?;
                let rows = Slice::from(shards.before()..shards.before() + shards.rows());
                let cards = if ranks.rank() == other { [4; 4] } else { cards };
                let own = x.slice_axis(Axis(0), rows);
                Data::spread_means(own, &cards, coordinates, &shards)
            })
        };
        let first = on_ranks(&x, 1, 9).unwrap().remove(0);
        for size in [2, 3, 4, 8] {
            assert!(on_ranks(&x, size, 9).unwrap().iter().all(|means| *means == first));
        }
        let whole = Data::with_cards(x.view(), &cards).unwrap().means(coordinates).unwrap();
        assert_eq!(first.len(), whole.len());
        // Sums of 130 shares in one case, a quotient of counts in the other.
        assert!(first.iter().zip(&whole).all(|(a, b)| (a - b).abs() <= 1e-14), "{coordinates:?}");
        if coordinates != Coordinates::Indicators {
            let fit = ExactMle { coordinates, ..ExactMle::default() };
            assert!(fit.fit_means(&first).is_ok());
        }
        if (most, coordinates) == (2, Coordinates::Indicators) {
            let (_, error) = on_ranks(&x, 3, 1).unwrap_err();
            let named = error.to_string();
            assert!(named.starts_with("coordinates and variables: rank 1 has "), "{named}");
            let mut odd = x.clone();
            odd[[100, 3]] = 2;
            let (rank, error) = on_ranks(&odd, 3, 9).unwrap_err();
            assert!(rank > 0 && error.to_string().contains("row 100, column 3 is 2"), "{error}");
        }
    }
}
