//! Templates, which make the attributes of a token from the columns of the tokens around it.
//!
//! The syntax is that of CRF++, with one template per line. In a template, `%x[row,column]` is replaced by the text of a cell.
//! `row` is relative to the current token: 0 is the token itself, -1 the token before. `column` counts the columns from the
//! left, from 0. For example:
//!
//! ```text
//! # the word, the word before, and both together
//! U00:%x[0,0]
//! U01:%x[-1,0]
//! U02:%x[-1,0]/%x[0,0]
//! B
//! ```
//!
//! The text before the first cell is part of the attribute's name and distinguishes the templates. A line `B` asks for
//! transitions, which every model of this crate has. A template that begins with `B` and has cells would make attributes of
//! transitions, and is refused.

use std::io::BufRead;

use serde::{Deserialize, Serialize};

use super::fault;
use crate::Error;
use crate::instance::Instance;

/// The text of a cell before the first or after the last token.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Boundary {
    /// The token gets no attribute from the template, as in CRFsuite's own scripts.
    Omit,
    /// One string for all cells outside, which gives the counts of attributes in Le Priol et al. (2018).
    Symbol(String),
    /// `_B-1`, `_B-2`, ... before the first token, `_B+1`, ... after the last one, as in CRF++.
    #[default]
    Numbered,
}

/// A list of templates, and their behaviour at the ends of a sequence.
///
/// ```
/// use fenchel_crf::Instance;
/// use fenchel_crf::text::{Boundary, Template};
///
/// let templates = Template::parse("U00:%x[0,0]\nU01:%x[-1,0]|%x[0,1]\nB\n".as_bytes())?;
/// let sentence = [["the", "DT"], ["pound", "NN"]];
/// let mut instance = Instance::new();
/// templates.expand(&sentence, &["B-NP", "I-NP"], &mut instance)?;
/// let first: Vec<_> = instance.attributes(0).map(|(name, _)| name).collect();
/// assert_eq!(first, ["U00:the", "U01:_B-1|DT"]);
/// # Ok::<(), fenchel_crf::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(into = "Written", try_from = "Written")]
pub struct Template {
    lines: Vec<Vec<Part>>,
    /// The text of cells outside the sequence.
    pub boundary: Boundary,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Cell { row: i32, column: usize },
}

impl Template {
    /// Reads templates; comments (`#`) and blank lines are skipped.
    ///
    /// # Errors
    /// [`Error::Format`] with line and column (a byte; both count from 1) for a malformed cell, a line that begins with neither
    /// `U` nor `B`, and a template of transitions with cells; [`Error::Read`].
    pub fn parse(from: impl BufRead) -> Result<Self, Error> {
        let mut lines = Vec::new();
        for (number, line) in fenchel_linalg::lines(from).enumerate() {
            let line = line.map_err(Error::read)?;
            let text = line.trim();
            let at = |column: usize, reason: &str| {
                fault(number as u64 + 1, column as u64 + 1, reason.to_owned())
            };
            match text.chars().next() {
                None | Some('#') => {}
                Some('B') if !text.contains("%x") => {}
                Some('B') => {
                    return Err(at(
                        0,
                        "attributes of transitions are not supported; use a plain B",
                    ));
                }
                Some('U') => {
                    lines.push(parse_line(text).map_err(|(place, reason)| at(place, reason))?)
                }
                Some(_) => return Err(at(0, "expected a template that begins with U or B")),
            }
        }
        Ok(Template { lines, boundary: Boundary::default() })
    }

    /// Makes one template per list of cells `[(row, column), ...]`. The templates are numbered `0:`, `1:`, ..., with `|`
    /// between the cells.
    pub fn from_cells<C: AsRef<[(i32, usize)]>>(templates: &[C], boundary: Boundary) -> Self {
        let line = |(number, cells): (usize, &C)| {
            let mut parts = vec![Part::Text(format!("{number}:"))];
            for (k, &(row, column)) in cells.as_ref().iter().enumerate() {
                if k > 0 {
                    parts.push(Part::Text("|".to_owned()));
                }
                parts.push(Part::Cell { row, column });
            }
            parts
        };
        Template { lines: templates.iter().enumerate().map(line).collect(), boundary }
    }

    /// The 19 templates of CRFsuite's chunking example, over the columns word and part of speech: words from -2 to 2, two pairs
    /// of words, parts of speech from -2 to 2, four pairs and three triples of parts of speech.
    pub fn chunking(boundary: Boundary) -> Self {
        Template::from_cells(&chunking_cells(), boundary)
    }

