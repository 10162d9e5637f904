//! In which order do measurements enter a model as its penalty falls?
//!
//! This program computes a regularisation path. It draws as text which coefficients become nonzero as the l1 penalty decreases.
//!
//! ```text
//! cargo run --release -p fenchel-examples --example regularisation_path
//! ```

use std::error::Error;
use std::process::ExitCode;

use fenchel_datasets::embedded::{self, WINE_FEATURES};
use fenchel_examples::Show;
use fenchel_finite_sum::Standardiser;
use fenchel_finite_sum::path::{Grid, PathSettings, elastic_net_path};
use fenchel_linalg::text::{aligned, fixed, number, short};
use fenchel_linalg::{Named, Names};

fn main() -> ExitCode {
    Show::run(example)
}

fn example(show: &Show) -> Result<(), Box<dyn Error>> {
    show.real("the alcohol content of 178 wines and twelve chemical measurements (UCI)");
    let data = embedded::wine_alcohol();
    let names = &WINE_FEATURES[1..];
    let x = Standardiser::fit(&data.x)?.transform(&data.x)?;

    let grid = Grid::Log { count: 61, smallest: 1e-3 };
    let settings = PathSettings { grid, ..PathSettings::default() };
    let x = Named { x, names: Names::new(names.iter().copied()) };
    let path = elastic_net_path(&x, &data.y, &settings)?;
    let mut figure = path.figure();
    figure.title = format!("Alcohol of wines. {}", figure.title);
    figure.note = format!("178 wines, the lasso on standardised measurements. {}", figure.note);
    show.picture("path", &figure.svg())?;

    let head = ["penalty", "features", "certified gap", "passes", "not looked at"];
    let mut table = vec![head.map(String::from).to_vec()];
    for at in path.points.iter().step_by(10) {
        table.push(vec![
            number(at.penalty, 3),
            at.support.len().to_string(),
            number(at.report.certificate.value(), 2),
            short(at.report.passes),
            fixed(100.0 * at.screened, 0) + "%",
        ]);
    }
    print!("{}", aligned(&table, 0));
    let passes: f64 = path.points.iter().map(|at| at.report.passes).sum();
    println!("the whole path: {passes:.0} passes over the data\n");

    // One line a feature, one column a penalty, the largest first; in the order of entry.
    let weights = path.coefficients()?.to_dense();
    let largest = weights.iter().fold(0.0, |m: f64, w| m.max(w.abs()));
    let entry = |c: usize| weights.column(c).iter().position(|w| *w != 0.0).unwrap_or(usize::MAX);
    let mut order: Vec<usize> = (0..path.features).collect();
    order.sort_by_key(|&c| entry(c));
    println!(
        "{:>28}  weight along the path (+ # positive, - = negative, large from a third of the largest)",
        ""
    );
    for &c in &order {
        let mark = |w: &f64| match (*w, w.abs() > largest / 3.0) {
            (0.0, _) => ' ',
            (w, false) => {
                if w > 0.0 {
                    '+'
                } else {
                    '-'
                }
            }
            (w, true) => {
                if w > 0.0 {
                    '#'
                } else {
                    '='
                }
            }
        };
        let line: String = weights.column(c).iter().map(mark).collect();
        println!("{:>28}  {line}", names[c]);
    }
    let [first, second, third] = [0, 1, 2].map(|k| names[order[k]]);
    show.conclude(format_args!(
        "{first} enters first, then {second} and {third}; the {} fits of the path took {passes:.0} passes over the data in all.",
        path.points.len()
    ));
    Ok(())
}
