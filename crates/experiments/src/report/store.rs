//! This module stores outcomes on disk, so that a run continues where an earlier one ended.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::files;
use crate::{Context, Error, Experiment, Outcome, Size, data};

/// Everything that an outcome depends on. A stored outcome is used only if all fields of its key are equal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Key {
    /// Id of the experiment.
    pub id: String,
    /// Size of the run.
    pub size: Size,
    /// Seed of the run.
    pub seed: u64,
    /// The names of its real data sets that were present.
    pub data: Vec<String>,
    /// Version of this project.
    pub version: String,
    /// Fingerprint of the program ([`build_fingerprint`]). If the program changes, the experiment runs again.
    pub build: String,
}

impl Key {
    /// The key of an experiment in a context.
    pub fn new(experiment: &Experiment, context: &Context, build: &str) -> Self {
        let present = |name: &&&str| context.files(name).is_some();
        debug_assert!(experiment.needs.iter().all(|name| data::find(name).is_some()));
        Key {
            id: experiment.id.into(),
            size: context.size,
            seed: context.seed,
            data: experiment.needs.iter().filter(present).map(|s| (*s).to_owned()).collect(),
            version: env!("CARGO_PKG_VERSION").into(),
            build: build.into(),
        }
    }
}

/// A finished experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Everything that the outcome depends on.
    pub key: Key,
    /// The duration of the run in seconds (wall-clock time).
    pub seconds: f64,
    /// The result of the experiment.
    pub outcome: Outcome,
}

/// A folder of records, with one file `<id>.json` per experiment.
#[derive(Debug, Clone)]
pub struct Store {
    folder: PathBuf,
}

impl Store {
    /// Opens the records in the folder of a report.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Store { folder: folder.into() }
    }

    fn path(&self, id: &str) -> PathBuf {
        self.folder.join(format!("{id}.json"))
    }

    /// The record with this key. It is `None` if there is no record, if its key differs, or if the file is not readable. The
    /// experiment then runs again.
    pub fn load(&self, key: &Key) -> Option<Record> {
        let text = std::fs::read(self.path(&key.id)).ok()?;
        let record: Record = serde_json::from_slice(&text).ok()?;
        (record.key == *key).then_some(record)
    }

    /// The duration of the experiment in its last stored run, in seconds. That run may have had other code, data or size.
    pub fn seconds(&self, id: &str) -> Option<f64> {
        let text = std::fs::read(self.path(id)).ok()?;
        serde_json::from_slice::<Record>(&text).ok().map(|record| record.seconds)
    }

    /// Stores a record. It replaces an earlier record of the same experiment.
    ///
    /// # Errors
    /// [`Error::File`] or [`Error::Encode`].
    pub fn save(&self, record: &Record) -> Result<(), Error> {
        let text = serde_json::to_vec_pretty(record).map_err(|e| Error::Encode {
            what: format!("outcome of `{}`", record.key.id),
            reason: e.to_string(),
        })?;
        files::write_atomically(&self.path(&record.key.id), &text)
    }
}

/// A fingerprint of the file of a program, as 16 hexadecimal digits. A build that changes nothing keeps the fingerprint.
///
/// # Errors
/// [`Error::File`] if it cannot be read.
pub fn build_fingerprint(program: &Path) -> Result<String, Error> {
    let bytes = std::fs::read(program)
        .map_err(|source| Error::File { path: program.to_owned(), source })?;
    Ok(format!("{:016x}", fnv1a(&bytes)))
}

/// The 64-bit FNV-1a hash. It is used because the hash of the standard library may change between releases of Rust.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Axis, Figure, Reason, Series, Source, Table};

    fn key() -> Key {
        Key {
            id: "xx-1".into(),
            size: Size::Quick,
            seed: 7,
            data: vec!["w8a".into()],
            version: "0.1.0".into(),
            build: "abc".into(),
        }
    }

    fn record() -> Record {
        let mut outcome = Outcome::default();
        let mut table = Table::new("t", [("a", "s"), ("b", "")]);
        table
            .push(["x".into(), (1.0 / 3.0).into()])
            .push([f64::INFINITY.into(), None::<f64>.into()]);
        outcome
            .claim(Source::OURS.claim("s").rests_on(["m"]).ours("e").holds((0.1, true)))
            .claim(
                Source::quoted("D", "1", "q")
                    .claim("s")
                    .document("e")
                    .known_failure(("m", false), Reason::checked("why", 2.0, true)),
            )
            .claim(Source::OURS.claim("s").reported("e", "m"))
            .table(table)
            .figure(
                Figure::new("f", Axis::linear("x"), Axis::log("y").limits(1e-9, 1.0))
                    .with(Series::line("s", vec![(0.1 + 0.2, f64::NEG_INFINITY)]).dashed()),
            )
            .note("note")
            .setting("l2", 1e-4);
        Record { key: key(), seconds: 1.5, outcome }
    }

    #[test]
    fn a_record_comes_back_as_it_went() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path());
        assert_eq!(store.load(&key()), None);
        store.save(&record()).unwrap();
        assert_eq!(store.load(&key()), Some(record()));
    }

    #[test]
    fn any_other_circumstance_runs_again() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path());
        store.save(&record()).unwrap();
        let others = [
            Key { size: Size::Full, ..key() },
            Key { seed: 8, ..key() },
            Key { data: vec![], ..key() },
            Key { version: "0.2.0".into(), ..key() },
            Key { build: "abd".into(), ..key() },
            Key { id: "xx-2".into(), ..key() },
        ];
        for other in others {
            assert_eq!(store.load(&other), None, "{other:?}");
        }
    }

    #[test]
    fn a_broken_file_is_as_good_as_none() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path());
        store.save(&record()).unwrap();
        let text = std::fs::read(store.path("xx-1")).unwrap();
        std::fs::write(store.path("xx-1"), &text[..text.len() / 2]).unwrap();
        assert_eq!(store.load(&key()), None);
    }

    #[test]
    fn the_key_names_the_data_that_is_there() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("libsvm")).unwrap();
        std::fs::write(folder.path().join("libsvm/w8a"), "").unwrap();
        let experiment =
            Experiment { id: "xx-1", needs: &["w8a", "ijcnn1"], ..Experiment::of("D") };
        let context = Context { data: Some(folder.path().into()), ..Context::new(7) };
        assert_eq!(Key::new(&experiment, &context, "b").data, ["w8a"]);
    }

    #[test]
    fn fingerprints_tell_programs_apart() {
        // Reference values of the function's authors.
        assert_eq!(fnv1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
    }
}
