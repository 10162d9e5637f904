//! This module checks that what the workspace is built of keeps the rules of `deny.toml`, without cargo-deny, which takes minutes to
//! build: on this platform, and without the list of advisories. `cargo deny check` is the whole check.

use std::collections::{BTreeMap, BTreeSet};

use crate::workspace;

#[test]
fn dependencies_keep_the_rules_of_deny_toml() {
    let read = |name: &str| std::fs::read_to_string(workspace::root().join(name)).unwrap();
    let faults = faults(&read("deny.toml"), &read("Cargo.lock"), &tree());
    assert!(faults.is_empty(), "deny.toml does not allow:\n{}", faults.join("\n"));
}

/// A package a line, as `name v1.2.3 = licence`, without those that only tests and benchmarks need.
fn tree() -> String {
    let mut cargo = workspace::cargo();
    cargo.args(["tree", "--locked", "--workspace", "--all-features", "--edges", "no-dev"]);
    let output = cargo.args(["--prefix", "none", "--format", "{p} = {l}"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn faults(rules: &str, lock: &str, tree: &str) -> Vec<String> {
    let section = |name: &str| {
        let text = rules.split_once(&format!("\n[{name}]\n")).map_or("", |(_, after)| after);
        text.split_once("\n[").map_or(text, |(own, _)| own)
    };
    let allowed: BTreeSet<&str> = section("licenses").split('"').skip(1).step_by(2).collect();
    // Never laxer than the grammar, in which AND binds closer than OR.
    let is_allowed = |licence: &str| {
        licence.split(" AND ").all(|part| {
            let part = part.trim_matches(['(', ')']).replace('/', " OR ");
            part.split(" OR ").any(|one| allowed.contains(one))
        })
    };
    let skipped = |package: &str| {
        let mut rules = section("bans").lines().filter(|line| line.contains("crate = "));
        rules.any(|line| {
            let rule = line.split('"').nth(1).unwrap_or_default();
            package == rule
                || package.starts_with(&format!("{rule}@"))
                || rule.contains('@') && package.starts_with(&format!("{rule}."))
        })
    };
    let foreign = "source = \"registry+https://github.com/rust-lang/crates.io-index\"";
    let sources = lock.lines().filter(|line| line.starts_with("source") && *line != foreign);
    let mut faults: Vec<String> = sources.map(str::to_owned).collect();
    let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for line in tree.lines().filter(|line| !line.is_empty()) {
        let (package, licence) = line.split_once(" = ").unwrap_or((line, ""));
        let mut words = package.split(' ');
        let (name, version) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
        versions.entry(name).or_default().insert(version.trim_start_matches('v'));
        if !is_allowed(licence.trim_end_matches(" (*)")) {
            faults.push(format!("{name} {version}: the licence {licence:?}"));
        }
    }
    for (name, versions) in versions {
        let counted = versions.iter().filter(|version| !skipped(&format!("{name}@{version}")));
        if counted.count() > 1 {
            faults.push(format!("{name} in the versions {versions:?}"));
        }
    }
    faults.sort();
    faults.dedup();
    faults
}

#[test]
fn what_is_not_allowed_is_named() {
    let rules = "\n[licenses]\nallow = [\"MIT\", \"Zlib\"]\n[bans]\nskip = [\n{ crate = \"a@1\" },\n{ crate = \"c\" }]\n";
    let tree = "a v1.2.0 = MIT\na v2.0.0 = GPL-3.0 OR MIT (*)\nb v1.0.0 = (MIT OR X) AND Zlib\nc v1.0.0 = MIT/X\nc v2.0.0 = MIT\n";
    assert_eq!(faults(rules, "", tree), [""; 0]);
    let more = format!("{tree}\na v10.0.0 = MIT\nd v1.0.0 = MIT AND X (*)\ne v1.0.0 = \n");
    let git = "source = \"git+https://example.org/b\"";
    assert_eq!(
        faults(rules, git, &more),
        [
            "a in the versions {\"1.2.0\", \"10.0.0\", \"2.0.0\"}",
            "d v1.0.0: the licence \"MIT AND X (*)\"",
            "e v1.0.0: the licence \"\"",
            git,
        ]
    );
}
