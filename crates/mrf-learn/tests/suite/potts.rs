use fenchel_mrf_learn::Error;
use fenchel_mrf_learn::potts::contacts::{Structure, precision};
use fenchel_mrf_learn::potts::{Alignment, Alphabet, Gaps, PottsModel, PottsPseudoLikelihood};
use fenchel_optim::Stop;
use fenchel_optim::model::Saved;
use fenchel_optim::random::stream;
use ndarray::{Array2, array};
use rand::RngExt;

/// Column 1 copies column 0 three times out of four, column 3 follows column 2, gaps here and there.
fn letters(n: usize, columns: usize, seed: u64) -> Array2<u8> {
    let mut random = stream(seed, 0);
    let mut out = Array2::from_elem((n, columns), b'-');
    for row in 0..n {
        for i in 0..columns {
            let fresh = b"ACGT-"[random.random_range(0..if i == 0 { 5 } else { 4 })];
            let copy = i % 2 == 1 && random.random::<f64>() < 0.75;
            out[[row, i]] = if copy { out[[row, i - 1]] } else { fresh };
        }
    }
    out
}

fn alignment(gaps: Gaps) -> Alignment {
    Alignment::new(letters(120, 5, 3).view(), Alphabet::nucleotides(), gaps)
        .unwrap()
        .identity_weights(0.8)
        .unwrap()
}

/// The objective, cell by cell from the model's own logits in double precision.
fn objective(model: &PottsModel, data: &Alignment, l2: f64, l2_fields: f64, group: f64) -> f64 {
    let (q, columns) = (model.states(), model.columns());
    let mut loss = 0.0;
    for (codes, &weight) in data.codes().rows().into_iter().zip(data.weights()) {
        let codes = codes.to_vec();
        for i in 0..columns {
            let letter = usize::from(codes[i]);
            if letter >= q {
                continue;
            }
            let logits = model.logits(&codes, i).unwrap();
            let largest = logits.iter().copied().fold(f64::MIN, f64::max);
            let sum: f64 = logits.iter().map(|z| (z - largest).exp()).sum();
            loss += weight * (largest + sum.ln() - logits[letter]);
        }
    }
    let square = |x: &[f32]| x.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>();
    let mut value = loss / data.effective() + 0.5 * l2_fields * square(model.fields());
    for i in 0..columns {
        for j in i + 1..columns {
            let s = square(model.coupling(i, j));
            value += 0.5 * l2 * s + group * s.sqrt();
        }
    }
    value
}

fn method(group: f64) -> PottsPseudoLikelihood {
    PottsPseudoLikelihood {
        l2: Some(0.02),
        l2_fields: Some(0.01),
        group,
        stop: Stop { absolute: 0.0, relative: 2e-6, max_passes: 500.0, ..Stop::default() },
        ..PottsPseudoLikelihood::default()
    }
}

/// The certificate is about the model that is returned; the two methods agree where both apply.
#[test]
fn objectives_and_gaps_are_those_of_the_model() {
    for gaps in [Gaps::State, Gaps::Missing] {
        let data = alignment(gaps);
        assert_eq!(data.states(), if gaps == Gaps::State { 5 } else { 4 });
        let ridge = method(0.0).fit(&data).unwrap();
        let report = ridge.report.unwrap();
        assert!(report.certificate.relative() <= 2e-6, "{report}");
        let value = objective(&ridge, &data, 0.02, 0.01, 0.0);
        let claimed = report.certificate.objective().unwrap();
        assert!((value - claimed).abs() < 1e-6 * value, "{value} {claimed}");
        // Hardly any group penalty: the other method, the same optimum up to both gaps and the penalty itself.
        let grouped = method(1e-9).fit(&data).unwrap();
        let other = objective(&grouped, &data, 0.02, 0.01, 0.0);
        assert!((value - other).abs() < 5e-6 * value, "{value} {other}");
    }
}

