//! Does a search find the network that records come from?
//!
//! This program learns a Bayesian network from a table of names, with three methods, and compares it with the truth. It estimates the
//! tables, and asks a question with findings. Then it removes a tenth of the values, estimates the tables again by the EM algorithm,
//! and asks the same question.
//!
//! ```text
//! cargo run --release -p fenchel-examples --example network_from_data
//! cargo run --release -p fenchel-examples --example network_from_data -- FILE.csv
//! ```

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use fenchel::plot::Network;
use fenchel_examples::Show;
use fenchel_graphical::bayes_net::Em;
use fenchel_graphical::structure::{ExactSearch, HillClimbing, Pc, shd};
use fenchel_graphical::{BayesNet, Dag, MISSING, Prior, StructureScore, VarId, bif, networks};
use fenchel_linalg::text::{aligned, fixed, number};
use fenchel_optim::random::stream;
use rand::RngExt;

fn main() -> ExitCode {
    Show::run(example)
}

fn example(show: &Show) -> Result<(), Box<dyn Error>> {
    let truth = networks::asia();
    let (path, known): (PathBuf, bool) = match show.arguments()[..] {
        [path] => {
            show.real(path);
            (path.into(), false)
        }
        _ => {
            let path = show.path("asia.csv");
            truth.write_csv_file(truth.sample_many(5000, &mut stream(1, 0))?.view(), &path)?;
            show.generated(
                "5,000 records of the network of chest clinics (Lauritzen and Spiegelhalter, 1988)",
            );
            (path, true)
        }
    };
    // Columns become variables, names become states.
    let (variables, data) = BayesNet::from_csv_file(&path)?;
    let cards = variables.cards();
    println!("{} records, {} variables", data.nrows(), variables.len());

    let score = StructureScore::Bayes(Prior::Bdeu(1.0));
    let climbed = HillClimbing { score, ..Default::default() }.fit(data.view(), cards)?;
    let climbed = climbed.named(variables.variables().map(|v| variables.name_of(v)));
    println!("\nhill climbing: {climbed}");
    let tested = Pc::default().fit(data.view(), cards)?;
    let mut table = vec![
        ["method", "edges", "score", "pairs joined otherwise than in the truth"]
            .map(String::from)
            .to_vec(),
    ];
    let mut row = |name: &str, edges: usize, score: Option<f64>, wrong: Option<usize>| {
        let score = score.map_or("-".to_owned(), |score| number(score, 8));
        let wrong = wrong.map_or("unknown".to_owned(), |wrong| wrong.to_string());
        table.push(vec![name.to_owned(), edges.to_string(), score, wrong]);
    };
    let wrong = |dag: &Dag| known.then(|| shd(&truth.dag().cpdag(), &dag.cpdag())).transpose();
    let missed = wrong(&climbed.dag)?;
    row("hill climbing", climbed.dag.arcs().count(), Some(climbed.score), missed);
    if variables.len() <= 20 {
        let best = ExactSearch { score, ..Default::default() }.fit(data.view(), cards)?;
        row("the best graph of all", best.dag.arcs().count(), Some(best.score), wrong(&best.dag)?);
    }
    let class = known.then(|| shd(&truth.dag().cpdag(), &tested.class)).transpose()?;
    row("tests of independence", tested.skeleton.edge_count(), None, class);
    println!("\n{}", aligned(&table, 1));

    let net = variables.with_graph(&climbed.dag)?.fit_cpts(data.view(), Prior::Bdeu(1.0))?;
    bif::write_file(&net, show.path("learned.bif"))?;
    let drawn = net.network()?;
    if known {
        let place = |v: u32| net.variable(truth.name_of(VarId(v))).map(VarId::index);
        let arcs: Result<Vec<_>, _> = truth
            .dag()
            .arcs()
            .map(|(a, b)| Ok::<_, Box<dyn Error>>((place(a)?, place(b)?)))
            .collect();
        // The search knows arcs up to equivalence only: it may turn those that no records can tell apart.
        let title = match missed {
            Some(wrong) => {
                format!("The learned arcs beside the true ones: {wrong} wrong up to equivalence")
            }
            None => "The learned arcs beside the true ones".into(),
        };
        let note = format!(
            "Hill climbing on {} records; the truth is the network that made them. Arcs are drawn as they were learned: some could be turned, and no records would tell.",
            data.nrows()
        );
        show.picture("network", &Network { title, ..drawn.beside(arcs?) }.note(note).svg())?;
        let seen = [("smoke", "yes"), ("dysp", "yes")];
        let asked = net.network_given(&seen)?;
        let note = format!(
            "Arcs and probabilities are learned from {} records. {}",
            data.nrows(),
            asked.note
        );
        show.picture("question", &asked.note(note.trim_end()).svg())?;
    } else {
        show.picture("network", &drawn.svg())?;
    }
    let mut holes = data.clone();
    let mut random = stream(2, 0);
    holes.iter_mut().filter(|_| random.random_bool(0.1)).for_each(|cell| *cell = MISSING);
    let em = Em { prior: Prior::Bdeu(1.0), ..Em::default() };
    let fit = em.fit(&net, holes.view())?;
    println!("without a tenth of the values: {}\n", fit.report);

    let mut nets = vec![("learned", &net), ("by EM, a tenth of the values missing", &fit.net)];
    if known {
        nets.insert(0, ("the truth", &truth));
        let seen = [("smoke", "yes"), ("dysp", "yes")];
        let mut answers = Vec::new();
        for (name, net) in nets {
            let p = net.query(&["lung"], &seen)?.probability(&["yes"])?;
            answers.push(vec![name.to_owned(), fixed(p, 3)]);
        }
        print!("P(lung = yes | smoke = yes, dysp = yes)\n{}", aligned(&answers, 1));
        show.conclude(format_args!(
            "the search joins {} of the pairs otherwise than the truth; the learned network answers {} where the truth is {}.",
            missed.unwrap_or(0), answers[1][1], answers[0][1]
        ));
    } else {
        let (joined, count) = (climbed.dag.arcs().count(), variables.len());
        let last = net.name_of(VarId(count as u32 - 1)).to_owned();
        println!("{}", net.query(&[&last], &[])?);
        show.conclude(format_args!(
            "{joined} arcs join the {count} variables; the network is in {}.",
            show.path("learned.bif").display()
        ));
    }
    Ok(())
}
