//! How does a weaker army lose least?
//!
//! This program solves a Colonel Blotto game: a player distributes six companies over three hills against an enemy with seven. It is a
//! matrix game, and the program computes bounds on its value.
//!
//! ```text
//! cargo run --release -p fenchel-examples --example matrix_game
//! ```

use std::error::Error;
use std::process::ExitCode;

use fenchel::plot::{Axis, Figure, Series};
use fenchel_examples::Show;
use fenchel_optim::{StepSize, Stop};
use fenchel_saddle::methods::MirrorProxSettings;
use fenchel_saddle::{MatrixGame, matrix_game, value_bounds};
use ndarray::Array2;

/// All ways to spread companies over three hills.
fn spreads(companies: i32) -> Vec<[i32; 3]> {
    (0..=companies)
        .flat_map(|a| (0..=companies - a).map(move |b| [a, b, companies - a - b]))
        .collect()
}

fn main() -> ExitCode {
    Show::run(example)
}

fn example(show: &Show) -> Result<(), Box<dyn Error>> {
    show.generated("the rules of the game: who has more companies on a hill wins it");
    let (ours, theirs) = (spreads(6), spreads(7));
    // What the row player pays: hills lost minus hills won.
    let losses = Array2::from_shape_fn((ours.len(), theirs.len()), |(i, j)| {
        (0..3).map(|hill| f64::from((theirs[j][hill] - ours[i][hill]).signum())).sum()
    });
    let game = MatrixGame::new(losses.view())?;
    let stop = Stop { absolute: 1e-3, relative: 0.0, max_passes: 1e5, ..Stop::default() };
    let settings = MirrorProxSettings { step: StepSize::Backtracking, stop };
    let solution = matrix_game(&game, &settings, None, &mut ())?;

    println!("{} against {} spreads: {}", ours.len(), theirs.len(), solution.report);
    let bounds = value_bounds(&game, &solution.state);
    let mut plan: Vec<_> = solution.state.x.iter().zip(&ours).collect();
    plan.sort_by(|a, b| b.0.total_cmp(a.0));
    let likeliest = || plan.iter().take(12);
    let names = likeliest().map(|(_, [a, b, c])| format!("{a} {b} {c}"));
    let x = Axis::linear("probability in the plan (%)");
    let most = bounds.objective().ok_or("no bound on the value")?;
    let title = format!(
        "Six companies against seven on three hills: a plan that loses at most {most:.3} hills on average"
    );
    let figure = Figure::new(title, x, Axis::of_names("", names)).note(format!(
        "The twelve likeliest of {} spreads: how many companies go to each hill. A hill lost counts 1, a hill won -1.",
        ours.len()
    ));
    let bars =
        Series::row_bars("", likeliest().map(|(share, _)| (1000.0 * **share).round() / 10.0));
    show.picture("plan", &figure.with(bars).svg())?;
    println!("the likeliest spreads of our plan:");
    for (share, spread) in plan.into_iter().take(8) {
        println!("  {spread:?}  {share:.3}");
    }
    show.conclude(format_args!(
        "six companies against seven lose at most {most:.4} hills on average, and no plan loses less than {:.4}.",
        most - bounds.value()
    ));
    Ok(())
}
