//! This module repeats figure 8.1 of A. Defazio, PhD thesis 2014: how the cost of the algorithm SHORTCUT grows,
//! compared with conditional covariance thresholding.

use fenchel_ggm::shortcut::max_product;
use fenchel_optim::random::stream;
use ndarray::{Array1, Array2};
use rand::RngExt;

use super::thesis;
use crate::race::exponent;
use crate::{Axis, Context, Experiment, Failure, Figure, Outcome, Series, Table};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "gg-33",
    title: "Figure 8.1: the work of SHORTCUT against that of CCT",
    question: "How does the work of SHORTCUT, which scores pairs of variables, grow with the number p of variables?",
    learnt: "About like p^2.5 for independent variables. CCT, which tries all other variables for each pair, grows like p^3. For a pair SHORTCUT looks at a number of products that grows like the root of p.",
    quick: "4,000 variables at most and 40 pairs of each size; a full run of this project has 8,000 and 200",
    run: experiment,
    ..Experiment::of(super::DOCUMENT)
};

/// Correlations of independent noise. A row has unit length and belongs to one variable.
fn noise(p: usize, seed: u64) -> Array2<f64> {
    let mut rng = stream(seed, p as u64);
    let mut x = Array2::zeros((p, p / 4));
    for mut row in x.rows_mut() {
        row.mapv_inplace(|_: f64| (0..6).map(|_| rng.random::<f64>() - 0.5).sum());
        let norm = row.dot(&row).sqrt();
        row.mapv_inplace(|v| v / norm);
    }
    x
}

/// Products that the printed algorithm looks at for the maximum over two lists.
pub(super) fn looked_at(a: &[f64], b: &[f64]) -> Result<usize, Failure> {
    let order = |v: &[f64]| {
        let mut order: Vec<usize> = (0..v.len()).collect();
        order.sort_by(|&s, &t| v[t].total_cmp(&v[s]));
        order
    };
    Ok(max_product(a, &order(a), b, &order(b))?.products)
}

/// Products that the printed algorithm looks at for one pair: two maxima, over the lists that the sign asks for.
fn products(
    i: usize,
    j: usize,
    row_i: &Array1<f64>,
    row_j: &Array1<f64>,
) -> Result<usize, Failure> {
    let sign = row_i[j].signum();
    let others: Vec<usize> = (0..row_i.len()).filter(|&k| k != i && k != j).collect();
    let mut total = 0;
    for side in [1.0, -1.0] {
        let a: Vec<f64> = others.iter().map(|&k| (side * row_i[k]).max(0.0)).collect();
        let b: Vec<f64> = others.iter().map(|&k| (sign * side * row_j[k]).max(0.0)).collect();
        total += looked_at(&a, &b)?;
    }
    Ok(total)
}

fn experiment(context: &Context, outcome: &mut Outcome) -> Result<(), Failure> {
    let sizes: &[usize] =
        context.pick(&[250, 500, 1000, 2000, 4000], &[250, 500, 1000, 2000, 4000, 8000]);
    let pairs = context.pick(40, 200);
    outcome
        .setting("pairs a size", pairs)
        .setting("eta of CCT", 1)
        .setting("samples", "p / 4 of p independent variables; one seed a size");
    outcome.note(
        "The score of a pair i, j is a maximum over third variables m of the product of the correlations of i with m and of j with m. The thesis compares \
         seconds. Here we count the products that each algorithm looks at, on a sample of the pairs, and multiply up to all. CCT is conditional covariance thresholding; eta is \
         the number of variables that it conditions on.",
    );
    let mut curves = [Vec::new(), Vec::new()];
    let columns = ["variables", "products a pair, SHORTCUT", "products a pair, CCT", "ratio"];
    let mut table = Table::new("Products that are looked at", columns);
    let mut factor = 0.0;
    for (at, &p) in sizes.iter().enumerate() {
        context.progress(at as f64 / sizes.len() as f64, "products")?;
        let x = noise(p, context.seed);
        let mut rng = stream(context.seed + 1, p as u64);
        let mut sum = 0;
        for _ in 0..pairs {
            let i = rng.random_range(0..p);
            let j = (i + rng.random_range(1..p)) % p;
            let (row_i, row_j) = (x.dot(&x.row(i)), x.dot(&x.row(j)));
            sum += if context.is_frozen("SHORTCUT") {
                2 * p * p
            } else {
                products(i, j, &row_i, &row_j)?
            };
        }
        let mean = sum as f64 / f64::from(pairs);
        let all = (p * (p - 1) / 2) as f64;
        let naive = (p - 2) as f64;
        curves[0].push((p as f64, mean * all));
        curves[1].push((p as f64, naive * all));
        table.push([p.into(), mean.into(), naive.into(), (naive / mean).into()]);
        if p == 4000 {
            factor = naive / mean;
        }
    }
    let slopes = [exponent(&curves[0]), exponent(&curves[1])];
    let [short, naive] = curves;
    outcome.figure(
        Figure::new(
            "Work against variables (figure 8.1)",
            Axis::log("variables"),
            Axis::log("products, all pairs"),
        )
        .caption("Correlations of independent columns. The slopes are in the first claim.")
        .with(Series::line_points("SHORTCUT", short))
        .with(Series::line_points("CCT, eta = 1", naive)),
    );
    outcome.table(table);
    outcome.claim(
        thesis("8.2", "It [the running time of SHORTCUT] behaves empirically as predicted by the asymptotic bound [p^2.5].")
            .claim("the products of SHORTCUT grow like p^2.5, those of CCT like p^3")
            .rests_on(["SHORTCUT"])
            .document("slope of log products against log p: of SHORTCUT nearer to 2.5 than to 3, of CCT nearer to 3; counted products grow as the time does, on any machine")
            .holds((
                format!("SHORTCUT {:.2}, CCT {:.2}", slopes[0], slopes[1]),
                slopes[0] < 2.75 && slopes[1] > 2.75,
            )),
    );
    outcome.claim(
        thesis("8.2", "The performance advantage [over the naive approach, CCT] is roughly a factor of 4 at 4000 nodes.").claim("at 4,000 variables SHORTCUT is about four times as fast as CCT").reported(
            "products that CCT looks at, over those of SHORTCUT; no verdict, since the sentence is about seconds",
            factor,
        ),
    );
    outcome.claim(
        thesis("8.2", "We have never observed this worst-case complexity [in proportion to p] when the max-product method is applied to correlation matrices")
            .claim("on correlations of independent columns the products that SHORTCUT looks at for a pair grow like the root of p")
            .rests_on(["SHORTCUT"])
            .document("slope of log products of a pair against log p nearer to 1/2, the root, than to 1, the worst case")
            .holds((slopes[0] - 2.0, slopes[0] - 2.0 < 0.75)),
    );
    Ok(())
}
