//! This program draws the figures of the guide's chapters, from the same data. They use the colour of the text, so that they can be
//! read on a light and on a dark page.
//!
//! ```text
//! cargo run --release -p fenchel --features full --example guide_figures -- crates/fenchel/figures
//! ```

use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;

use fenchel::causal::{Admg, ProbabilityTable, identify};
use fenchel::crf::{CorpusBuilder, Crf, Instance};
use fenchel::datasets::embedded::{self, WINE_FEATURES};
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
use fenchel::prelude::*;

type Result<T> = std::result::Result<T, Box<dyn Error>>;
type Draw = fn() -> Result<String>;

const BLUE: &str = "#2f81c1";
const ORANGE: &str = "#d9682a";
const GREY: &str = "#8a8a8a";

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

/// Shapes in a box of a width and a height, with the title below. There is no empty line, so that the whole is one block of HTML in
/// Markdown.
fn svg(width: f64, height: f64, title: &str, shapes: &str) -> String {
    let (all, baseline, middle) = (height + 30.0, height + 20.0, width / 2.0);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {all}\" width=\"{width}\" style=\"max-width:100%\" role=\"img\" \
         font-family=\"sans-serif\" font-size=\"13\" fill=\"currentColor\">\n<title>{title}</title>\n{shapes}\
         <text x=\"{middle}\" y=\"{baseline}\" text-anchor=\"middle\" font-weight=\"bold\">{title}</text>\n</svg>\n"
    )
}

