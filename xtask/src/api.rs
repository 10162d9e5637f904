//! This module keeps the list of all public names, so that a reviewer sees in `docs/api.txt` what a change adds, renames or takes away.
//! It has no signatures: those are for `cargo semver-checks`, which needs a former release.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::structure::{Crate, crates};
use crate::workspace;

/// Not for users of the libraries.
const PRIVATE: [&str; 2] = ["cli", "experiments"];

#[test]
fn public_names_are_listed() {
    let path = workspace::root().join("docs/api.txt");
    let all = crates();
    let public = all.iter().filter(|one| !PRIVATE.contains(&one.name.as_str()));
    let found: BTreeSet<String> = public.flat_map(names).collect();
    if std::env::var_os("FENCHEL_WRITE_API").is_some() {
        fs::write(&path, found.iter().map(|name| format!("{name}\n")).collect::<String>()).unwrap();
    }
    let listed = fs::read_to_string(&path).unwrap_or_default();
    let listed: BTreeSet<String> = listed.lines().map(str::to_owned).collect();
    let added = found.difference(&listed).map(|name| format!("+ {name}"));
    let changes: Vec<String> =
        added.chain(listed.difference(&found).map(|name| format!("- {name}"))).collect();
    assert!(
        changes.is_empty(),
        "docs/api.txt is not the list of public names; FENCHEL_WRITE_API=1 writes it:\n{}",
        changes.join("\n")
    );
}

/// The paths of all public names of a crate.
fn names(of: &Crate) -> Vec<String> {
    let mut modules = BTreeMap::new();
    of.public_modules(0, of.name.clone(), &mut modules);
    let mut names: Vec<String> =
        of.root_names().into_iter().map(|name| format!("{}::{name}", of.name)).collect();
    for (path, module) in modules {
        let mut own = BTreeSet::new();
        of.public_names(module, &mut own);
        names.extend(own.into_iter().map(|name| format!("{path}::{name}")));
    }
    names
}
