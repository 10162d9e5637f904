//! This program predicts contacts between the positions of a protein family, and draws them next to the contacts of the known structure.
//!
//! `FENCHEL_DATA=DIR cargo run --release -p fenchel-examples --example protein_contacts [dhfr|s1a] [map.svg]`

use std::ops::ControlFlow;
use std::time::Instant;

use fenchel_datasets::Folder;
use fenchel_mrf_learn::potts::contacts::{Structure, precision};
use fenchel_mrf_learn::potts::{Alignment, Alphabet, Gaps, PottsPseudoLikelihood};
use fenchel_mrf_learn::{Fit, contact_map};
use fenchel_optim::Progress;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    fenchel_examples::end_on_closed_pipe();
    let family = std::env::args().nth(1).unwrap_or_else(|| "dhfr".to_owned());
    let Some(root) = std::env::var_os("FENCHEL_DATA") else {
        println!("set FENCHEL_DATA to a folder with contacts/{family}.aln.gz");
        return Ok(());
    };
    let Some((sequences, table)) = Folder::new(root).contacts(&family)? else {
        println!("no family {family} in the data folder");
        return Ok(());
    };
    let clock = Instant::now();
    let alignment = Alignment::new(sequences.letters.view(), Alphabet::protein(), Gaps::State)?
        .identity_weights(0.8)?;
    println!(
        "{} sequences, {:.0} effective, {} columns ({:.2} s for the weights)",
        alignment.sequences(),
        alignment.effective(),
        alignment.columns(),
        clock.elapsed().as_secs_f64()
    );
    let method = PottsPseudoLikelihood::default();
    println!("memory: at most {:.0} MB", method.memory(&alignment) as f64 / 1e6);
    let clock = Instant::now();
    let mut watch = |progress: &Progress| {
        let seconds = clock.elapsed().as_secs_f64();
        println!("{seconds:7.2} s  pass {:3}  {}", progress.passes, progress.certificate);
        ControlFlow::Continue(())
    };
    let model = method.fit_with(&alignment, Fit::new().watch(&mut watch))?;
    if let Some(report) = model.report {
        println!("{report}");
    }
    let scores = model.contact_scores();
    let structure = Structure::new(table.distances.view(), &table.residues);
    for top in [alignment.columns() / 2, alignment.columns()] {
        println!(
            "precision of the top {top} pairs: {:.3}",
            precision(scores.view(), &structure, top)?
        );
    }
    if let Some(path) = std::env::args().nth(2) {
        let map = contact_map(scores.view(), &structure, alignment.columns())?;
        std::fs::write(&path, map.svg())?;
        println!("map: {path}");
    }
    Ok(())
}
