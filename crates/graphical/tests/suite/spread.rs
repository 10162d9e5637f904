//! Records that are spread over ranks, which are threads here: the same network for any number of ranks, and that of all records.

use fenchel_graphical::{BayesNet, Error, Prior, networks};
use fenchel_optim::random::stream;
use fenchel_optim::spread::{Communicator, Shards, share, threads};
use ndarray::{Array2, Axis, Slice};

/// Records of the shards: of no even size, and none at all among them.
const SHARDS: [usize; 6] = [130, 0, 20, 1, 80, 170];

fn on_ranks(
    net: &BayesNet,
    data: &Array2<usize>,
    size: usize,
    prior: impl Fn(usize) -> Prior + Sync,
) -> Result<Vec<BayesNet>, (usize, Error)> {
    threads::run(size, |ranks| {
        let shards = Shards::new(ranks, &SHARDS[share(SHARDS.len(), ranks.rank(), size)])?;
        let rows = Slice::from(shards.before()..shards.before() + shards.rows());
        net.fit_cpts_spread(data.slice_axis(Axis(0), rows), prior(ranks.rank()), &shards)
    })
}

#[test]
fn tables_of_spread_records_are_those_of_all() {
    let net = networks::asia();
    let data = net.sample_many(SHARDS.iter().sum(), &mut stream(3, 0)).unwrap();
    for prior in [Prior::Dirichlet(0.0), Prior::Dirichlet(0.5), Prior::Bdeu(2.0)] {
        // Counts are whole numbers, which have no order of additions.
        let whole = net.fit_cpts(data.view(), prior).unwrap();
        for size in [1, 2, 3, 4, 8] {
            let found = on_ranks(&net, &data, size, |_| prior).unwrap();
            assert!(found.iter().all(|found| *found == whole), "{size} ranks");
        }
    }
}

#[test]
fn a_bad_record_and_ranks_that_differ_are_named() {
    let net = networks::asia();
    let mut data = net.sample_many(SHARDS.iter().sum(), &mut stream(3, 0)).unwrap();
    let differ = |rank| Prior::Dirichlet(if rank == 1 { 1.0 } else { 2.0 });
    let (_, error) = on_ranks(&net, &data, 3, differ).unwrap_err();
    assert!(error.to_string().starts_with("prior and graph: rank 1 has "), "{error}");
    data[[300, 2]] = 7;
    let (rank, error) = on_ranks(&net, &data, 3, |_| Prior::Dirichlet(1.0)).unwrap_err();
    assert!(rank == 2 && error.to_string().contains("row 300"), "{error}");
}
