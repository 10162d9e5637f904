//! Who in the US Senate votes with whom, and who stands between the parties?
//!
//! This program learns a network of the members from their votes. It draws the network in the colours of the parties, and prints who
//! has the most ties to the other side. It needs real data, and says so where they are missing.
//!
//! ```text
//! FENCHEL_DATA=DIR cargo run --release -p fenchel-examples --example senate [-- --out DIR]
//! ```

use std::error::Error;
use std::process::ExitCode;

use fenchel::plot::{Colour, Network};
use fenchel_examples::Show;
use fenchel_mrf_learn::{Data, MissingPolicy, Penalty, Spg, Warning};

fn main() -> ExitCode {
    Show::run(example)
}

fn example(show: &Show) -> Result<(), Box<dyn Error>> {
    let calls = show.real_data().map(|folder| folder.senate()).transpose()?.flatten();
    let Some(calls) = calls else {
        println!("set FENCHEL_DATA to a folder with senate/vote_109_2");
        return Ok(());
    };
    show.real("the votes of the second session of the 109th Congress, 2006");
    // A missing vote counts as nay, as in the paper; MissingPolicy::Impute draws it instead.
    let data = Data::binary(calls.votes.view(), MissingPolicy::AsZero)?;
    println!("{} votes of {} senators", data.rows(), data.variables());
    let model = Spg { penalty: Penalty::l1(0.1), ..Spg::default() }.fit(&data)?;
    println!("{}", model.report);
    for warning in &model.warnings {
        if let Warning::Uncertified { iteration } = warning {
            println!("from iteration {iteration} on the gradient's bias is not certified");
        }
    }
    let party = |v: u32| calls.party(v as usize).unwrap_or('?');
    // The independent sits with the Democrats.
    let side = |v: u32| party(v) == 'R';
    let ties = model.positive_edges();
    let within = ties.iter().filter(|tie| side(tie.0) == side(tie.1)).count();
    let share = within as f64 / ties.len().max(1) as f64;
    println!("{} positive ties, {:.1} % within a side", ties.len(), 100.0 * share);
    let mut between = Vec::new();
    for (right, name) in [(false, "Democrats, with the independent"), (true, "Republicans")] {
        let across = |v: u32| {
            ties.iter().filter(|t| (t.0 == v || t.1 == v) && side(t.0) != side(t.1)).count()
        };
        let mut members: Vec<(usize, u32)> = (0..data.variables() as u32)
            .filter(|&v| side(v) == right)
            .map(|v| (across(v), v))
            .collect();
        members.sort_by_key(|&(ties, v)| (std::cmp::Reverse(ties), v));
        println!("most ties to the other side among the {name}:");
        between.push(calls.members[members[0].1 as usize].clone());
        for (count, v) in members.into_iter().take(3) {
            println!("  {:<22} {count}", calls.members[v as usize]);
        }
    }
    let of = |letter: char| {
        let calls = &calls;
        (0..data.variables()).filter(move |&v| calls.party(v) == Some(letter))
    };
    let edges = ties.iter().map(|&(a, b, weight)| (a as usize, b as usize, weight));
    let members = calls.members.iter().map(String::as_str);
    let title = format!(
        "US Senate, 2006: {:.0} % of the positive couplings of votes are within a side",
        100.0 * share
    );
    let note = format!(
        "An Ising model of {} votes, {} of its couplings are above 0; negative ones are left out.",
        data.rows(),
        ties.len()
    );
    let network = Network::new(title, members)
        .note(note)
        .weighted("coupling", edges)
        .group(Colour::Vermilion, "Republican", of('R'))
        .group(Colour::Blue, "Democrat", of('D'))
        .group(Colour::Green, "independent", of('I'));
    show.picture("network", &network.svg())?;
    show.conclude(format_args!(
        "{:.0} % of the ties are within a side; nearest to the other one are {} and {}.",
        100.0 * share,
        between[0],
        between[1]
    ));
    Ok(())
}