#[test]
fn groups_vanish_as_a_whole() {
    let data = alignment(Gaps::Missing);
    let model = method(0.25).fit(&data).unwrap();
    let report = model.report.unwrap();
    assert!(report.certificate.relative() <= 1e-5, "{report}");
    let value = objective(&model, &data, 0.02, 0.01, 0.25);
    assert!((value - report.certificate.objective().unwrap()).abs() < 1e-6 * value);
    let empty = |i, j| model.coupling(i, j).iter().all(|&x| x == 0.0);
    assert!(!empty(0, 1) && !empty(2, 3));
    assert!(empty(0, 4) && empty(1, 4));
    // Far above: nothing is left.
    let none = method(5.0).fit(&data).unwrap();
    assert!((0..5).all(|i| (i + 1..5).all(|j| none.coupling(i, j).iter().all(|&x| x == 0.0))));
}

/// More than eight columns: several groups, tables shared within one; more lanes for more letters.
#[test]
fn many_columns_and_letters_converge_on_any_number_of_threads() {
    let mut random = stream(9, 0);
    let letters =
        Array2::from_shape_fn((60, 19), |_| b"ARNDCQEGHILKMFPSTWYV-"[random.random_range(0..21)]);
    let data = Alignment::new(letters.view(), Alphabet::protein(), Gaps::State).unwrap();
    let fit = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| PottsPseudoLikelihood::default().fit(&data).unwrap())
    };
    let [one, three] = [1, 3].map(|threads| {
        let mut model = fit(threads);
        model.report = model.report.map(|report| report.without_seconds());
        model
    });
    assert!(one == three, "{:?} and {:?}", one.report, three.report);
    assert!(one.report.unwrap().certificate.relative() <= 1e-4);
    // Weak ridges are harder, and still converge.
    let weak = PottsPseudoLikelihood {
        l2: Some(0.01),
        l2_fields: Some(0.001),
        ..PottsPseudoLikelihood::default()
    };
    let report = weak.fit(&data).unwrap().report.unwrap();
    assert!(report.certificate.relative() <= 1e-4, "{report}");
}

#[test]
fn weights_count_similar_sequences() {
    let rows: [&[u8]; 4] = [b"ACGTA", b"ACGTC", b"ACGGG", b"TTTTT"];
    let letters = Array2::from_shape_fn((4, 5), |(n, i)| rows[n][i]);
    let data = Alignment::new(letters.view(), Alphabet::nucleotides(), Gaps::State).unwrap();
    let weighted = data.clone().identity_weights(0.8).unwrap();
    assert_eq!(weighted.weights().to_vec(), [0.5, 0.5, 1.0, 1.0]);
    assert_eq!(weighted.effective(), 3.0);
    assert_eq!(
        data.clone().identity_weights(0.6).unwrap().weights().to_vec(),
        [1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0, 1.0]
    );
    assert!(data.clone().identity_weights(0.0).is_err());
    assert!(data.with_weights(&[1.0, -1.0, 0.0, 0.0]).is_err());
    // Longer than a byte counts.
    let long = Array2::from_elem((3, 1000), b'A');
    let data = Alignment::new(long.view(), Alphabet::nucleotides(), Gaps::State).unwrap();
    assert_eq!(data.identity_weights(1.0).unwrap().weights().to_vec(), [1.0 / 3.0; 3]);
}

/// The gauge changes no probability, and makes every row and column sum to 0.
#[test]
fn the_zero_sum_gauge_is_the_same_distribution() {
    let data = alignment(Gaps::State);
    let model = method(0.0).fit(&data).unwrap();
    let gauged = model.zero_sum();
    let shift = |codes: &[u8]| model.log_score(codes).unwrap() - gauged.log_score(codes).unwrap();
    let first = shift(&[0, 1, 2, 3, 4]);
    for codes in [[4, 4, 4, 4, 4], [0, 0, 0, 0, 0], [3, 1, 0, 2, 1]] {
        assert!((shift(&codes) - first).abs() < 1e-4);
    }
    for a in 0..5 {
        let row: f32 = gauged.coupling(1, 3)[5 * a..5 * a + 5].iter().sum();
        assert!(row.abs() < 1e-5);
    }
    let (norms, scores) = (model.coupling_norms(), model.contact_scores());
    assert!(scores[[0, 1]] > scores[[0, 2]] && scores[[2, 3]] > scores[[1, 4]]);
    let other = gauged.coupling_norms();
    assert!((norms[[0, 1]] - other[[0, 1]]).abs() < 1e-5);
    let effects = model.mutation_effects(&[0, 0, 1, 1, 2]).unwrap();
    assert_eq!(effects[[2, 1]], 0.0);
    let by_score =
        model.log_score(&[0, 0, 3, 1, 2]).unwrap() - model.log_score(&[0, 0, 1, 1, 2]).unwrap();
    assert!((effects[[2, 3]] - by_score).abs() < 1e-5);
}

