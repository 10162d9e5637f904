//! This program recommends films to a user who rated a few. The model is a Gaussian field over the films. It is learned from ratings in
//! milliseconds.
//!
//! ```text
//! cargo run --release -p fenchel-examples --example film_recommendations -- FOLDER
//! ```
//!
//! `FOLDER` is the folder of MovieLens 100K, with `u1.base`, `u1.test` and `u.item`. Without it the program generates ratings of users
//! with two different tastes.

use std::error::Error;
use std::path::Path;

use fenchel_ggm::{ItemField, Ratings};
use fenchel_optim::random::stream;
use rand::RngExt;

fn main() -> Result<(), Box<dyn Error>> {
    fenchel_examples::end_on_closed_pipe();
    let (train, test, titles) = match std::env::args().nth(1) {
        Some(folder) => films(Path::new(&folder))?,
        None => tastes()?,
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
    for (item, rating) in model.top(&known, 10)? {
        let variance = model.variance(item, &known)?;
        println!("{rating:5.2}  (variance {variance:.3})  {}", titles[item as usize]);
    }
    println!("\nnearest to {}:", titles[0]);
    let mut near = model.neighbours[0].clone();
    near.sort_by(|a, b| b.1.total_cmp(&a.1));
    for (item, weight) in near.into_iter().take(8) {
        println!("{weight:7.3}  {}", titles[item as usize]);
    }
    Ok(())
}

type Data = (Ratings, Ratings, Vec<String>);

fn films(folder: &Path) -> Result<Data, Box<dyn Error>> {
    let read = |name: &str| -> Result<Ratings, Box<dyn Error>> {
        let mut list = Vec::new();
        for line in std::fs::read_to_string(folder.join(name))?.lines() {
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
    let bytes = std::fs::read(folder.join("u.item"))?;
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
