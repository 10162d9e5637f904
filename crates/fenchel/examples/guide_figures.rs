//! This program draws the figures of the guide's chapters, from the same data.
//!
//! ```text
//! cargo run --release -p fenchel --features full --example guide_figures -- crates/fenchel/figures
//! ```

use std::error::Error;
use std::path::Path;

use fenchel::causal::{Admg, ProbabilityTable, identify};
use fenchel::crf::{CorpusBuilder, Crf, Instance};
use fenchel::datasets::embedded::{self, BREAST_CANCER_FEATURES, WINE_FEATURES};
use fenchel::expfam::families::{Categorical, Poisson};
use fenchel::expfam::glm::{Glm, PoissonLog, Targets};
use fenchel::ggm::path::grid;
use fenchel::ggm::{GraphicalLasso, Statistics};
use fenchel::graphical::networks;
use fenchel::linear::Standardiser;
use fenchel::linear::path::{Grid, PathSettings, logistic_path};
use fenchel::moments::{Components, Sir, synthetic};
use fenchel::mrf::potts::{Alignment, Alphabet, Gaps, PottsPseudoLikelihood};
use fenchel::optim::random::stream;
use fenchel::plot::{Axis, Colour, Figure, HeatMap, Placement, Series};
use fenchel::prelude::*;