#[test]
fn draws_follow_the_model() {
    let data = alignment(Gaps::Missing);
    let model = PottsPseudoLikelihood { l2: Some(5e-4), ..method(0.0) }.fit(&data).unwrap();
    let draws = model.sample(2000, 20, 4).unwrap();
    let same = draws.rows().into_iter().filter(|row| row[0] == row[1]).count() as f64 / 2000.0;
    // As the fit sees the data: by weight.
    let share = |test: &dyn Fn(u8, u8) -> bool| -> f64 {
        let rows = data.codes().rows().into_iter().zip(data.weights());
        rows.filter(|(r, _)| test(r[0], r[1])).map(|(_, w)| w).sum()
    };
    let in_data = share(&|a, b| a < 4 && a == b) / share(&|a, b| a < 4 && b < 4);
    assert!(same > 0.4 && (same - in_data).abs() < 0.15, "{same} {in_data}");
    assert_eq!(draws, model.sample(2000, 20, 4).unwrap());
}

#[test]
fn files_come_back_and_damage_is_noticed() {
    let model = method(0.0).fit(&alignment(Gaps::State)).unwrap();
    let mut file = vec![];
    model.save(&mut file).unwrap();
    assert_eq!(PottsModel::load(&file[..]).unwrap(), model);
    let refused = |bytes: &[u8]| PottsModel::load(bytes).unwrap_err().to_string();
    let text = String::from_utf8(file.clone()).unwrap();
    let (head, tail) = text.split_once("\"fields\":[").unwrap();
    assert!(refused(format!("{head}\"fields\":[1,{tail}").as_bytes()).contains("damaged"));
    assert!(refused(&file[..file.len() - 4]).contains("EOF"));
    assert!(refused(b"PK").contains("not a Potts model"));
}

#[test]
fn bad_input_is_named() {
    let data = alignment(Gaps::State);
    let fit = |m: PottsPseudoLikelihood| m.fit(&data).unwrap_err().to_string();
    assert!(fit(PottsPseudoLikelihood { l2: Some(0.0), ..Default::default() }).contains("l2 = 0"));
    assert!(fit(PottsPseudoLikelihood { group: f64::NAN, ..Default::default() }).contains("group"));
    assert!(
        fit(PottsPseudoLikelihood { max_memory: Some(1000), ..Default::default() })
            .contains("max_memory")
    );
    assert!(
        Alignment::new(array![[b'A'], [b'C']].view(), Alphabet::protein(), Gaps::State).is_err()
    );
    assert!(Alphabet::new("AAC", '-').is_err() && Alphabet::new("A", '-').is_err());
    let all_gaps = Array2::from_elem((3, 4), b'-');
    let data = Alignment::new(all_gaps.view(), Alphabet::protein(), Gaps::Missing).unwrap();
    let model = PottsPseudoLikelihood::default().fit(&data).unwrap();
    assert!(model.fields().iter().all(|h| *h == 0.0));
}

/// Four columns; pair (0, 1) too close in the chain, column 3 without a residue.
#[test]
fn precision_by_hand() {
    let distances = array![
        [0.0, 3.0, 7.0, f64::NAN],
        [3.0, 0.0, 9.0, f64::NAN],
        [7.0, 9.0, 0.0, f64::NAN],
        [f64::NAN; 4]
    ];
    let residues = [10, 11, 30, -1];
    let scores = array![
        [0.0, 9.0, 2.0, 8.0],
        [9.0, 0.0, 3.0, 7.0],
        [2.0, 3.0, 0.0, 6.0],
        [8.0, 7.0, 6.0, 0.0]
    ];
    let structure = Structure::new(distances.view(), &residues);
    assert_eq!(precision(scores.view(), &structure, 1).unwrap(), 0.0);
    assert_eq!(precision(scores.view(), &structure, 2).unwrap(), 0.5);
    assert!(precision(scores.view(), &structure, 0).is_err());
    #[cfg(feature = "plot")]
    {
        let map = fenchel_mrf_learn::contact_map(scores.view(), &structure, 2).unwrap();
        assert!(map.series[1].name.contains("1 of the top 2 pairs"));
        assert_eq!(map.x.names, ["10", "11", "30", ""]);
    }
    assert!(
        precision(scores.view(), &Structure::new(distances.view(), &residues[..2]), 1).is_err()
    );
}