    /// Templates for named entities that reproduce the counts of attributes in Le Priol et al. (2018): words from -1 to 1 and
    /// two pairs of them, the twelve templates of parts of speech of [`chunking`](Self::chunking), and three pairs at a
    /// distance of two.
    pub fn named_entities() -> Self {
        let mut cells: Vec<Vec<(i32, usize)>> = vec![
            vec![(0, 0)],
            vec![(-1, 0)],
            vec![(1, 0)],
            vec![(-1, 0), (0, 0)],
            vec![(0, 0), (1, 0)],
        ];
        cells.extend(chunking_cells().into_iter().filter(|cells| cells[0].1 == 1));
        cells.extend([vec![(-2, 1), (0, 1)], vec![(-1, 1), (1, 1)], vec![(0, 1), (2, 1)]]);
        Template::from_cells(&cells, Boundary::Symbol("_".to_owned()))
    }

    /// Number of templates.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Appends the tokens of a sequence to `instance`. The cells are `tokens[t][column]`. There is one label per token, or none
    /// at all.
    ///
    /// # Errors
    /// [`Error::Invalid`] for another number of labels, and for a token without a column that a template uses.
    pub fn expand<T: AsRef<[S]>, S: AsRef<str>, L: AsRef<str>>(
        &self,
        tokens: &[T],
        labels: &[L],
        instance: &mut Instance,
    ) -> Result<(), Error> {
        use fenchel_linalg::Invalid;
        if !labels.is_empty() {
            Invalid::check_length("labels", tokens.len(), labels.len())?;
        }
        let columns = self.columns();
        for (t, token) in tokens.iter().enumerate() {
            let found = token.as_ref().len();
            if found < columns {
                let reason = format!("token {t} has {found} columns; the templates need {columns}");
                return Err(Invalid::Layout { what: "tokens", reason }.into());
            }
        }
        let mut name = String::new();
        for t in 0..tokens.len() {
            instance.begin_token(labels.get(t).map_or("", AsRef::as_ref));
            for line in &self.lines {
                name.clear();
                if self.write(line, tokens, t, &mut name) {
                    instance.push(&name, 1.0);
                }
            }
        }
        Ok(())
    }

    /// The number of columns that a token must have.
    pub fn columns(&self) -> usize {
        let cell = |part: &Part| if let Part::Cell { column, .. } = part { column + 1 } else { 0 };
        self.lines.iter().flatten().map(cell).max().unwrap_or(0)
    }

    /// Whether a template uses a column. The column of the labels should not be used.
    pub fn reads(&self, column: usize) -> bool {
        self.lines
            .iter()
            .flatten()
            .any(|part| matches!(part, Part::Cell { column: c, .. } if *c == column))
    }

    /// Writes one attribute; `false` if it is to be left out.
    fn write<T: AsRef<[S]>, S: AsRef<str>>(
        &self,
        line: &[Part],
        tokens: &[T],
        t: usize,
        name: &mut String,
    ) -> bool {
        for part in line {
            match part {
                Part::Text(text) => name.push_str(text),
                &Part::Cell { row, column } => {
                    let place = t as i64 + i64::from(row);
                    if let Some(token) =
                        usize::try_from(place).ok().and_then(|place| tokens.get(place))
                    {
                        name.push_str(token.as_ref()[column].as_ref());
                        continue;
                    }
                    match &self.boundary {
                        Boundary::Omit => return false,
                        Boundary::Symbol(symbol) => name.push_str(symbol),
                        Boundary::Numbered if place < 0 => name.push_str(&format!("_B-{}", -place)),
                        Boundary::Numbered => {
                            name.push_str(&format!("_B+{}", place - tokens.len() as i64 + 1));
                        }
                    }
                }
            }
        }
        true
    }
}

/// The form of templates in a model file.
#[derive(Serialize, Deserialize)]
struct Written {
    templates: Vec<String>,
    boundary: Boundary,
}

impl From<Template> for Written {
    fn from(template: Template) -> Written {
        let part = |part: &Part| match part {
            Part::Text(text) => text.clone(),
            Part::Cell { row, column } => format!("%x[{row},{column}]"),
        };
        let lines = template.lines.iter();
        let templates = lines.map(|line| line.iter().map(part).collect()).collect();
        Written { templates, boundary: template.boundary }
    }
}

impl TryFrom<Written> for Template {
    type Error = String;

    fn try_from(written: Written) -> Result<Template, String> {
        let line =
            |text: &String| parse_line(text).map_err(|(_, reason)| format!("{text}: {reason}"));
        let lines = written.templates.iter().map(line).collect::<Result<_, _>>()?;
        Ok(Template { lines, boundary: written.boundary })
    }
}

fn chunking_cells() -> Vec<Vec<(i32, usize)>> {
    let mut cells: Vec<Vec<(i32, usize)>> = (-2..=2).map(|row| vec![(row, 0)]).collect();
    cells.extend([vec![(-1, 0), (0, 0)], vec![(0, 0), (1, 0)]]);
    cells.extend((-2..=2).map(|row| vec![(row, 1)]));
    cells.extend((-2..=1).map(|row| vec![(row, 1), (row + 1, 1)]));
    cells.extend((-2..=0).map(|row| vec![(row, 1), (row + 1, 1), (row + 2, 1)]));
    cells
}

