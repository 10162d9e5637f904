//! How good are approximations of a magnet, where the exact answer is known?
//!
//! This program draws samples of the Ising model on a 32 x 32 torus. It compares mean field, belief propagation, tree-reweighted belief
//! propagation and annealed importance sampling with Onsager's solution of the infinite lattice.
//!
//! ```text
//! cargo run --release -p fenchel-examples --example ising            # coupling 0.4, a little above the critical temperature
//! cargo run --release -p fenchel-examples --example ising -- 0.44068  # critical
//! ```
//!
//! The infinite lattice is ordered for couplings above 0.4407. Mean field predicts order from 1/4 on, and belief propagation from 0.347.

use std::error::Error;
use std::process::ExitCode;

use fenchel::plot::{Axis, Figure, Series, Style};
use fenchel_examples::Show;
use fenchel_graphical::ais::{AisSettings, ais_binary};
use fenchel_graphical::binary::{BinaryGibbs, BinaryStart};
use fenchel_graphical::bp::{
    BeliefPropagationSettings, EdgeAppearance, TreeReweightedSettings, belief_propagation,
    tree_reweighted,
};
use fenchel_graphical::diagnostics::{RunSettings, run_until};
use fenchel_graphical::gibbs::Scan;
use fenchel_graphical::mean_field::{MeanFieldSettings, mean_field};
use fenchel_graphical::{BinaryPairwise, FactorGraph};
use fenchel_linalg::text::{aligned, fixed};

const SIDE: u32 = 32;
const SITES: f64 = (SIDE * SIDE) as f64;

fn main() -> ExitCode {
    Show::run(example)
}