type Result<T> = std::result::Result<T, Box<dyn Error>>;
type Draw = fn() -> Result<String>;
/// What the bars are, their colour, and the name and the value of each.
type Group = (&'static str, Colour, Vec<(String, f64)>);

fn main() -> Result<()> {
    let folder = std::env::args().nth(1).ok_or("name a folder for the figures")?;
    let figures: [(&str, Draw); 8] = [
        ("classifier", classifier),
        ("counts", counts),
        ("labelling", labelling),
        ("network", network),
        ("hang_together", hang_together),
        ("contacts", contacts),
        ("causal_effect", causal_effect),
        ("reduce", reduce),
    ];
    for (name, draw) in figures {
        std::fs::write(Path::new(&folder).join(name).with_extension("svg"), draw()?)?;
        println!("{name}");
    }
    Ok(())
}

/// Probabilities as bars with names, in groups of a colour.
fn bars((title, note): (&str, &str), label: &str, groups: &[Group]) -> String {
    let names = groups.iter().flat_map(|group| &group.2).map(|row| row.0.as_str());
    let (x, y) = (Axis::linear(label).limits(0.0, 1.0), Axis::of_names("", names));
    let (mut figure, mut row) = (Figure::new(title, x, y).note(note), 0.0);
    for (name, colour, rows) in groups {
        let mut points = Vec::new();
        for (_, value) in rows {
            points.push((*value, row));
            row += 1.0;
        }
        let series = Series { points, ..Series::bars(*name, []) };
        figure = figure.with(series.colour(*colour));
    }
    figure.svg()
}

fn classifier() -> Result<String> {
    let data = embedded::breast_cancer();
    let x = Standardiser::fit(&data.x)?.transform(&data.x)?;
    let x = Named { x, names: Names::new(BREAST_CANCER_FEATURES) };
    let grid = Grid::Log { count: 40, smallest: 1e-2 };
    let path = logistic_path(&x, &-data.y, &PathSettings { grid, ..PathSettings::default() })?;
    let mut figure = path.figure();
    figure.title = format!("Is a tumour malignant? {}", figure.title);
    figure.note = format!("569 biopsies, logistic regression. {}", figure.note);
    figure.y.label = "weight; above 0 speaks for malignant".into();
    Ok(figure.svg())
}

fn counts() -> Result<String> {
    let mut rng = stream(11, 0);
    let bit = |i: usize, stride: usize| f64::from(u8::from(i / stride % 5 < 2));
    let x = Array2::from_shape_fn((10_000, 3), |(i, c)| bit(i, [1, 5, 25][c]));
    let years = Array1::from_shape_fn(10_000, |i| 0.2 + 2.0 * (i * 37 % 100) as f64 / 100.0);
    let mut claims = Vec::new();
    for (row, t) in x.outer_iter().zip(&years) {
        let rate = t * (-2.0 + 0.5 * row[0] + 0.3 * row[1]).exp();
        claims.push(Poisson.with_rate(rate)?.sample(&mut rng));
    }
    let log_years = years.mapv(f64::ln);
    let model = Glm::new(PoissonLog).fit(&x, Targets::new(&claims).offset(&log_years))?;
    let mut figure = model.summary().figure();
    figure.y.names = ["young", "urban", "colour of the car"].map(String::from).to_vec();
    figure.x.label = "effect on the logarithm of the rate, 95 % interval".into();
    let truth = Series::rows("truth", [0.5, 0.3, 0.0], vec![]);
    figure.series[0].name = "estimate".into();
    figure.title =
        "Effects on the rate of claims: one interval of three just misses the truth".into();
    figure.note = format!("Generated claims. {}", figure.note);
    Ok(figure.with(truth).svg())
}

fn labelling() -> Result<String> {
    let read = |line: &str| {
        let split = |token| str::split_once(token, '/').unwrap_or((token, "O"));
        let tokens: Vec<(&str, &str)> = line.split(' ').map(split).collect();
        let mut instance = Instance::new();
        for (t, (word, label)) in tokens.iter().enumerate() {
            instance.begin_token(label);
            instance.push_pair("word", word);
            instance.push_pair("before", if t > 0 { tokens[t - 1].0 } else { "(start)" });
            instance.push_pair("after", tokens.get(t + 1).map_or("(end)", |next| next.0));
            let capital = word.starts_with(char::is_uppercase);
            instance.push_pair("capital", if capital { "yes" } else { "no" });
        }
        instance
    };
    let cities = ["Paris", "Rome", "Oslo", "Lisbon", "Prague"];
    let days = ["Monday", "Friday", "Sunday"];
    let mut builder = CorpusBuilder::new();
    for (i, a) in cities.iter().enumerate() {
        for (j, b) in cities.iter().enumerate().filter(|(j, _)| *j != i) {
            let day = days[(i + j) % 3];
            builder.push(&read(&match (i + 2 * j) % 3 {
                0 => format!("fly from {a}/FROM to {b}/TO on {day}/DAY"),
                1 => format!("on {day}/DAY we go to {b}/TO"),
                _ => format!("a ticket to {b}/TO from {a}/FROM please"),
            }))?;
        }
    }
    let model = Crf::default().fit(&builder.finish(1)?)?;
    let mut groups = Vec::new();
    for (name, order, colour) in [
        ("an order", "fly from Vienna to Rome on Sunday", Colour::Blue),
        ("a note", "Vienna Madrid Friday", Colour::Vermilion),
    ] {
        let instance = read(order);
        let (labels, marginals) = (model.tag(&instance)?, model.tagger().marginals(&instance)?);
        let words = order.split(' ').zip(labels).zip(marginals.outer_iter());
        let row = |((word, label), p): ((&str, &str), ArrayView1<'_, f64>)| {
            (format!("{word}: {label}"), p.fold(0.0, |m: f64, v| m.max(*v)))
        };
        groups.push((name, colour, words.map(row).collect()));
    }
    let title = "The labels of an order are sure, those of a note without verbs are not";
    let note = "Each word with its most probable label, by a model of 20 generated orders. O: no part of a journey.";
    Ok(bars((title, note), "probability of the label", &groups))
}

fn network() -> Result<String> {
    let clinic = networks::asia();
    let cancer = |seen: &[(&str, &str)]| -> Result<f64> {
        Ok(clinic.query(&["lung"], seen)?.probability(&["yes"])?)
    };
    let (smoke, dysp) = (("smoke", "yes"), ("dysp", "yes"));
    let row = |name: &str, seen: &[(&str, &str)]| -> Result<(String, f64)> {
        Ok((name.to_owned(), cancer(seen)?))
    };
    let groups: [Group; 3] = [
        ("before a visit", Colour::Soft, vec![row("anybody", &[])?, row("a smoker", &[smoke])?]),
        (
            "after the questions",
            Colour::Blue,
            vec![row("a smoker, short of breath", &[smoke, dysp])?],
        ),
        (
            "after the X-ray",
            Colour::Vermilion,
            vec![
                row("the same, a shadow on the X-ray", &[smoke, dysp, ("xray", "yes")])?,
                row("the same, no shadow", &[smoke, dysp, ("xray", "no")])?,
            ],
        ),
    ];
    let title = "Lung cancer: a shadow on the X-ray makes it likely, no shadow rules it out";
    let note = "The network asia: probabilities given what was seen.";
    Ok(bars((title, note), "probability of lung cancer", &groups))
}

fn hang_together() -> Result<String> {
    let statistics = Statistics::from_data(&embedded::wine().x)?;
    let path = GraphicalLasso::default().fit_path(&statistics, &grid(0.9, 0.02, 30)?)?;
    let model = path.ebic_model(0.5)?;
    let network = model.network().named(WINE_FEATURES).placed(Placement::Circle);
    let title = "Measurements of wine: flavanoids go with phenols, colour intensity against hue";
    let note =
        format!("{} wines, graphical lasso, penalty by EBIC. {}", statistics.samples, network.note);
    Ok(fenchel::plot::Network { title: title.into(), note, ..network }.svg())
}

fn contacts() -> Result<String> {
    let (rows, columns, mut rng) = (600, 24, stream(5, 0));
    let walk: Vec<usize> =
        (0..12).flat_map(|i| if i % 2 == 0 { [i, 23 - i] } else { [23 - i, i] }).collect();
    let letter = Categorical::new(4)?.with_probabilities(&[0.25; 4])?;
    let repeats = Categorical::new(2)?.with_probabilities(&[0.4, 0.6])?;
    let mut letters = Array2::from_elem((rows, columns), b'A');
    for mut row in letters.outer_iter_mut() {
        let mut state = letter.sample(&mut rng);
        for &at in &walk {
            if repeats.sample(&mut rng) == 0 {
                state = letter.sample(&mut rng);
            }
            row[at] = b"ARND"[state];
        }
    }
    let alignment = Alignment::new(letters.view(), Alphabet::protein(), Gaps::State)?;
    let model = PottsPseudoLikelihood::default().fit(&alignment.identity_weights(0.8)?)?;
    let scores = model.contact_scores();
    let names: Vec<String> = (1..=columns).map(|i| i.to_string()).collect();
    let values =
        scores.indexed_iter().map(|((i, j), s)| if i == j { 0.0 } else { s.max(0.0) }).collect();
    let title =
        "Columns of an alignment that touch have high scores: the antidiagonal is a hairpin";
    let note = format!(
        "{rows} generated sequences of {columns} columns, a Potts model. Rows and columns: positions."
    );
    Ok(HeatMap::of_pairs(title, "score of a pair", names, values).note(note).svg())
}

fn causal_effect() -> Result<String> {
    let counts = [[[6, 81], [36, 234]], [[71, 192], [25, 55]]];
    let cells: Vec<f64> =
        counts.iter().flatten().flatten().map(|&n| f64::from(n) / 700.0).collect();
    let joint = ProbabilityTable::joint(&[2, 2, 2], &cells)?;
    let graph = Admg::parse("stone -> treatment -> success; stone -> success")?;
    let mut groups = Vec::new();
    for (what, query, colour) in [
        ("seen", "P(success | treatment)", Colour::Soft),
        (
            "if everybody had it (adjusted for the size of the stones)",
            "P(success | do(treatment))",
            Colour::Blue,
        ),
    ] {
        let table = identify(&graph, graph.query(query)?)?.evaluate(&joint)?;
        let mut rows = Vec::new();
        for (k, name) in ["A", "B"].into_iter().enumerate() {
            rows.push((format!("treatment {name}"), table.at(&[(1, k), (2, 1)])?));
        }
        groups.push((what, colour, rows));
    }
    let title = "Treatment B looks better than A; if everybody had the same, A would be";
    let note = "700 patients with kidney stones. Those with small stones had B more often.";
    Ok(bars((title, note), "share of successes", &groups))
}

fn reduce() -> Result<String> {
    let features = synthetic::StandardFeatures(10);
    let problem = synthetic::rational(&features, 800, 0.25, 1)?;
    let sir = Sir { components: Components::Fixed(2), ..Sir::default() };
    let indices = sir.fit(&problem.x, &problem.y)?.transform(&problem.x)?;
    let column = |k: usize| indices.column(k).iter().take(400).copied().collect::<Vec<f64>>();
    let (first, second, y) =
        (column(0), column(1), problem.y.iter().take(400).copied().collect::<Vec<f64>>());
    let mut order = y.clone();
    order.sort_by(f64::total_cmp);
    let thirds =
        [("smallest third of the responses", 0), ("middle third", 133), ("largest third", 267)];
    let (x, axis) = (Axis::linear("first index"), Axis::linear("second index"));
    let mut figure = Figure::new(
        "Two indices of ten features tell small responses from large ones",
        x,
        axis,
    )
    .note("400 of 800 generated rows; the indices are found by sliced inverse regression (SIR).");
    for (k, (name, from)) in thirds.into_iter().enumerate() {
        let end = thirds.get(k + 1).map_or(f64::INFINITY, |next| order[next.1]);
        let rows = first.iter().zip(&second).zip(&y);
        let points =
            rows.filter(|(_, y)| **y >= order[from] && **y < end).map(|((a, b), _)| (*a, *b));
        let colour = [Colour::Blue, Colour::Soft, Colour::Vermilion][k];
        figure = figure.with(Series::points(name, points.collect()).colour(colour));
    }
    Ok(figure.svg())
}
