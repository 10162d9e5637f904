//! This program learns a Bayesian network from a table of names. It learns the graph with three methods, estimates the tables, and
//! answers a question. Then it removes a tenth of the values and estimates the tables again by the EM algorithm.
//!
//! ```text
//! cargo run --release -p fenchel-examples --example network_from_data
//! cargo run --release -p fenchel-examples --example network_from_data -- FILE.csv
//! ```

use std::error::Error;

use fenchel_graphical::bayes_net::Em;
use fenchel_graphical::structure::{ExactSearch, HillClimbing, Pc, shd};
use fenchel_graphical::{BayesNet, MISSING, Prior, StructureScore, bif, networks};
use fenchel_optim::random::stream;
use rand::RngExt;

fn main() -> Result<(), Box<dyn Error>> {
    fenchel_examples::end_on_closed_pipe();
    let folder = std::env::temp_dir();
    let truth = networks::asia();
    let path = match std::env::args().nth(1) {
        Some(path) => path.into(),
        None => {
            let path = folder.join("asia.csv");
            truth.write_csv_file(truth.sample_many(5000, &mut stream(1, 0)).view(), &path)?;
            path
        }
    };
    // Columns become variables, names become states.
    let (variables, data) = BayesNet::from_csv_file(&path)?;
    println!("{}: {} records, {} variables", path.display(), data.nrows(), variables.len());

    let score = StructureScore::Bayes(Prior::Bdeu(1.0));
    let climbed =
        HillClimbing { score, ..Default::default() }.fit(data.view(), variables.cards())?;
    println!("hill climbing: {climbed}");
    if variables.len() <= 20 {
        let best =
            ExactSearch { score, ..Default::default() }.fit(data.view(), variables.cards())?;
        println!("the best graph of all: score {:.2}", best.score);
    }
    let tested = Pc::default().fit(data.view(), variables.cards())?;
    println!("tests of independence: {} edges", tested.skeleton.edge_count());
    if std::env::args().len() == 1 {
        let distance = shd(&truth.dag().cpdag(), &climbed.dag.cpdag())?;
        println!("pairs joined otherwise than in the truth, by hill climbing: {distance}");
    }

    let net = variables.with_graph(&climbed.dag)?.fit_cpts(data.view(), Prior::Bdeu(1.0))?;
    let first = net.name_of(fenchel_graphical::VarId(0)).to_string();
    print!("\n{}\n{}", net.cpt_text(&first)?, net.query(&[&first], &[])?);
    let file = folder.join("learned.bif");
    bif::write_file(&net, &file)?;
    println!("written to {}", file.display());

    let mut holes = data.clone();
    let mut random = stream(2, 0);
    holes.iter_mut().filter(|_| random.random_bool(0.1)).for_each(|cell| *cell = MISSING);
    let em = Em { prior: Prior::Bdeu(1.0), ..Em::default() };
    let fit = em.fit(&net, holes.view())?;
    print!("\nwithout a tenth of the values: {}\n{}", fit.report, fit.net.query(&[&first], &[])?);
    Ok(())
}
