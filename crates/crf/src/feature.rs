//! Features of tokens in the form of dictionaries.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::instance::Instance;

/// The value of a feature: a number, a flag, a text, or a collection of these.
///
/// The kinds of values and the resulting attribute names are those of python-crfsuite. So a dictionary written for it, for
/// instance as JSON, gives the same attributes here:
///
/// | feature under `key` | attributes |
/// |---|---|
/// | `Flag(true)`, `Flag(false)` | `key` of value 1, of value 0 |
/// | `Number(x)` | `key` of value x |
/// | `Text(text)` | `key:text` |
/// | `List(items)` | `key:item` for each |
/// | `Map(features)` | the attributes of each feature, with `key:` in front |
///
/// ```
/// use std::collections::BTreeMap;
/// use fenchel_crf::{Feature, Instance};
///
/// let token = r#"{"bias": 1.0, "+1": {"word": "the", "title": false}, "word": "in", "shape": ["x", "xx"]}"#;
/// let features: BTreeMap<String, Feature> = serde_json::from_str(token)?;
/// let mut sentence = Instance::new();
/// sentence.begin_token("");
/// for (key, feature) in &features {
///     sentence.push_feature(key, feature);
/// }
/// let attributes: Vec<_> = sentence.attributes(0).collect();
/// assert_eq!(attributes[..3], [("+1:title", 0.0), ("+1:word:the", 1.0), ("bias", 1.0)]);
/// assert_eq!(attributes[3..], [("shape:x", 1.0), ("shape:xx", 1.0), ("word:in", 1.0)]);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Feature {
    /// There, or not.
    Flag(bool),
    /// A value.
    Number(f64),
    /// A category.
    Text(String),
    /// Several categories.
    List(Vec<String>),
    /// Features under keys of their own.
    Map(BTreeMap<String, Feature>),
}

impl Feature {
    /// Writes the attributes. `name` holds the parts of the key, and is unchanged afterwards.
    fn push_to<'f>(&'f self, name: &mut Vec<&'f str>, instance: &mut Instance) {
        let before = name.len();
        match self {
            Feature::Flag(there) => instance.push_parts(name, f64::from(*there)),
            Feature::Number(value) => instance.push_parts(name, *value),
            Feature::Text(text) => {
                name.extend([":", text]);
                instance.push_parts(name, 1.0);
            }
            Feature::List(items) => {
                for item in items {
                    name.truncate(before);
                    name.extend([":", item]);
                    instance.push_parts(name, 1.0);
                }
            }
            Feature::Map(features) => {
                for (key, feature) in features {
                    name.truncate(before);
                    name.extend([":", key]);
                    feature.push_to(name, instance);
                }
            }
        }
        name.truncate(before);
    }
}

impl Instance {
    /// Adds the attributes of a feature to the last token, as [`push`](Self::push) does.
    pub fn push_feature(&mut self, key: &str, feature: &Feature) {
        feature.push_to(&mut vec![key], self);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What python-crfsuite 0.9.12 makes of the same dictionary, in its order of the keys sorted.
    #[test]
    fn names_are_those_of_python_crfsuite() {
        let text = r#"{"w":"the","n":2,"t":true,"f":false,"l":["a","b"],"m":{"x":1.5,"y":"z","q":{"r":true}},"e":[],"o":{}}"#;
        let features: BTreeMap<String, Feature> = serde_json::from_str(text).unwrap();
        let mut instance = Instance::new();
        instance.begin_token("A");
        features.iter().for_each(|(key, feature)| instance.push_feature(key, feature));
        let expected = [
            ("f", 0.0),
            ("l:a", 1.0),
            ("l:b", 1.0),
            ("m:q:r", 1.0),
            ("m:x", 1.5),
            ("m:y:z", 1.0),
            ("n", 2.0),
            ("t", 1.0),
            ("w:the", 1.0),
        ];
        assert_eq!(instance.attributes(0).collect::<Vec<_>>(), expected);
        let written = serde_json::to_string(&features).unwrap();
        assert_eq!(serde_json::from_str::<BTreeMap<String, Feature>>(&written).unwrap(), features);
    }
}
