//! Draws a picture of every kind into a folder: `cargo run -p fenchel-plot --example pictures -- DIR`.

use std::path::Path;

use fenchel_plot::{
    Axis, Bar, Colour, Edge, Figure, HeatMap, Kind, Named, Network, Placement, Series, Span, Style,
    Text,
};

/// Numbers that look like noise: the same at every run.
fn noise(k: usize) -> f64 {
    ((k as f64 * 12.9898).sin() * 43_758.545_3).fract()
}

fn curves() -> String {
    let rate = |name: &str, rate: f64| {
        let points = (0..=20).map(|k| (f64::from(k), (-rate * f64::from(k)).exp()));
        Series::line_points(name, points.collect())
    };
    let band = |s: Series| {
        let band = s.points.iter().map(|p| (p.1 * 0.4, p.1 * 2.5)).collect();
        s.band(band)
    };
    Figure::new(
        "Gap against passes",
        Axis::linear("passes over the data"),
        Axis::log("duality gap"),
    )
    .with(band(rate("SDCA", 0.9)))
    .with(rate("SAGA", 0.6))
    .with(rate("SAGA, step 0.1", 0.35))
    .with(rate("SVRG", 0.5))
    .with(rate("L-BFGS", 0.2))
    .svg()
}

fn path() -> String {
    let mut figure = Figure::new(
        "Weights along the path",
        Axis::log("penalty").falling(),
        Axis::linear("weight"),
    );
    for c in 0..30_usize {
        let top = 3.0 * noise(c);
        let points = (0..40).map(|k| {
            let penalty = 10_f64.powf(-3.0 * k as f64 / 39.0);
            (penalty, top * (1.0 - penalty * (1.0 + c as f64)).max(0.0))
        });
        let series = Series::line(
            if c < 8 { format!("feature {c}") } else { String::new() },
            points.collect(),
        );
        figure = figure.with(if c < 8 { series } else { series.colour(Colour::Rule) });
    }
    figure.svg()
}

fn validation() -> String {
    let points: Vec<(f64, f64)> = (0..25)
        .map(|k| 10_f64.powf(-4.0 * f64::from(k) / 24.0))
        .map(|p| (p, 0.3 + 0.04 * (p.log10() + 2.4).powi(2)))
        .collect();
    let band = points.iter().map(|p| (p.1 - 0.02, p.1 + 0.02)).collect();
    Figure::new(
        "Cross-validation: mean and one standard error",
        Axis::log("penalty").falling(),
        Axis::linear("log loss of held-out rows (nats)"),
    )
    .with(Series::line_points("", points).band(band))
    .mark(0.004, "best")
    .mark(0.02, "one standard error")
    .warning(Some(
        "the best penalty is the smallest of the grid: a smaller one may be better".into(),
    ))
    .svg()
}

fn forest() -> String {
    let names = [
        "age of the driver",
        "bonus",
        "density of the region",
        "a name that is much too long to stand beside a row of a figure",
        "fuel",
    ];
    let values = [0.42, -0.31, 0.08, 0.9, 0.01];
    let intervals = values
        .iter()
        .enumerate()
        .map(|(k, v)| (v - 0.1 - 0.05 * k as f64, v + 0.1 + 0.05 * k as f64))
        .collect();
    Figure::new(
        "Coefficients: Poisson",
        Axis::linear("coefficient (log link), 95 % interval"),
        Axis::of_names("", names),
    )
    .with(Series::rows("", values, intervals).colour(Colour::Blue))
    .mark(0.0, "")
    .svg()
}

fn love() -> String {
    let names = (0..9).map(|k| format!("column {k}"));
    Figure::new(
        "Balance of the arms",
        Axis::linear("difference of means, in standard deviations"),
        Axis::of_names("", names),
    )
    .with(Series::rows("unadjusted", (0..9).map(|k| 0.4 - 0.04 * f64::from(k)), vec![]))
    .with(Series::rows("adjusted", (0..9).map(|k| 0.03 + 0.005 * f64::from(k)), vec![]))
    .mark(0.1, "0.1, a common limit")
    .svg()
}

fn bars() -> String {
    Figure::new(
        "The share of successes",
        Axis::of_names("", ["small stones", "large stones", "all patients together"]),
        Axis::linear("share").limits(0.0, 1.0),
    )
    .with(Series::bars("treatment A", [0.93, 0.73, 0.78]))
    .with(Series::bars("treatment B", [0.87, 0.69, 0.83]))
    .svg()
}

fn lying() -> String {
    let rows = [0.055, 0.1, 0.23, 0.88, -0.2];
    let series = Series {
        points: rows.iter().enumerate().map(|(k, v)| (*v, k as f64)).collect(),
        ..Series::bars("", [])
    };
    Figure::new(
        "Lung cancer, given what was seen",
        Axis::linear("probability"),
        Axis::of_names(
            "",
            ["anybody", "a smoker", "and short of breath", "and a shadow on the X-ray", "less"],
        ),
    )
    .with(series)
    .svg()
}