fn text(to: &mut String, (x, y): (f64, f64), anchor: &str, words: &str) {
    // Writing to a string cannot fail.
    _ = writeln!(to, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{words}</text>");
}

fn line(to: &mut String, a: (f64, f64), b: (f64, f64), colour: &str, width: f64) {
    let ((x1, y1), (x2, y2)) = (a, b);
    _ = writeln!(
        to,
        "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{colour}\" stroke-width=\"{width:.1}\"/>"
    );
}

fn dot(to: &mut String, (x, y): (f64, f64), radius: f64, colour: &str) {
    _ = writeln!(to, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\" fill=\"{colour}\"/>");
}

fn rectangle(to: &mut String, (x, y): (f64, f64), (width, height): (f64, f64), colour: &str) {
    _ = writeln!(
        to,
        "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{colour}\"/>"
    );
}

/// Probabilities as bars, from 0 to 1.
fn bars(title: &str, rows: &[(String, f64, &str)]) -> String {
    let mut shapes = String::new();
    for (k, (name, value, colour)) in rows.iter().enumerate() {
        let y = 12.0 + 26.0 * k as f64;
        text(&mut shapes, (250.0, y + 13.0), "end", name);
        rectangle(&mut shapes, (260.0, y), (300.0 * value, 18.0), colour);
        text(&mut shapes, (268.0 + 300.0 * value, y + 13.0), "start", &format!("{value:.3}"));
    }
    svg(640.0, 20.0 + 26.0 * rows.len() as f64, title, &shapes)
}

fn classifier() -> Result<String> {
    let data = embedded::breast_cancer();
    let x = Standardiser::fit(&data.x)?.transform(&data.x)?;
    let grid = Grid::Log { count: 40, smallest: 1e-2 };
    let path = logistic_path(&x, &-data.y, &PathSettings { grid, ..PathSettings::default() })?;
    let weights = path.coefficients()?.to_dense(); // penalties x features
    let largest = weights.iter().fold(0.0, |m: f64, w| m.max(w.abs()));
    let last = (weights.nrows() - 1) as f64;
    let place = |k: usize, w: f64| (40.0 + 560.0 * k as f64 / last, 270.0 - 250.0 * w / largest);
    let mut shapes = String::new();
    line(&mut shapes, place(0, 0.0), place(weights.nrows() - 1, 0.0), GREY, 1.0);
    for column in weights.columns().into_iter().filter(|column| column.iter().any(|w| *w != 0.0)) {
        let colour = if column[column.len() - 1] >= 0.0 { ORANGE } else { BLUE };
        for k in 1..column.len() {
            if column[k - 1] != 0.0 || column[k] != 0.0 {
                line(&mut shapes, place(k - 1, column[k - 1]), place(k, column[k]), colour, 1.5);
            }
        }
    }
    text(&mut shapes, (40.0, 298.0), "start", "largest penalty");
    text(&mut shapes, (600.0, 298.0), "end", "a hundredth of it");
    let title = "Weights along the path: orange features speak for malignant, blue ones against";
    Ok(svg(640.0, 304.0, title, &shapes))
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
    let place = |v: f64| 240.0 + 400.0 * v;
    let mut shapes = String::new();
    line(&mut shapes, (place(0.0), 8.0), (place(0.0), 100.0), GREY, 1.0);
    let named = ["young", "urban", "colour of the car"].into_iter().zip([0.5, 0.3, 0.0]);
    for (k, (c, (name, truth))) in model.summary().coefficients[1..].iter().zip(named).enumerate() {
        let (y, half) = (24.0 + 30.0 * k as f64, 1.96 * c.standard_error);
        text(&mut shapes, (130.0, y + 4.0), "end", name);
        let ends = (place(c.estimate - half), place(c.estimate + half));
        line(&mut shapes, (ends.0, y), (ends.1, y), BLUE, 3.0);
        dot(&mut shapes, (place(c.estimate), y), 5.0, BLUE);
        dot(&mut shapes, (place(truth), y), 3.0, ORANGE);
    }
    text(&mut shapes, (place(0.0), 116.0), "middle", "0");
    text(&mut shapes, (place(0.5), 116.0), "middle", "0.5");
    let title =
        "Effects on the logarithm of the rate, 95 % intervals (blue), and the truth (orange)";
    Ok(svg(640.0, 124.0, title, &shapes))
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
    let mut rows = Vec::new();
    for (order, colour) in
        [("fly from Vienna to Rome on Sunday", BLUE), ("Vienna Madrid Friday", ORANGE)]
    {
        let instance = read(order);
        let (labels, marginals) = (model.tag(&instance)?, model.tagger().marginals(&instance)?);
        for ((word, label), p) in order.split(' ').zip(labels).zip(marginals.outer_iter()) {
            rows.push((format!("{word}: {label}"), p.fold(0.0, |m: f64, v| m.max(*v)), colour));
        }
    }
    Ok(bars("How sure the model is of each word: an order (blue) and a note (orange)", &rows))
}

fn network() -> Result<String> {
    let clinic = networks::asia();
    let cancer = |seen: &[(&str, &str)]| -> Result<f64> {
        Ok(clinic.query(&["lung"], seen)?.probability(&["yes"])?)
    };
    let (smoke, dysp) = (("smoke", "yes"), ("dysp", "yes"));
    let rows = [
        ("anybody", cancer(&[])?, GREY),
        ("a smoker", cancer(&[smoke])?, GREY),
        ("and short of breath", cancer(&[smoke, dysp])?, BLUE),
        ("and a shadow on the X-ray", cancer(&[smoke, dysp, ("xray", "yes")])?, ORANGE),
        ("and no shadow", cancer(&[smoke, dysp, ("xray", "no")])?, ORANGE),
    ];
    let rows = rows.map(|(name, value, colour)| (name.to_owned(), value, colour));
    Ok(bars("The probability of lung cancer, given what was seen", &rows))
}

fn hang_together() -> Result<String> {
    let statistics = Statistics::from_data(&embedded::wine().x)?;
    let path = GraphicalLasso::default().fit_path(&statistics, &grid(0.9, 0.02, 30)?)?;
    let model = path.ebic_model(0.5)?;
    let place = |i: usize, radius: f64| {
        let angle = std::f64::consts::TAU * i as f64 / 13.0;
        (320.0 + radius * angle.cos(), 200.0 + radius * angle.sin())
    };
    let mut shapes = String::new();
    for (i, j, partial) in model.edges() {
        let colour = if partial > 0.0 { BLUE } else { ORANGE };
        line(&mut shapes, place(i, 150.0), place(j, 150.0), colour, 12.0 * partial.abs());
    }
    for (i, name) in WINE_FEATURES.iter().enumerate() {
        dot(&mut shapes, place(i, 150.0), 5.0, GREY);
        let (x, y) = place(i, 165.0);
        let anchor = if (x - 320.0).abs() < 30.0 {
            "middle"
        } else if x > 320.0 {
            "start"
        } else {
            "end"
        };
        text(&mut shapes, (x, y + 4.0), anchor, name);
    }
    let title = "Partial correlations of the measurements of wine: blue positive, orange negative";
    Ok(svg(660.0, 400.0, title, &shapes))
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
    let largest = scores.iter().fold(0.0, |m: f64, s| m.max(*s));
    let mut shapes = String::new();
    for ((i, j), score) in scores.indexed_iter().filter(|((i, j), s)| i != j && **s > 0.0) {
        let colour = if i + j == columns - 1 { BLUE } else { ORANGE };
        let size = 12.0 * (score / largest).sqrt();
        let corner = (180.0 + 12.0 * j as f64 - size / 2.0, 20.0 + 12.0 * i as f64 - size / 2.0);
        rectangle(&mut shapes, corner, (size, size), colour);
    }
    let title =
        "Scores of pairs of positions, as areas: contacts of the hairpin blue, others orange";
    Ok(svg(640.0, 312.0, title, &shapes))
}

fn causal_effect() -> Result<String> {
    let counts = [[[6, 81], [36, 234]], [[71, 192], [25, 55]]];
    let cells: Vec<f64> =
        counts.iter().flatten().flatten().map(|&n| f64::from(n) / 700.0).collect();
    let joint = ProbabilityTable::joint(&[2, 2, 2], &cells)?;
    let graph = Admg::parse("stone -> treatment -> success; stone -> success")?;
    let mut rows = Vec::new();
    for (what, query, colour) in [
        ("seen", "P(success | treatment)", GREY),
        ("if everybody had it", "P(success | do(treatment))", BLUE),
    ] {
        let table = identify(&graph, graph.query(query)?)?.evaluate(&joint)?;
        for (k, name) in ["A", "B"].into_iter().enumerate() {
            rows.push((format!("treatment {name}, {what}"), table.at(&[(1, k), (2, 1)])?, colour));
        }
    }
    Ok(bars("The share of successes", &rows))
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
    let reach = |v: &[f64]| v.iter().fold(0.0, |m: f64, a| m.max(a.abs()));
    let (wide, high) = (reach(&first), reach(&second));
    let mut shapes = String::new();
    for ((a, b), y) in first.iter().zip(&second).zip(&y) {
        let colour = match y {
            y if *y < order[133] => BLUE,
            y if *y < order[267] => GREY,
            _ => ORANGE,
        };
        dot(&mut shapes, (320.0 + 280.0 * a / wide, 150.0 - 135.0 * b / high), 3.0, colour);
    }
    let title = "Rows by their two indices: small responses blue, large ones orange";
    Ok(svg(640.0, 300.0, title, &shapes))
}
