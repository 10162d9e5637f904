//! Handwritten words, letter by letter: the OCR set of Kassel and Taskar.

use std::io::BufRead;
use std::path::Path;

use fenchel_linalg::read_line;
use ndarray::Array2;

use crate::error::quoted;
use crate::open::unmarked;
use crate::{Error, open};

/// One word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// The cross-validation fold of the word, 0 to 9.
    pub fold: u8,
    /// The letters, `a` to `z`.
    pub letters: Vec<char>,
    /// The images, one row per letter: 16 x 8 pixels row by row, 0 or 1.
    pub pixels: Array2<u8>,
}

/// Pixels of an image.
const PIXELS: usize = 128;

/// Reads words. Each letter is a line `fold letter pixels`, and an empty line follows each word. O(bytes).
///
/// # Errors
/// [`Error::Format`] with line and byte (both from 1) for a line of another form, a word whose letters lie in different
/// folds, and a text without letters; [`Error::Io`].
pub fn letters(mut from: impl BufRead) -> Result<Vec<Word>, Error> {
    let mut words = Vec::new();
    let mut current: Option<(u8, Vec<char>, Vec<u8>)> = None;
    let mut bytes = Vec::new();
    let mut line = 0u64;
    loop {
        bytes.clear();
        let end = read_line(&mut from, &mut bytes)? == 0;
        line += 1;
        let text = if line == 1 { unmarked(&bytes) } else { &bytes }.trim_ascii();
        if text.is_empty() {
            if let Some((fold, letters, pixels)) = current.take() {
                let pixels = Array2::from_shape_vec((letters.len(), PIXELS), pixels)
                    .expect("every letter has all its pixels");
                words.push(Word { fold, letters, pixels });
            }
            if end {
                break;
            }
            continue;
        }
        let (fold, letter, image) = parse(text, line)?;
        let (first, letters, pixels) = current.get_or_insert((fold, Vec::new(), Vec::new()));
        if *first != fold {
            let reason = format!("fold {fold} in a word of fold {first}");
            return Err(Error::format(line, 1, reason));
        }
        letters.push(letter);
        pixels.extend(image.iter().map(|&pixel| pixel - b'0'));
    }
    if words.is_empty() {
        return Err(Error::format(1, 1, "no letters; expected lines `fold letter pixels`"));
    }
    Ok(words)
}

/// Reads a file of words, plain or compressed.
///
/// # Errors
/// As [`letters`], with the path in every message.
pub fn letters_file(path: impl AsRef<Path>) -> Result<Vec<Word>, Error> {
    let path = path.as_ref();
    letters(open(path)?).map_err(|error| error.in_file(path))
}

fn parse(text: &[u8], line: u64) -> Result<(u8, char, &[u8]), Error> {
    let fault = |column: usize, what: &str, found: &[u8]| {
        Error::format(line, column, format!("expected {what}, found {}", quoted(found)))
    };
    let [fold @ b'0'..=b'9', b' ', letter @ b'a'..=b'z', b' ', image @ ..] = text else {
        return Err(fault(1, "a fold from 0 to 9, a letter from a to z and pixels", text));
    };
    if image.len() != PIXELS {
        return Err(fault(5, "128 pixels", image));
    }
    if let Some(place) = image.iter().position(|pixel| !matches!(pixel, b'0' | b'1')) {
        return Err(fault(5 + place, "a pixel 0 or 1", &image[place..=place]));
    }
    Ok((fold - b'0', char::from(*letter), image))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(fold: u8, letter: char, ones: usize) -> String {
        format!("{fold} {letter} {}{}\n", "1".repeat(ones), "0".repeat(PIXELS - ones))
    }

    #[test]
    fn words_with_and_without_a_last_blank_line() {
        let text = format!("{}{}\n{}", line(3, 'o', 2), line(3, 'n', 0), line(4, 'a', 128));
        for text in [text.clone(), text + "\n\n"] {
            let words = letters(text.as_bytes()).unwrap();
            assert_eq!(words.len(), 2);
            assert_eq!((words[0].fold, words[0].letters.as_slice()), (3, ['o', 'n'].as_slice()));
            assert_eq!(words[0].pixels.row(0).iter().map(|&p| u32::from(p)).sum::<u32>(), 2);
            assert_eq!(words[1].pixels.dim(), (1, 128));
            assert!(words[1].pixels.iter().all(|&p| p == 1));
        }
    }

    #[test]
    fn faults_name_the_place() {
        let message = |text: &str| letters(text.as_bytes()).unwrap_err().to_string();
        assert!(message("").contains("no letters"));
        assert!(message("x a 01").starts_with("line 1, column 1: expected a fold"));
        assert!(message("0 a 01").starts_with("line 1, column 5: expected 128 pixels"));
        let bad = line(0, 'a', 3).replacen("111", "121", 1);
        assert_eq!(message(&bad), "line 1, column 6: expected a pixel 0 or 1, found \"2\"");
        let mixed = line(0, 'a', 3) + &line(1, 'b', 3);
        assert_eq!(message(&mixed), "line 2, column 1: fold 1 in a word of fold 0");
    }
}