fn histogram() -> String {
    let arm = |shift: f64| {
        (0..500).map(|k| 0.5 + shift + 0.35 * noise(k) * noise(k + 999)).collect::<Vec<_>>()
    };
    Figure::histogram(
        "Overlap of the arms",
        Axis::linear("propensity").limits(0.0, 1.0),
        [("treated", arm(0.1)), ("untreated", arm(-0.1))],
    )
    .svg()
}

fn scatter() -> String {
    let x = |k: usize| 3.0 * noise(k);
    let points = (0..300).map(|k| (x(k), x(k).sin() + 0.3 * noise(k + 77)));
    let curve = (0..=60).map(|k| -3.0 + 0.1 * f64::from(k)).map(|x| (x, x.sin()));
    Figure::new(
        "Response and index",
        Axis::linear("first index, in standard deviations"),
        Axis::linear("response"),
    )
    .with(Series::points("responses", points.collect()))
    .with(Series::line("fitted", curve.collect()))
    .svg()
}

fn contacts() -> String {
    let n = 120;
    let names = || (0..n).map(|k| (k + 14).to_string());
    let cells = |name: &str, cells: Vec<(f64, f64)>, colour| {
        Series { style: Style::Cells, ..Series::points(name, cells) }.colour(colour)
    };
    let near = (0..n)
        .flat_map(|i| [(119.0 - i as f64, i as f64), (i as f64 + 7.0, i as f64)])
        .filter(|c| c.0 > c.1 && c.0 < 120.0);
    let below = (0..50).map(|k| (k as f64, 119.0 - k as f64));
    let wrong = (0..12).map(|k| (k as f64 * 5.0, 60.0 + k as f64 * 4.0));
    let figure = Figure::new(
        "Contact map",
        Axis::of_names("residue", names()),
        Axis::of_names("residue", names()),
    )
    .with(cells("above: contacts of the structure, below 8 angstrom", near.collect(), Colour::Soft))
    .with(cells("below: 50 of the top 62 pairs, in contact", below.collect(), Colour::Blue))
    .with(cells("below: 12 of them, not in contact", wrong.collect(), Colour::Vermilion));
    Figure { square: true, ..figure }.svg()
}

fn contours() -> String {
    let grid: Vec<f64> = (-40..=40).map(|i| 0.1 * f64::from(i)).collect();
    let hill = |x: f64, y: f64| {
        (-(x * x + 0.5 * y * y) / 4.0).exp()
            + 0.6 * (-((x - 2.0).powi(2) + (y - 2.0).powi(2))).exp()
    };
    Figure::new("Contours of a density", Axis::linear("x"), Axis::linear("y"))
        .with_contours("p", &[0.1, 0.2, 0.4, 0.6, 0.8], (&grid, &grid), hill)
        .svg()
}

fn logs() -> String {
    let points =
        [3500.0, 4000.0, 9000.0, 20_000.0, 40_000.0].map(|n: f64| (n, 1.0 / n.sqrt())).to_vec();
    Figure::new("Labels of a log axis", Axis::log("rows"), Axis::log("error"))
        .with(Series::line_points("MLE", points))
        .svg()
}

fn names(p: usize) -> Vec<String> {
    ["PKC", "Raf", "Mek", "Erk", "Akt", "PKA", "P38", "Jnk", "Plcg", "PIP2", "PIP3"]
        .iter()
        .cycle()
        .take(p)
        .enumerate()
        .map(|(k, n)| if k < 11 { (*n).to_owned() } else { format!("{n}-{k}") })
        .collect()
}

fn heat(p: usize) -> String {
    let value = |i: usize, j: usize| {
        if i == j {
            0.0
        } else {
            (noise(i.min(j) * 31 + i.max(j)) * if i % 3 == j % 3 { 0.8 } else { 0.2 } * 100.0)
                .round()
                / 100.0
        }
    };
    let values = (0..p * p).map(|k| value(k / p, k % p)).collect();
    HeatMap::of_pairs(
        "Partial correlations, ordered by clusters",
        "partial correlation",
        names(p),
        values,
    )
    .clustered()
    .svg()
}

fn confusion() -> String {
    let labels = ["B-NP", "I-NP", "B-VP", "O"].map(String::from).to_vec();
    let counts = [120, 6, 0, 2, 9, 300, 1, 0, 0, 0, 80, 3, 1, 2, 2, 410];
    let all: Vec<f64> = counts.chunks(4).map(|row| row.iter().sum::<i32>().into()).collect();
    HeatMap {
        title: "Confusion: 97.2 % right".into(),
        unit: "of the true class".into(),
        rows: Named { what: "truth".into(), names: labels.clone() },
        columns: Named { what: "prediction".into(), names: labels },
        values: counts.iter().enumerate().map(|(k, c)| f64::from(*c) / all[k / 4]).collect(),
        texts: counts.iter().map(|c| if *c == 0 { String::new() } else { c.to_string() }).collect(),
        warnings: vec![],
    }
    .svg()
}

