//! Saving and loading of fitted models.
//!
//! A file is JSON: `{"kind": "...", "version": 1, "type": "...", "model": {...}, "crc32": ...}`. Loading checks the kind, the version
//! and the checksum of the texts of the type and of the model. Then the type of the model checks the content. Loading refuses a file of
//! another kind, a file of a later version, and a file that is damaged or was edited by hand. The error names the reason, and the
//! type that loads the file where it is another one.
//!
//! A pair of models is saved in one file, as `(encoder, model).save_file(path)`, and loaded by the pair of their types. The file is
//! a list of both.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use fenchel_linalg::Standardiser;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::value::RawValue;

use crate::file;

/// An error of reading or writing a model file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The file ends early, is not JSON, or has no kind and version.
    #[error("{}: {source}", malformed(.kind, .source))]
    Format {
        /// The kind that was wanted.
        kind: &'static str,
        /// The error of the JSON parser, with its position.
        source: serde_json::Error,
    },
    /// A file of another kind, a pair where one model was wanted, or one model where a pair was.
    #[error("the file holds {}{}; expected {}", article(.found), loaded_by(.loader, ""), article(.expected))]
    Kind {
        /// The kind in the file.
        found: String,
        /// The type that wrote the file, if the file says so.
        loader: Option<String>,
        /// The kind that was wanted.
        expected: &'static str,
    },
    /// A file of the kind that was wanted, whose model does not have the form of the type, such as one with labels of another type.
    #[error("the {kind} in the file{} does not have the form of {expected}: {source}", loaded_by(.loader, ","))]
    Form {
        /// The kind of model.
        kind: &'static str,
        /// The type that was wanted.
        expected: String,
        /// The type that wrote the file, if it is another one.
        loader: Option<String>,
        /// The error of the JSON parser, with its position.
        source: serde_json::Error,
    },
    /// A file of a version that this build cannot read.
    #[error("{kind} file of version {found}; this build reads version {expected}")]
    Version {
        /// The kind of model.
        kind: &'static str,
        /// The version in the file.
        found: u32,
        /// The version that is read.
        expected: u32,
    },
    /// The text of the model has changed since it was written.
    #[error(
        "the {kind} in the file is damaged or was edited: its checksum is {found:08x}, the file says {expected:08x}"
    )]
    Checksum {
        /// The kind of model.
        kind: &'static str,
        /// The checksum of the text.
        found: u32,
        /// The checksum in the file.
        expected: u32,
    },
    /// The content does not make a valid model.
    #[error("the {kind} in the file is not valid: {reason}")]
    Content {
        /// The kind of model.
        kind: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// A model that could be saved and never be loaded, such as one whose weights are not finite after a fit that diverged.
    /// Nothing was written.
    #[error("the {kind} is not saved, as its file could not be loaded: {reason}")]
    Unsaved {
        /// The kind of model.
        kind: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// Reading or writing failed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// The kind of a pair.
const PAIR: &str = "pair of models";

/// A kind with its article.
fn article(kind: &str) -> String {
    format!("{} {kind}", if kind.starts_with(['a', 'e', 'i', 'o']) { "an" } else { "a" })
}

fn malformed(kind: &str, source: &serde_json::Error) -> String {
    match source.is_eof() {
        true => format!("the {kind} file ends early"),
        false => format!("not {} file", article(kind)),
    }
}

fn loaded_by(loader: &Option<String>, end: &str) -> String {
    loader.as_ref().map_or(String::new(), |name| format!(", which {name} loads{end}"))
}

/// The name of a type without its modules.
fn short_name<M>() -> String {
    let mut short = String::new();
    for part in std::any::type_name::<M>().split_inclusive(['<', '>', ',', ' ', '(', ')', ';']) {
        short.push_str(part.rsplit("::").next().unwrap_or(part));
    }
    short
}

/// The part of a file that is read first. A model of another kind or version may have any other form.
#[derive(Deserialize)]
struct Head<'a> {
    kind: String,
    version: u32,
    #[serde(rename = "type")]
    written_by: Option<String>,
    #[serde(borrow)]
    model: Option<&'a RawValue>,
    crc32: Option<u32>,
}

/// A model that can be saved and loaded.
pub trait Saved: Serialize + DeserializeOwned {
    /// The name of the kind of model in files.
    const KIND: &'static str;
    /// Version of the file format of this kind of model.
    const VERSION: u32;

    /// Checks shapes, ranges and finiteness, which a file can get wrong, and a fit that diverged.
    ///
    /// # Errors
    /// A sentence that names the field and what was expected.
    fn check(&self) -> Result<(), String>;

    /// Writes the model as JSON.
    ///
    /// # Errors
    /// [`ModelError::Unsaved`] for a model that [`check`](Saved::check) refuses, before anything is written;
    /// [`ModelError::Io`].
    fn save(&self, mut to: impl Write) -> Result<(), ModelError> {
        self.check().map_err(|reason| ModelError::Unsaved { kind: Self::KIND, reason })?;
        let text = |value: &str| serde_json::to_string(value).map_err(io::Error::from);
        let name = short_name::<Self>();
        let (kind, version, written_by) = (text(Self::KIND)?, Self::VERSION, text(&name)?);
        write!(to, r#"{{"kind":{kind},"version":{version},"type":{written_by},"model":"#)?;
        let mut crc = crc32fast::Hasher::new();
        crc.update(name.as_bytes());
        let mut summed = Summed { to: &mut to, crc };
        serde_json::to_writer(&mut summed, self).map_err(io::Error::from)?;
        let crc = summed.crc.finalize();
        writeln!(to, r#","crc32":{crc}}}"#)?;
        to.flush()?;
        Ok(())
    }

    /// Reads a model that [`save`](Saved::save) wrote. Numbers come back bit for bit.
    ///
    /// # Errors
    /// A [`ModelError`] that says what is wrong with the file.
    fn load(from: impl Read) -> Result<Self, ModelError> {
        let kind = Self::KIND;
        let format = |source: serde_json::Error| ModelError::Format { kind, source };
        let missing = |field| format(serde::de::Error::missing_field(field));
        let text = text_of(from)?;
        if text.trim_ascii_start().first() == Some(&b'[') {
            return Err(ModelError::Kind { found: PAIR.into(), loader: None, expected: kind });
        }
        let head: Head<'_> = serde_json::from_slice(&text).map_err(format)?;
        if head.kind != kind {
            let (found, loader) = (head.kind, head.written_by);
            return Err(ModelError::Kind { found, loader, expected: kind });
        }
        if head.version != Self::VERSION {
            let (found, expected) = (head.version, Self::VERSION);
            return Err(ModelError::Version { kind, found, expected });
        }
        let model = head.model.ok_or_else(|| missing("model"))?.get();
        let expected = head.crc32.ok_or_else(|| missing("crc32"))?;
        let mut crc = crc32fast::Hasher::new();
        crc.update(head.written_by.as_deref().unwrap_or_default().as_bytes());
        crc.update(model.as_bytes());
        let found = crc.finalize();
        if found != expected {
            return Err(ModelError::Checksum { kind, found, expected });
        }
        let model: Self = serde_json::from_str(model).map_err(|source| {
            let expected = short_name::<Self>();
            let loader = head.written_by.filter(|name| *name != expected);
            ModelError::Form { kind, expected, loader, source }
        })?;
        model.check().map_err(|reason| ModelError::Content { kind, reason })?;
        Ok(model)
    }

    /// Writes the model to a file with [`file::replace`]: the file is complete, or unchanged.
    ///
    /// # Errors
    /// As [`save`](Saved::save); [`ModelError::Io`] with the path.
    fn save_file(&self, path: impl AsRef<Path>) -> Result<(), ModelError> {
        let mut refused = None;
        let save = |to: &mut dyn Write| {
            self.save(to).map_err(|error| match error {
                ModelError::Io(error) => error,
                other => {
                    let error = io::Error::other(other.to_string());
                    refused = Some(other);
                    error
                }
            })
        };
        let written = file::replace(path, save);
        match refused {
            Some(error) => Err(error),
            None => Ok(written?),
        }
    }

    /// Reads a model from a file that [`save_file`](Saved::save_file) wrote.
    ///
    /// # Errors
    /// As [`load`](Saved::load); [`ModelError::Io`] with the path.
    fn load_file(path: impl AsRef<Path>) -> Result<Self, ModelError> {
        let path = path.as_ref();
        let file = File::open(path).map_err(|error| file::at(path, &error))?;
        Self::load(file).map_err(|error| match error {
            ModelError::Io(error) => file::at(path, &error).into(),
            other => other,
        })
    }
}

/// A scale is saved beside the model that was fitted on it, as a pair.
impl Saved for Standardiser {
    const KIND: &'static str = "standardiser";
    const VERSION: u32 = 1;

    fn check(&self) -> Result<(), String> {
        let (means, deviations) = (&self.means, &self.deviations);
        if means.len() != deviations.len() {
            let (means, deviations) = (means.len(), deviations.len());
            return Err(format!("{means} means and {deviations} deviations"));
        }
        let usable = |c: &usize| means[*c].is_finite() && deviations[*c].is_normal();
        match (0..means.len()).find(|c| !(usable(c) && deviations[*c] > 0.0)) {
            None => Ok(()),
            Some(c) => Err(format!(
                "mean and deviation of feature {c} are {} and {}; expected finite numbers, the second above 0",
                means[c], deviations[c]
            )),
        }
    }
}

/// Two models in one file: what prepares the data, and what was fitted to them. Each has its own kind, version and checksum.
///
/// ```
/// use fenchel_linalg::Standardiser;
/// use fenchel_optim::model::Saved;
///
/// let scale = Standardiser::fit(&ndarray::array![[1.0], [3.0]])?;
/// let mut file = vec![];
/// (scale.clone(), scale.clone()).save(&mut file)?;
/// assert_eq!(<(Standardiser, Standardiser)>::load(&file[..])?.1, scale);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl<A: Saved, B: Saved> Saved for (A, B) {
    const KIND: &'static str = PAIR;
    const VERSION: u32 = 1;

    fn check(&self) -> Result<(), String> {
        self.0.check()?;
        self.1.check()
    }

    fn save(&self, mut to: impl Write) -> Result<(), ModelError> {
        self.1.check().map_err(|reason| ModelError::Unsaved { kind: B::KIND, reason })?;
        self.0.check().map_err(|reason| ModelError::Unsaved { kind: A::KIND, reason })?;
        write!(to, "[")?;
        self.0.save(&mut to)?;
        write!(to, ",")?;
        self.1.save(&mut to)?;
        writeln!(to, "]")?;
        to.flush()?;
        Ok(())
    }

    fn load(from: impl Read) -> Result<Self, ModelError> {
        let text = text_of(from)?;
        if let Ok(Head { kind: found, written_by: loader, .. }) = serde_json::from_slice(&text) {
            return Err(ModelError::Kind { found, loader, expected: Self::KIND });
        }
        let (first, second): (&RawValue, &RawValue) = serde_json::from_slice(&text)
            .map_err(|source| ModelError::Format { kind: Self::KIND, source })?;
        Ok((A::load(first.get().as_bytes())?, B::load(second.get().as_bytes())?))
    }
}

/// Reads a model file whole, because a text is parsed several times as fast as a stream. Of a file that does not begin with `{"`, or with
/// `[{"` as a pair, only 64 bytes are read: it is no model, and may have no end.
///
/// # Errors
/// Those of the reader.
pub fn text_of(mut from: impl Read) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    from.by_ref().take(64).read_to_end(&mut text)?;
    let opening = text.iter().filter(|byte| !byte.is_ascii_whitespace());
    let mut opening = opening.skip_while(|byte| **byte == b'[');
    if (opening.next(), opening.next()) == (Some(&b'{'), Some(&b'"')) {
        from.read_to_end(&mut text)?;
    }
    Ok(text)
}

/// The content of a model file with its checksum, from the text of the model. It serves programs that write or change models as
/// JSON.
pub fn envelope(kind: &str, version: u32, model: &str) -> String {
    let (kind, crc) = (serde_json::Value::from(kind), crc32fast::hash(model.as_bytes()));
    format!(r#"{{"kind":{kind},"version":{version},"model":{model},"crc32":{crc}}}"#)
}

/// Passes bytes on and computes their checksum.
struct Summed<W> {
    to: W,
    crc: crc32fast::Hasher,
}

impl<W: Write> Write for Summed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes)?;
        self.crc.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::arr1;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Slope {
        slope: f64,
    }

    impl Saved for Slope {
        const KIND: &'static str = "slope";
        const VERSION: u32 = 2;

        fn check(&self) -> Result<(), String> {
            if self.slope > 0.0 { Ok(()) } else { Err(format!("slope = {}", self.slope)) }
        }
    }

    #[test]
    fn numbers_come_back_bit_for_bit() {
        for slope in [0.1, f64::MIN_POSITIVE, 1.0 / 3.0, 1e300, 5e-324] {
            let mut file = vec![];
            Slope { slope }.save(&mut file).unwrap();
            assert_eq!(Slope::load(&file[..]).unwrap().slope.to_bits(), slope.to_bits());
        }
    }

    #[test]
    fn files_are_named_where_they_cannot_be_opened() {
        let path = std::env::temp_dir().join(format!("fenchel-slope-{}.json", std::process::id()));
        Slope { slope: 0.5 }.save_file(&path).unwrap();
        let loaded = Slope::load_file(&path);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(loaded.unwrap(), Slope { slope: 0.5 });
        let name = path.display().to_string();
        let missing = Slope::load_file(&path).unwrap_err();
        assert!(matches!(missing, ModelError::Io(_)) && missing.to_string().contains(&name));
        let folder = std::env::temp_dir();
        let unread = Slope::load_file(&folder).unwrap_err().to_string();
        assert!(unread.starts_with(&folder.display().to_string()), "{unread}");
        let nowhere = Slope { slope: 0.5 }.save_file(path.join("no folder"));
        assert!(nowhere.unwrap_err().to_string().contains(&name));
    }

    #[test]
    fn foreign_files_are_refused_by_name() {
        let refused = |text: &str| Slope::load(text.as_bytes()).unwrap_err().to_string();
        assert!(refused("{").starts_with("the slope file ends early: EOF"));
        assert!(refused("").starts_with("the slope file ends early: EOF"));
        assert!(refused("hello").starts_with("not a slope file: expected value"));
        // Without end.
        for (first, then) in [("x", b'x'), ("{", b'{'), ("{[", b'{'), ("\n", b'{')] {
            let error = Slope::load(first.as_bytes().chain(io::repeat(then))).unwrap_err();
            assert!(error.to_string().starts_with("not a slope file"), "{error}");
        }
        for endless in [b'[', b'\t'].map(io::repeat) {
            let error = Slope::load("[".as_bytes().chain(endless)).unwrap_err().to_string();
            assert!(error.starts_with("the file holds a pair of models"), "{error}");
        }
        assert!(refused(r#"{"kind":"curve","version":2,"model":{}}"#).contains("holds a curve"));
        assert!(refused(r#"{"kind":"slope","version":3,"model":{}}"#).contains("version 3"));
        assert!(refused(r#"{"kind":"slope","version":2}"#).contains("missing field `model`"));
        assert!(refused(r#"{"kind":"slope","version":2,"model":{}}"#).contains("`crc32`"));
        let with_sum = |model: &str| {
            Slope::load(envelope("slope", 2, model).as_bytes()).unwrap_err().to_string()
        };
        assert!(with_sum("{}").contains("missing field `slope`"));
        assert!(with_sum(r#"{"slope":-1}"#).contains("-1"));
    }

    #[derive(Debug, Serialize, Deserialize)]
    struct Labelled<L> {
        label: L,
    }

    impl<L: Serialize + DeserializeOwned> Saved for Labelled<L> {
        const KIND: &'static str = "label";
        const VERSION: u32 = 1;

        fn check(&self) -> Result<(), String> {
            Ok(())
        }
    }

    #[test]
    fn the_type_that_loads_a_file_is_named() {
        let mut file = vec![];
        Labelled { label: vec!["a".to_string()] }.save(&mut file).unwrap();
        assert_eq!(Labelled::<Vec<String>>::load(&file[..]).unwrap().label, ["a"]);
        let error = Labelled::<Vec<f64>>::load(&file[..]).unwrap_err().to_string();
        let expected = "the label in the file, which Labelled<Vec<String>> loads, does not have the form of Labelled<Vec<f64>>: \
                        invalid type: string \"a\", expected f64";
        assert!(error.starts_with(expected), "{error}");
        let error = Slope::load(&file[..]).unwrap_err().to_string();
        assert_eq!(
            error,
            "the file holds a label, which Labelled<Vec<String>> loads; expected a slope"
        );
        // Another type may have the same form.
        let mut file = vec![];
        Labelled { label: 3_u8 }.save(&mut file).unwrap();
        assert_eq!(Labelled::<f64>::load(&file[..]).unwrap().label, 3.0);
    }

    #[test]
    fn a_pair_is_one_file_and_each_half_is_checked() {
        let pair = || {
            (Slope { slope: 0.1 }, Standardiser { means: arr1(&[2.0]), deviations: arr1(&[0.5]) })
        };
        let mut file = vec![];
        pair().save(&mut file).unwrap();
        assert_eq!(<(Slope, Standardiser)>::load(&file[..]).unwrap(), pair());
        let mut nested = vec![];
        (pair(), Slope { slope: 3.0 }).save(&mut nested).unwrap();
        let found = <((Slope, Standardiser), Slope)>::load(&nested[..]).unwrap();
        assert_eq!(found, (pair(), Slope { slope: 3.0 }));
        let error = <(Standardiser, Slope)>::load(&file[..]).unwrap_err().to_string();
        assert_eq!(error, "the file holds a slope, which Slope loads; expected a standardiser");
        let error = Slope::load(&file[..]).unwrap_err().to_string();
        assert_eq!(error, "the file holds a pair of models; expected a slope");
        assert_eq!((article("encoder"), article("slope")), ("an encoder".into(), "a slope".into()));
        let mut one = vec![];
        pair().0.save(&mut one).unwrap();
        let error = <(Slope, Standardiser)>::load(&one[..]).unwrap_err().to_string();
        assert_eq!(error, "the file holds a slope, which Slope loads; expected a pair of models");
        let cut = &file[..file.len() / 2];
        let error = <(Slope, Standardiser)>::load(cut).unwrap_err().to_string();
        assert!(error.starts_with("the pair of models file ends early: EOF"), "{error}");
        let edited = String::from_utf8(file).unwrap().replace("2.0", "3.0");
        let error = <(Slope, Standardiser)>::load(edited.as_bytes()).unwrap_err();
        assert!(matches!(error, ModelError::Checksum { kind: "standardiser", .. }), "{error}");
        let with =
            |deviation: f64| Standardiser { means: arr1(&[2.0]), deviations: arr1(&[deviation]) };
        for bad in [0.0, -1.0, f64::NAN] {
            assert!((Slope { slope: 1.0 }, with(bad)).check().unwrap_err().contains("feature 0"));
        }
    }

    /// A fit that diverged: its file could be written, and not be read.
    #[test]
    fn what_could_not_be_loaded_is_not_saved() {
        let odd = Slope { slope: f64::NAN };
        let (mut file, expected) =
            (vec![], "the slope is not saved, as its file could not be loaded: slope = NaN");
        assert_eq!(odd.save(&mut file).unwrap_err().to_string(), expected);
        let pair = (Slope { slope: 1.0 }, odd);
        assert_eq!(pair.save(&mut file).unwrap_err().to_string(), expected);
        assert!(file.is_empty());
        let path = std::env::temp_dir().join(format!("fenchel-odd-{}.json", std::process::id()));
        assert_eq!(pair.save_file(&path).unwrap_err().to_string(), expected);
        assert!(!path.exists());
    }

    #[test]
    fn every_flipped_bit_is_refused() {
        let mut file = vec![];
        Slope { slope: 0.123_456_789 }.save(&mut file).unwrap();
        for bit in 0..8 * file.len() {
            let mut damaged = file.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(Slope::load(&damaged[..]).is_err(), "bit {bit}");
        }
        let edited = String::from_utf8(file).unwrap().replace("0.123", "0.124");
        let error = Slope::load(edited.as_bytes()).unwrap_err();
        assert!(matches!(error, ModelError::Checksum { .. }), "{error}");
        assert!(error.to_string().contains("damaged or was edited"));
    }
}