/// U is a base in an alphabet of bases and unknown, hence a gap, in one of amino acids; scores that are no numbers are refused.
#[test]
fn letters_and_scores_that_do_not_fit() {
    let codes = Array2::<u8>::from_shape_fn((3, 4), |(n, i)| (n + i) as u8);
    let error = Alignment::new(codes.view(), Alphabet::protein(), Gaps::State);
    assert!(matches!(error, Err(Error::Entry { row: 0, column: 0, .. })));
    let alignment = |alphabet| {
        let letters = Array2::from_shape_fn((6, 4), |(n, i)| b"ACGT"[(n * 3 + i) % 4]);
        Alignment::new(letters.view(), alphabet, Gaps::State).unwrap()
    };
    let model = PottsPseudoLikelihood::default().fit(&alignment(Alphabet::nucleotides())).unwrap();
    assert!(model.score(&alignment(Alphabet::new("ACTG", '-').unwrap())).is_err());
    assert!(alignment(Alphabet::nucleotides()).with_weights(&[1e-50; 6]).is_err());
    assert_eq!(Alphabet::nucleotides().code(b'u'), Alphabet::nucleotides().code(b'T'));
    assert_eq!(usize::from(Alphabet::protein().code(b'U')), Alphabet::protein().len());
    let distances = ndarray::Array2::from_elem((8, 8), 5.0);
    let residues: Vec<i64> = (0..8).collect();
    let structure = Structure::new(distances.view(), &residues);
    let nan = ndarray::Array2::from_elem((8, 8), f64::NAN);
    assert!(precision(nan.view(), &structure, 3).is_err());
    assert!(precision(ndarray::Array2::zeros((8, 7)).view(), &structure, 3).is_err());
    assert!(precision(ndarray::Array2::zeros((8, 8)).view(), &structure, 3).is_ok());
}

#[test]
fn ridges_beyond_single_precision_and_codes_of_no_letter_are_refused() {
    let data = alignment(Gaps::State);
    let base = PottsPseudoLikelihood::default();
    for value in [1e300, 1e-300, 1e-30] {
        let bad = [
            PottsPseudoLikelihood { l2: Some(value), ..base.clone() },
            PottsPseudoLikelihood { l2_fields: Some(value), ..base.clone() },
        ];
        for (method, name) in bad.iter().zip(["l2 = ", "l2_fields = "]) {
            let text = method.fit(&data).unwrap_err().to_string();
            assert!(text.contains(name), "{text}");
        }
    }
    let model = method(0.0).fit(&data).unwrap();
    for codes in [[200; 5], [b'A'; 5]] {
        assert!(model.log_score(&codes).is_err() && model.mutation_effects(&codes).is_err());
    }
    assert!(model.log_score(&[4, 0, 1, 2, 3]).is_ok());
    assert!(matches!(model.sample(usize::MAX, 0, 0), Err(Error::Refused(_))));
    assert!(Alphabet::new("\u{e9}", '-').is_err() && Alphabet::new("AB", '\u{e9}').is_err());
}

/// The objective is a mean: the unit of the weights does not count.
#[test]
fn weights_of_any_unit_give_one_model() {
    let data = alignment(Gaps::State);
    let fit = |unit: f64| {
        let weights = data.weights() * unit;
        let weighted = data.clone().with_weights(weights.as_slice().unwrap()).unwrap();
        method(0.0).fit(&weighted).unwrap()
    };
    // Powers of 2 round nothing.
    let one = fit(1.0);
    for exponent in [-90, 80] {
        let other = fit(2f64.powi(exponent));
        assert_eq!(other.fields(), one.fields());
        assert_eq!(other.coupling(0, 1), one.coupling(0, 1));
    }
}
