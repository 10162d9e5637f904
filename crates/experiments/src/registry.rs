//! The list of all experiments, and functions that find experiments by their ids.

use crate::{Error, Experiment};

/// All experiments, in the order of the report. Ids are unique. An id starts with an abbreviation of a crate's name. A function
/// and not a static, so that the unit tests are a program without the experiments.
pub fn all() -> Vec<Experiment> {
    [
        crate::finite_sum::ALL,
        crate::ggm::ALL,
        crate::crf::ALL,
        crate::mrf_learn::ALL,
        crate::graphical::ALL,
        crate::causal::ALL,
        crate::expfam::RISKS,
        crate::expfam::AVERAGES,
        crate::moments::ALL,
        crate::saddle::ALL,
    ]
    .concat()
}

/// Ids of experiments that need no real data and take seconds. The command `cargo xtask ci` runs them.
pub static SMOKE: &[&str] = &["fs-ex6", "ca-ex15"];

/// The seconds of a recorded quick run with all real data, on two cores; `None` for an experiment that is not in the record.
/// [`crate::report::write_seconds`] writes it.
pub fn recorded_seconds(id: &str) -> Option<f64> {
    let rows = include_str!("../seconds.csv").lines().filter_map(|line| line.split_once(','));
    rows.filter(|row| row.0 == id).find_map(|row| row.1.parse().ok())
}

/// The experiment with exactly this id.
pub fn find<'a>(all: &'a [Experiment], id: &str) -> Option<&'a Experiment> {
    all.iter().find(|e| e.id == id)
}

/// The experiments that match at least one query, in the order of `all` and each once. Without queries, all experiments.
///
/// A query is an id or the beginning of an id. The query `fs-ex1` matches this experiment and not `fs-ex10`. The query `fs`
/// matches all experiments of the crate `finite-sum`.
///
/// # Errors
/// [`Error::UnknownId`] with similar ids if a query matches nothing.
pub fn select<'a>(all: &'a [Experiment], queries: &[String]) -> Result<Vec<&'a Experiment>, Error> {
    for query in queries {
        if !all.iter().any(|e| matches(e.id, query, all)) {
            return Err(Error::UnknownId { id: query.clone(), near: near(all, query) });
        }
    }
    let asked =
        |e: &&Experiment| queries.is_empty() || queries.iter().any(|q| matches(e.id, q, all));
    Ok(all.iter().filter(asked).collect())
}

fn matches(id: &str, query: &str, all: &[Experiment]) -> bool {
    if find(all, query).is_some() {
        return id == query;
    }
    let Some(rest) = id.strip_prefix(query) else { return false };
    // `fs-ex1` must not quietly select `fs-ex10`.
    let splits_a_number = query.ends_with(|c: char| c.is_ascii_digit())
        && rest.starts_with(|c: char| c.is_ascii_digit());
    !query.is_empty() && !splits_a_number
}

/// Ids that are at most three edits away or contain the query, most similar first.
fn near(all: &[Experiment], query: &str) -> Vec<String> {
    let query = query.to_lowercase();
    let mut close: Vec<(usize, &str)> = all
        .iter()
        .map(|e| (edits(e.id, &query), e.id))
        .filter(|(distance, id)| *distance <= 3 || !query.is_empty() && id.contains(&query))
        .collect();
    close.sort();
    close.into_iter().take(5).map(|(_, id)| id.to_owned()).collect()
}

/// The Levenshtein distance: the number of insertions, deletions and replacements that turn `a` into `b`. O(|a| |b|).
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replace = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replace.min(row[j] + 1).min(row[j + 1] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn experiment(id: &'static str) -> Experiment {
        Experiment { id, ..Experiment::of("D") }
    }

    static SOME: &[Experiment] =
        &[experiment("fs-ex1"), experiment("fs-ex10"), experiment("fs-ex3"), experiment("crf-41")];

    fn ids(queries: &[&str]) -> Result<Vec<&'static str>, Error> {
        let queries: Vec<String> = queries.iter().map(|q| (*q).to_owned()).collect();
        Ok(select(SOME, &queries)?.into_iter().map(|e| e.id).collect())
    }

    #[test]
    fn queries_are_ids_or_their_beginnings() {
        assert_eq!(ids(&[]).unwrap().len(), 4);
        assert_eq!(ids(&["fs-ex1"]).unwrap(), ["fs-ex1"]);
        assert_eq!(ids(&["crf", "fs-ex3", "crf-41"]).unwrap(), ["fs-ex3", "crf-41"]);
        assert_eq!(ids(&["fs"]).unwrap(), ["fs-ex1", "fs-ex10", "fs-ex3"]);
        assert_eq!(ids(&["fs-ex"]).unwrap().len(), 3);
    }

    #[test]
    fn an_unknown_id_lists_its_neighbours() {
        assert_eq!(
            ids(&["fsex1"]).unwrap_err().to_string(),
            "no experiment is called `fsex1`; did you mean fs-ex1, fs-ex10, fs-ex3?"
        );
        assert!(ids(&["crf-4"]).is_err(), "a number is not split");
        assert!(ids(&["zzzzzzzz"]).unwrap_err().to_string().contains("--list"));
        assert!(ids(&[""]).is_err());
    }

    #[test]
    fn edit_distances() {
        for (a, b, distance) in [("", "abc", 3), ("kitten", "sitting", 3), ("same", "same", 0)] {
            assert_eq!(edits(a, b), distance, "{a} {b}");
        }
    }

    #[test]
    fn recorded_seconds_are_those_of_experiments() {
        for line in include_str!("../seconds.csv").lines() {
            let (id, seconds) = line.split_once(',').unwrap();
            assert_eq!(recorded_seconds(id), seconds.parse().ok().filter(|s| *s > 0.0), "{id}");
        }
        assert_eq!(recorded_seconds("none"), None);
    }
}
