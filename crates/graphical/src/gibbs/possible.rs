//! A test whether a model has any configuration of positive probability.
//!
//! The exact answer is as hard as exact inference. First, states without support in some factor are removed until nothing
//! changes, which costs a few passes over the tables. Then a junction tree of the factors with zeros decides, if it takes at
//! most [`TREE_BYTES`]. A larger model that passes the first test counts as possible.

use crate::{Error, Evidence, FactorGraph, JunctionTree, OrderingOptions, Table, VarId};

/// Largest memory of a junction tree for this test, in bytes.
const TREE_BYTES: u64 = 64 << 20;

/// Refuses a model that certainly has no configuration of positive probability.
pub(super) fn check(model: &FactorGraph) -> Result<(), Error> {
    let impossible = |value: &f64| *value == f64::NEG_INFINITY;
    let strict: Vec<&Table> =
        model.factors().iter().filter(|table| table.log_values().iter().any(impossible)).collect();
    let mut left: Vec<Vec<bool>> = model.cards().iter().map(|&card| vec![true; card]).collect();
    let mut changed = true;
    while std::mem::take(&mut changed) {
        for table in &strict {
            let Some(struck) = strike(table, &mut left) else {
                return Err(Error::ImpossibleEvidence);
            };
            changed |= struck;
        }
    }
    let mut zeros = FactorGraph::new(model.cards())?;
    for table in strict.iter().filter(|table| table.scope().len() > 1) {
        let values = table.log_values().iter();
        let values: Vec<f64> = values.map(|v| if impossible(v) { *v } else { 0.0 }).collect();
        zeros.add(table.scope(), &values)?;
    }
    if zeros.factors().is_empty() {
        return Ok(());
    }
    for (v, left) in (0..).map(VarId).zip(&left) {
        if left.contains(&false) {
            let values: Vec<f64> = left.iter().map(|&left| f64::from(u8::from(left))).collect();
            zeros.add_values(&[v], &values)?;
        }
    }
    let ordering =
        OrderingOptions { restarts: 1, max_memory: Some(TREE_BYTES), ..Default::default() };
    match JunctionTree::compile(&zeros, &ordering) {
        Ok(tree) => {
            let mut workspace = tree.workspace();
            let best = tree.calibrate_max(&zeros, &Evidence::new(), &mut workspace)?.best_score();
            if best == f64::NEG_INFINITY { Err(Error::ImpossibleEvidence) } else { Ok(()) }
        }
        Err(Error::Refused(_)) => Ok(()),
        Err(other) => Err(other),
    }
}

/// Removes the states that occur in no possible cell of the table. Returns whether there were any, or `None` if a variable has
/// no state left or the table has no possible cell.
fn strike(table: &Table, left: &mut [Vec<bool>]) -> Option<bool> {
    let mut supported: Vec<Vec<bool>> =
        table.cards().iter().map(|&card| vec![false; card]).collect();
    let mut any = false;
    for (cell, &value) in table.log_values().iter().enumerate() {
        if value == f64::NEG_INFINITY {
            continue;
        }
        let states = table.dense().states_of(cell);
        if table.scope().iter().zip(&states).all(|(v, &state)| left[v.index()][state]) {
            any = true;
            supported.iter_mut().zip(&states).for_each(|(list, &state)| list[state] = true);
        }
    }
    let mut struck = false;
    for (v, supported) in table.scope().iter().zip(&supported) {
        for (left, &supported) in left[v.index()].iter_mut().zip(supported) {
            struck |= *left && !supported;
            *left &= supported;
        }
    }
    any.then_some(struck)
}
