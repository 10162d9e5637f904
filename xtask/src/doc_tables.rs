//! This module checks the tables of the documentation. A `|` inside a cell ends the cell, and the page does not show the text after it.

use std::path::Path;

use crate::workspace;

#[test]
fn tables_of_the_documentation_have_rows_of_one_width() {
    let mut broken = Vec::new();
    for folder in ["crates", "xtask/src", "examples", "benches"] {
        visit(&workspace::root().join(folder), &mut broken);
    }
    assert!(broken.is_empty(), "write \\| inside a cell:\n{}", broken.join("\n"));
}

fn visit(path: &Path, broken: &mut Vec<String>) {
    if path.is_dir() {
        let mut entries: Vec<_> =
            std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
        entries.sort();
        entries.iter().for_each(|entry| visit(entry, broken));
    } else if path.extension().is_some_and(|extension| extension == "rs") {
        let text = std::fs::read_to_string(path).unwrap();
        let faults = broken_rows(&text).into_iter();
        broken.extend(faults.map(|line| format!("{}:{line}", path.display())));
    }
}

/// The line numbers, counted from 1, of rows whose number of cells differs from that of the first row of their table.
fn broken_rows(text: &str) -> Vec<usize> {
    let mut broken = Vec::new();
    let mut width = None;
    for (number, line) in text.lines().enumerate() {
        let line = line.trim_start();
        let comment = line.strip_prefix("//!").or_else(|| line.strip_prefix("///"));
        let row = comment.map(str::trim).filter(|row| row.starts_with('|') && row.ends_with('|'));
        let cells = row.map(|row| row.replace("\\|", "").matches('|').count());
        match (cells, width) {
            (Some(cells), Some(first)) if cells != first => broken.push(number + 1),
            (Some(_), Some(_)) => {}
            _ => width = cells,
        }
    }
    broken
}

#[test]
fn a_bar_in_a_cell_is_found() {
    let table =
        "/// | a | b |\n/// |---|---|\n/// | `|x|` | y |\n/// | `\\|x\\|` | y |\nfn f() {}\n";
    assert_eq!(broken_rows(table), [3]);
}
