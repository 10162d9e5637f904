//! Which films will somebody like who rated two?
//!
//! The model is a Gaussian field over the films, which is learned from the ratings of others. A film is recommended by a lower bound of
//! its predicted rating, which few raters make low, and not at all if nothing joins it to the rated films.
//!
//! ```text
//! cargo run --release -p fenchel-examples --example film_recommendations [-- FOLDER]
//! ```
//!
//! `FOLDER` is the folder of MovieLens 100K, with `u1.base`, `u1.test` and `u.item`; or `FENCHEL_DATA` has it. Without it the program
//! generates ratings of users with two different tastes.

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

use fenchel::plot::{Axis, Colour, Figure, Series};
use fenchel_examples::{Show, of_file};
use fenchel_ggm::{ItemField, Ratings};
use fenchel_linalg::text::{aligned, fixed};
use fenchel_optim::random::stream;
use rand::RngExt;

fn main() -> ExitCode {
    Show::run(example)
}

fn example(show: &Show) -> Result<(), Box<dyn Error>> {
    let folder = match show.arguments().first() {
        Some(folder) => Some(folder.into()),
        None => show.real_data().map(|folder| folder.root().join("movielens-100k")),
    };
    let (train, test, titles) = match folder.filter(|folder| folder.is_dir()) {
        Some(folder) => {
            show.real("MovieLens 100K, the first of its five parts into training and test");
            films(&folder)?
        }
        None => {
            show.generated("40 films, and users who like the even or the odd ones");
            tastes()?
        }
    };
    let model = ItemField::default().fit(&train)?;
    let error = model.mean_absolute_error(&train, &test)?;
    println!(
        "{} ratings, mean absolute error {error:.4} on {} others",
        train.count(),
        test.count()
    );
    println!("training: {}\n", model.report);

    let known = [(0, 5.0), (1, 2.0)];
    for (item, rating) in known {
        println!("rated {rating}: {}", titles[item as usize]);
    }
    let top = model.top(&known, 10)?;
    let mut table =
        vec![["recommended", "rating", "at least", "raters"].map(String::from).to_vec()];
    table.extend(top.iter().map(|of| {
        let title = titles[of.item as usize].clone();
        vec![title, fixed(of.prediction, 2), fixed(of.lower, 2), of.raters.to_string()]
    }));
    println!("\n{}", aligned(&table, 1));
    let names = Axis::of_names("", top.iter().map(|of| titles[of.item as usize].as_str()));
    let intervals = top.iter().map(|of| (of.lower, 2.0 * of.prediction - of.lower)).collect();
    let rows = Series::rows("", top.iter().map(|of| of.prediction), intervals);
    let x = Axis::linear("predicted rating, one standard error on either side");
    let rated = known.map(|(item, rating)| format!("{} {rating}", titles[item as usize]));
    let figure = Figure::new(format!("Films to recommend to a user who gave {}", rated.join(" and ")), x, names)
        .note(format!(
            "A Gaussian field of the films, learned from {} ratings; sorted by the lower ends of the lines. A line is the standard error of a film's mean, which falls with its raters.",
            train.count()
        ))
        .with(rows.colour(Colour::Blue));
    show.picture("recommended", &figure.svg())?;
    let mut table = vec![vec![format!("nearest to {}", titles[0]), "weight".to_owned()]];
    let mut near = model.neighbours[0].clone();
    near.sort_by(|a, b| b.1.total_cmp(&a.1));
    let rows = near.into_iter().take(8);
    table.extend(rows.map(|(item, w)| vec![titles[item as usize].clone(), fixed(w, 3)]));
    print!("{}", aligned(&table, 1));
    let first = top.first().ok_or("no film is joined to the rated ones")?;
    show.conclude(format_args!(
        "predictions are off by {error:.2} on average; first comes {}, {:.2} or, with one standard error less, {:.2}.",
        titles[first.item as usize], first.prediction, first.lower
    ));
    Ok(())
}

type Data = (Ratings, Ratings, Vec<String>);

fn films(folder: &Path) -> Result<Data, Box<dyn Error>> {
    let read = |name: &str| -> Result<Ratings, Box<dyn Error>> {
        let mut list = Vec::new();
        let path = folder.join(name);
        for line in std::fs::read_to_string(&path).map_err(of_file(&path))?.lines() {
            let fields: Vec<&str> = line.split('\t').collect();
            let [user, item, rating, ..] = fields.as_slice() else {
                return Err(format!("{name}: fewer than three columns").into());
            };
            let (user, item): (u32, u32) = (user.parse()?, item.parse()?);
            list.push((user.saturating_sub(1), item.saturating_sub(1), rating.parse()?));
        }
        Ok(Ratings::new(943, 1682, list)?)
    };
    // The titles are in Latin-1.
    let path = folder.join("u.item");
    let bytes = std::fs::read(&path).map_err(of_file(&path))?;
    let text: String = bytes.iter().map(|&b| char::from(b)).collect();
    let titles = text.lines().filter_map(|l| l.split('|').nth(1)).map(String::from).collect();
    Ok((read("u1.base")?, read("u1.test")?, titles))
}

fn tastes() -> Result<Data, Box<dyn Error>> {
    let mut rng = stream(1, 0);
    let (mut train, mut test) = (Vec::new(), Vec::new());
    for user in 0..200 {
        let taste: f64 = 3.0 * rng.random::<f64>() - 1.5;
        for item in 0..40 {
            let sign = if item % 2 == 0 { 1.0 } else { -1.0 };
            let rating = (3.0 + sign * taste + 2.0 * rng.random::<f64>() - 1.0).round();
            let list = if rng.random_range(0..5) == 0 { &mut test } else { &mut train };
            list.push((user, item, rating.clamp(1.0, 5.0)));
        }
    }
    let titles = (0..40).map(|i| format!("film {i}")).collect();
    Ok((Ratings::new(200, 40, train)?, Ratings::new(200, 40, test)?, titles))
}
