//! This module repeats figure 8.2 of A. Defazio, PhD thesis 2014: the number of products that the fast algorithm for a
//! maximum of products computes.

use fenchel_optim::random::{Generator, stream};
use rand::RngExt;

use super::shortcut::looked_at;
use super::thesis;
use crate::race::exponent;
use crate::{Axis, Context, Experiment, Failure, Figure, Outcome, Series, Source, Table};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "gg-34",
    title: "Figure 8.2: the search for the largest product of two lists",
    question: "The fast search goes down two sorted lists. How many products a_k b_k does it look at until it knows the largest?",
    learnt: "A number that grows like the root of the length of the lists where their entries are independent, and about a quarter to a third of all on the diamond, an input that is made to be bad.",
    quick: "12,800 entries at most in the place of 51,200, and 60 draws in the place of 200",
    run: experiment,
    ..Experiment::of(super::DOCUMENT)
};

const LINEAR: Source = thesis(
    "8.2",
    "[Uniform distribution over a diamond shape.] Figure 8.2 shows the (worst-case) linear complexity of the fast max-product method on it",
);
const ROOT: Source = thesis(
    "8.1",
    "McAuley & Caetano's method performs the maximisation [of a_k b_k over two lists of length p, here called m] in expected time O(sqrt(p))",
);

/// Uniform on `|x - 1/2| + |y - 1/2| <= 1/2`.
fn diamond(rng: &mut Generator) -> (f64, f64) {
    loop {
        let (x, y): (f64, f64) = (rng.random(), rng.random());
        if (x - 0.5).abs() + (y - 0.5).abs() <= 0.5 {
            return (x, y);
        }
    }
}

/// Independent: only the order of the entries matters.
fn independent(rng: &mut Generator) -> (f64, f64) {
    (rng.random(), rng.random())
}

type Draw = fn(&mut Generator) -> (f64, f64);

fn experiment(context: &Context, outcome: &mut Outcome) -> Result<(), Failure> {
    let top = context.pick(9, 11);
    let repeats = context.pick(60, 200);
    let sizes: Vec<usize> = (1..top).map(|k| 50 << k).collect();
    outcome.setting("draws of each length", repeats).setting("lengths m", format!("{sizes:?}"));
    let mut figure = Figure::new(
        "The search for the largest product (figure 8.2)",
        Axis::log("length m of the two lists"),
        Axis::log("products that are looked at"),
    )
    .caption("Means over the draws. Step s of the fast search looks at two products: those of the s-th largest entries of either list, with their partners. It ends when it arrives, in one list, at an element that it has already seen from the other: all products that are left are smaller. `independent`: both entries of a pair uniform; `diamond`: the pair (a_k, b_k) uniform on a square that stands on its corner.");
    let mut table = Table::new("Mean number of products", ["length m", "independent", "diamond"]);
    let draws: [(&str, Draw); 2] = [("independent", independent), ("diamond", diamond)];
    let mut curves = Vec::new();
    for (which, (name, draw)) in draws.into_iter().enumerate() {
        let mut points = Vec::new();
        for &m in &sizes {
            context.check()?;
            let mut sum = 0;
            for repeat in 0..repeats {
                let mut rng = stream(context.seed + which as u64, repeat * 1_000_003 + m as u64);
                let (a, b): (Vec<f64>, Vec<f64>) = (0..m).map(|_| draw(&mut rng)).unzip();
                sum += looked_at(&a, &b)?;
            }
            points.push((m as f64, sum as f64 / repeats as f64));
        }
        figure = figure.with(Series::line_points(name, points.clone()));
        curves.push(points);
    }
    for (k, &m) in sizes.iter().enumerate() {
        table.push([m.into(), curves[0][k].1.into(), curves[1][k].1.into()]);
    }
    let slopes = [exponent(&curves[0]), exponent(&curves[1])];
    outcome.claim(
        ROOT.claim("independent entries: the products that are looked at grow like the root of the length m")
            .document("slope of log products against log m nearer to 1/2 than to 1 or 0")
            .exact((slopes[0], (0.25..0.75).contains(&slopes[0]))),
    );
    outcome.claim(
        LINEAR
            .claim("pairs uniform on a diamond: the products that are looked at grow in proportion to the length m")
            .document("slope of log products against log m nearer to 1 than to 1/2")
            .exact((slopes[1], slopes[1] > 0.75)),
    );
    outcome.figure(figure).table(table);
    Ok(())
}