fn parse_line(text: &str) -> Result<Vec<Part>, (usize, &'static str)> {
    let mut parts = Vec::new();
    let mut place = 0;
    while let Some(found) = text[place..].find("%x") {
        let start = place + found;
        if start > place {
            parts.push(Part::Text(text[place..start].to_owned()));
        }
        let malformed = (start, "expected %x[row,column], as in %x[-1,0]");
        let inner = text[start + 2..].strip_prefix('[').ok_or(malformed)?;
        let end = inner.find(']').ok_or(malformed)?;
        let (row, column) = inner[..end].split_once(',').ok_or(malformed)?;
        let row = row.trim().parse().map_err(|_| malformed)?;
        let column = column.trim().parse().map_err(|_| malformed)?;
        if column > u16::MAX as usize {
            return Err((start, "a column this far to the right is surely a mistake"));
        }
        parts.push(Part::Cell { row, column });
        place = start + 3 + end + 1;
    }
    if place < text.len() {
        parts.push(Part::Text(text[place..].to_owned()));
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SENTENCE: [[&str; 2]; 3] = [["He", "PRP"], ["reckons", "VBZ"], ["the", "DT"]];

    fn names(template: &Template, token: usize) -> Vec<String> {
        let mut instance = Instance::new();
        template.expand(&SENTENCE, &[] as &[&str], &mut instance).unwrap();
        instance.attributes(token).map(|(name, _)| name.to_owned()).collect()
    }

    #[test]
    fn cells_text_and_boundaries() {
        let text = "# words\n\nU0:%x[-2,0]\n U1:a%x[0,1]-%x[ 1 , 0 ]z\nU2\nB\n";
        let mut template = Template::parse(text.as_bytes()).unwrap();
        assert_eq!((template.len(), template.columns()), (3, 2));
        assert_eq!([0, 1, 2].map(|column| template.reads(column)), [true, true, false]);
        assert!(!Template::parse("U0:%x[0,1]".as_bytes()).unwrap().reads(0));
        assert_eq!(names(&template, 0), ["U0:_B-2", "U1:aPRP-reckonsz", "U2"]);
        assert_eq!(names(&template, 2), ["U0:He", "U1:aDT-_B+1z", "U2"]);
        template.boundary = Boundary::Symbol("#".to_owned());
        assert_eq!(names(&template, 1)[0], "U0:#");
        template.boundary = Boundary::Omit;
        assert_eq!(names(&template, 2), ["U0:He", "U2"]);
    }

    #[test]
    fn written_and_read_again() {
        let parsed = Template::parse("U0:%x[-2,0]\nU1:a%x[0,1]-%x[1,0]z\nU2\n".as_bytes()).unwrap();
        for template in [parsed, Template::chunking(Boundary::Omit), Template::named_entities()] {
            let text = serde_json::to_string(&template).unwrap();
            assert_eq!(serde_json::from_str::<Template>(&text).unwrap(), template, "{text}");
        }
        let broken = r#"{"templates": ["U:%x[0]"], "boundary": "Omit"}"#;
        assert!(
            serde_json::from_str::<Template>(broken)
                .unwrap_err()
                .to_string()
                .contains("expected %x")
        );
    }

    #[test]
    fn the_standard_lists() {
        let template = Template::chunking(Boundary::Omit);
        assert_eq!(template.len(), 19);
        let middle = names(&template, 1);
        assert!(middle.contains(&"5:He|reckons".to_owned()), "{middle:?}");
        assert!(middle.contains(&"17:PRP|VBZ|DT".to_owned()), "{middle:?}");
        assert_eq!(Template::named_entities().len(), 20);
        assert_eq!(names(&Template::named_entities(), 0).len(), 20);
    }

    #[test]
    fn faults_name_the_place() {
        let message = |text: &str| Template::parse(text.as_bytes()).unwrap_err().to_string();
        assert_eq!(
            message("U0:%x[0,0]\nU1:%x[0;0]"),
            "line 2, column 4: expected %x[row,column], as in %x[-1,0]"
        );
        for text in ["U:%x", "U:%x[0", "U:%x[a,0]", "U:%x[0,-1]", "U:%x[0]"] {
            assert!(message(text).contains("expected %x"), "{text}");
        }
        assert!(message("U:%x[0,99999999]").contains("mistake"));
        assert!(message("X0").contains("begins with U or B"));
        assert!(message("B:%x[0,0]").contains("transitions"));
    }

    #[test]
    fn tokens_and_labels_must_fit() {
        let template = Template::chunking(Boundary::Omit);
        let mut instance = Instance::new();
        let error = template.expand(&[["a"]], &[] as &[&str], &mut instance).unwrap_err();
        assert!(
            error.to_string().contains("token 0 has 1 columns; the templates need 2"),
            "{error}"
        );
        assert!(template.expand(&SENTENCE, &["O"], &mut instance).is_err());
    }
}