fn example(show: &Show) -> Result<(), Box<dyn Error>> {
    let coupling: f64 = match show.arguments().first() {
        Some(text) => {
            text.parse().map_err(|_| format!("{text:?}: expected a coupling, a number"))?
        }
        None => 0.4,
    };
    show.generated(format_args!(
        "{SIDE} x {SIDE} spins on a torus, each coupled to its four neighbours by {coupling}"
    ));
    let bonds: Vec<(u32, u32, f64)> = (0..SIDE * SIDE)
        .flat_map(|v| {
            let (row, column) = (v / SIDE, v % SIDE);
            [row * SIDE + (column + 1) % SIDE, (row + 1) % SIDE * SIDE + column]
                .map(|w| (v, w, coupling))
        })
        .collect();
    // log Z of the spins is less by the constant.
    let (model, constant) = BinaryPairwise::from_spins(&[0.0; (SIDE * SIDE) as usize], &bonds)?;
    let factors = model.factor_graph()?;

    let mut chains = BinaryGibbs::new(&model, 256, BinaryStart::Random, Scan::Chromatic, 1)?;
    let settings =
        RunSettings { burn_in: 500, most_draws: 1000, thin: 5, ..RunSettings::default() };
    let energy = |chains: &BinaryGibbs, out: &mut [f64]| {
        chains.log_scores(&model, out).expect("a number for every chain");
        out.iter_mut().for_each(|score| *score = (*score - constant) / coupling / SITES);
    };
    let run = run_until(&mut chains, energy, &settings)?;
    let samples = chains.samples();
    let magnetisation = |up: usize| (2.0 * up as f64 / SITES - 1.0).abs();
    let ups = samples.rows().into_iter().map(|x| x.iter().filter(|&&up| up).count());
    let mean_magnetisation = ups.map(magnetisation).sum::<f64>() / 256.0;

    let spins = samples.row(0);
    let cells = (0..spins.len()).filter(|&v| spins[v]).map(|v| v as u32);
    let cells = cells.map(|v| (f64::from(v % SIDE), f64::from(v / SIDE))).collect();
    let side = |label: &str| Axis::linear(label).limits(-0.5, f64::from(SIDE) - 0.5);
    let up = Series { style: Style::Cells, ..Series::points("spin up", cells) };
    let title = format!("Spins of an Ising model of {SIDE} x {SIDE} sites, coupling {coupling}");
    let figure = Figure::new(title, side("column"), side("row"))
        .note("The first of 256 chains of Gibbs sampling. Blank: spin down.");
    show.picture("sample", &Figure { square: true, ..figure.with(up) }.svg())?;

    let field = mean_field(&factors, &MeanFieldSettings::default(), None, &mut ())?;
    let bethe = belief_propagation(&factors, &BeliefPropagationSettings::default(), None, &mut ())?;
    // Every edge of a torus is like every other.
    let appearance = EdgeAppearance::Uniform;
    let settings = TreeReweightedSettings { appearance, ..TreeReweightedSettings::default() };
    let upper = tree_reweighted(&factors, &settings, None, &mut ())?;
    let annealed = ais_binary(&model, &AisSettings::default())?;

    println!("log Z, and the product of neighbours, per site\n");
    let mut table = vec![["", "log Z", "energy", "|magnet.|"].map(String::from).to_vec()];
    let mut row =
        |name: &str, log_partition: Option<f64>, energy: Option<f64>, magnet: Option<f64>| {
            let cells = [log_partition, energy, magnet];
            let cells = cells.map(|x| x.map_or("-".to_string(), |x| fixed(x, 5)));
            table.push(std::iter::once(name.to_owned()).chain(cells).collect());
        };
    let per_site = |log_partition: f64| Some((log_partition - constant) / SITES);
    let magnet = |marginals: &[Vec<f64>]| {
        Some((marginals.iter().map(|q| q[1] - q[0]).sum::<f64>() / SITES).abs())
    };
    let q = field.state.marginals();
    let spin = |v: u32| q[v as usize][1] - q[v as usize][0];
    let product = bonds.iter().map(|&(v, w, _)| spin(v) * spin(w)).sum::<f64>() / SITES;
    row("mean field (below)", per_site(field.state.log_partition()), Some(product), magnet(q));
    let agreement = pair_agreement(&factors, &bethe.state)?;
    let marginals = bethe.state.marginals();
    row(
        "belief propagation",
        per_site(bethe.state.log_partition()),
        Some(agreement),
        magnet(marginals),
    );
    let agreement = pair_agreement(&factors, &upper.state)?;
    let marginals = upper.state.marginals();
    row(
        "tree-reweighted (above)",
        per_site(upper.state.log_partition()),
        Some(agreement),
        magnet(marginals),
    );
    row("annealed importance", per_site(annealed.log_partition), None, None);
    row("Gibbs sampling", None, Some(run.mean), Some(mean_magnetisation));
    let derivative = (onsager(coupling + 1e-4) - onsager(coupling - 1e-4)) / 2e-4;
    row("Onsager, infinite", Some(onsager(coupling)), Some(derivative), None);
    print!("{}", aligned(&table, 1));

    println!("\nbelief propagation: {}", bethe.report);
    println!("tree-reweighted:    {}", upper.report);
    println!(
        "annealed importance: +- {:.5} per site, {:.0} effective chains of 512",
        annealed.standard_error / SITES,
        annealed.effective_samples,
    );
    println!(
        "Gibbs sampling: energy +- {:.5}, R-hat {:.3}, {:.0} effective samples\n",
        run.standard_error, run.r_hat, run.effective_samples,
    );
    for line in samples.row(0).to_vec().chunks(SIDE as usize) {
        println!("{}", line.iter().map(|&up| if up { "##" } else { " ." }).collect::<String>());
    }
    let off = |log_partition: f64| (log_partition - constant) / SITES - onsager(coupling);
    show.conclude(format_args!(
        "of log Z per site, {:.4}, annealed importance sampling misses {:.5}, belief propagation {:.4} and mean field {:.4}.",
        onsager(coupling),
        off(annealed.log_partition).abs(),
        off(bethe.state.log_partition()).abs(),
        off(field.state.log_partition()).abs()
    ));
    Ok(())
}

/// The mean of `s_v s_w` over the bonds, two a site, by the beliefs of the pairs.
fn pair_agreement(
    factors: &FactorGraph,
    beliefs: &fenchel_graphical::bp::Beliefs,
) -> Result<f64, fenchel_graphical::Error> {
    let mut sum = 0.0;
    for (f, factor) in (0..).zip(factors.factors()) {
        if factor.scope().len() == 2 {
            let belief = beliefs.factor_marginal(fenchel_graphical::FactorId(f))?.values();
            sum += belief[0] - belief[1] - belief[2] + belief[3];
        }
    }
    Ok(sum / SITES)
}

/// `log Z` per site of the infinite lattice (Onsager, 1944).
fn onsager(coupling: f64) -> f64 {
    let (c, k) = ((2.0 * coupling).cosh().powi(2), (2.0 * coupling).sinh().powi(-2));
    let steps = 20_000;
    let integrand = |i: u32| {
        let angle = std::f64::consts::PI * (f64::from(i) + 0.5) / f64::from(steps);
        (c + (1.0 + k * k - 2.0 * k * (2.0 * angle).cos()).sqrt() / k).ln()
    };
    0.5 * std::f64::consts::LN_2 + 0.5 / f64::from(steps) * (0..steps).map(integrand).sum::<f64>()
}