fn springs(p: usize) -> String {
    let edges = (0..p).flat_map(|i| (0..i).map(move |j| (i, j))).filter(|&(i, j)| {
        (i % 4 == j % 4 || noise(i * 7 + j) > 0.9) && noise(i * 13 + j * 5) > 0.2
    });
    let network = Network::new("Partial correlations", names(p))
        .weighted("partial correlation", edges.map(|(i, j)| (i, j, noise(i * 3 + j))));
    network.group(Colour::Vermilion, "kinases", (0..p).filter(|v| v % 4 == 0)).svg()
}

fn circle() -> String {
    let network = Network::new("Learned beside true", names(11))
        .weighted("r", [(0, 1, 0.3), (2, 5, -0.6), (4, 9, 0.8), (1, 2, 0.1)]);
    network.beside([(0, 1), (5, 2), (7, 8)]).placed(Placement::Circle).svg()
}

fn asia(bars: bool) -> String {
    let names = ["asia", "tub", "smoke", "lung", "bronc", "either", "xray", "dysp"];
    let arcs = [(0, 1), (2, 3), (2, 4), (1, 5), (3, 5), (5, 6), (5, 7), (4, 7)];
    let mut network = Network::new("asia given smoke = yes, dysp = yes", names)
        .edges(Kind::Arrow, arcs)
        .placed(Placement::Layers);
    if bars {
        for (v, node) in network.nodes.iter_mut().enumerate() {
            let p = 0.5 + 0.5 * noise(v);
            let bar = |name: &str, value: f64, before| Bar {
                name: name.into(),
                value,
                before: Some(before),
            };
            node.bars = vec![bar("yes", p, 0.3), bar("no", 1.0 - p, 0.7)];
        }
        network = network.group(Colour::Amber, "observed", [2, 7]);
    }
    network.svg()
}

fn large() -> String {
    let arcs = (1..37)
        .flat_map(|v| [(v / 2, v), (v / 3, v)])
        .filter(|(a, b)| a != b)
        .collect::<std::collections::BTreeSet<_>>();
    Network::new("A network of 37 variables", (0..37).map(|v| format!("VARIABLE{v}")))
        .edges(Kind::Arrow, arcs)
        .placed(Placement::Layers)
        .svg()
}

fn causal() -> String {
    Network::new(
        "Adjustment for {age, smoking}",
        ["age", "smoking", "treatment", "mediator", "outcome", "hidden sign"],
    )
    .edges(Kind::Arrow, [(0, 2), (0, 4), (1, 2), (1, 4), (2, 3), (3, 4), (5, 4)])
    .edges(Kind::Both, [(2, 4), (0, 1)])
    .placed(Placement::Layers)
    .group(Colour::Vermilion, "treatment", [2])
    .group(Colour::Blue, "outcome", [4])
    .group(Colour::Green, "adjusted for", [0, 1])
    .svg()
}

fn tree() -> String {
    let cliques = [
        "asia\ntub",
        "tub\neither\nlung",
        "either\nbronc\nlung",
        "smoke\nlung\nbronc",
        "either\nbronc\ndysp",
        "either\nxray",
    ];
    let mut network = Network::new("Junction tree", cliques).placed(Placement::Layers);
    for (from, to, name) in [
        (1, 0, "tub"),
        (1, 2, "either\nlung"),
        (2, 3, "lung\nbronc"),
        (2, 4, "either\nbronc"),
        (2, 5, "either"),
    ] {
        network.edges.push(Edge { from, to, name: name.into(), ..Edge::default() });
    }
    network.svg()
}

fn text() -> String {
    let words = "The index of leading indicators rose for the third month in a row , the Commerce Department said Friday .";
    let span = |(k, word): (usize, &str)| match k % 5 {
        0 => Span { text: word.into(), label: "B-NP".into(), colour: Some(Colour::Green) },
        3 => Span {
            text: word.into(),
            label: "B-VP, not I-NP".into(),
            colour: Some(Colour::Vermilion),
        },
        _ => Span { text: word.into(), label: "O".into(), colour: None },
    };
    let line = || words.split(' ').enumerate().map(span).collect();
    let key = vec![(Colour::Green, "right".into()), (Colour::Vermilion, "wrong".into())];
    Text {
        title: "The 2 sentences whose labels are least probable".into(),
        lines: vec![line(), line()],
        key,
    }
    .svg()
}

fn main() -> std::io::Result<()> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| ".".into());
    for (name, svg) in [
        ("curves", curves()),
        ("path", path()),
        ("validation", validation()),
        ("forest", forest()),
        ("love", love()),
        ("bars", bars()),
        ("lying", lying()),
        ("histogram", histogram()),
        ("scatter", scatter()),
        ("contacts", contacts()),
        ("contours", contours()),
        ("logs", logs()),
        ("heat", heat(11)),
        ("heat_large", heat(70)),
        ("confusion", confusion()),
        ("springs", springs(11)),
        ("springs_large", springs(100)),
        ("circle", circle()),
        ("asia", asia(false)),
        ("asia_bars", asia(true)),
        ("large", large()),
        ("causal", causal()),
        ("tree", tree()),
        ("text", text()),
    ] {
        std::fs::write(Path::new(&folder).join(name).with_extension("svg"), svg)?;
    }
    Ok(())
}
