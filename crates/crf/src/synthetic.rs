//! Generated data sets of two kinds on which training methods differ: sparse text and dense images.
//!
//! On [`text_like`] data most attributes occur in few sequences, so that the blocks are nearly independent, and dual ascent by
//! gaps needs the fewest passes. On [`ocr_like`] data every sequence has the same 128 attributes.

use fenchel_linalg::Invalid;
use fenchel_optim::random::{Generator, stream};
use fenchel_optim::settings;
use rand::RngExt;
use rand::seq::SliceRandom;
use rand_distr::{Distribution, Gamma, Geometric, Zipf};

use crate::Error;
use crate::dataset::{Dataset, Token};

settings! {
    /// Settings of [`text_like`].
    #[derive(Copy)]
    pub struct TextLike {
        /// Number of sequences.
        sequences: usize = 2_000,
        /// Number of labels `K >= 2`.
        labels: usize = 9,
        /// Number of words per template.
        words: usize = 20_000,
        /// Number of attributes per token, one per template.
        templates: usize = 12,
        /// Mean length of a sequence.
        mean_length: f64 = 13.0,
        /// Exponent of Zipf's law, which the words follow.
        exponent: f64 = 1.1,
        /// Fraction of the attributes that depend on the label, in `[0, 1]`.
        signal: f64 = 0.5,
        /// The seed.
        seed: u64 = 0,
    }
}

settings! {
    /// Settings of [`ocr_like`].
    #[derive(Copy)]
    pub struct OcrLike {
        /// Number of words (sequences).
        sequences: usize = 2_000,
        /// Number of letters `K >= 2`.
        labels: usize = 26,
        /// Number of pixels per image.
        pixels: usize = 128,
        /// Length of the longest word, at least 3, which is the length of the shortest.
        longest: usize = 12,
        /// Fraction of the pixels that are flipped, in `[0, 1]`.
        flips: f64 = 0.12,
        /// The seed.
        seed: u64 = 0,
    }
}

/// Generates sequences like tagged text. Labels tend to repeat, and the first one is by far the most frequent. Lengths are
/// geometric, and words are rare. The word of a template follows Zipf's law; with probability `signal` it is mapped by a
/// permutation that depends on the label.
///
/// ```
/// use fenchel_crf::synthetic::{TextLike, text_like};
///
/// let data = text_like(&TextLike { sequences: 100, ..TextLike::default() })?;
/// assert_eq!((data.sequences(), data.labels(), data.attributes()), (100, 9, 240_000));
/// assert_eq!(data.entries(), 12 * data.tokens());
/// # Ok::<(), fenchel_crf::Error>(())
/// ```
///
/// # Errors
/// [`Error::Invalid`] for settings out of range.
pub fn text_like(settings: &TextLike) -> Result<Dataset, Error> {
    let TextLike { sequences, labels, words, templates, .. } = *settings;
    check_count("labels", labels, 2)?;
    check_count("words", words, 1)?;
    check_share("signal", settings.signal)?;
    let bad = |name, value, expected| Error::from(Invalid::Parameter { name, value, expected });
    let length = Geometric::new(1.0 / settings.mean_length)
        .ok()
        .filter(|_| settings.mean_length >= 1.0)
        .ok_or_else(|| bad("mean_length", settings.mean_length, "a number >= 1"))?;
    let zipf = Zipf::new(words as f64, settings.exponent)
        .map_err(|_| bad("exponent", settings.exponent, "a number >= 0"))?;
    let total = words as u64 * templates as u64;
    let attributes = u32::try_from(total).map_err(|_| {
        bad("templates", templates as f64, "fewer than 2^32 words in all templates")
    })?;

    let mut rng = stream(settings.seed, 0);
    let rows: Vec<Vec<f64>> = (0..labels)
        .map(|k| {
            let mut row = dirichlet(&mut rng, labels, 0.3)?;
            row[0] += 4.0;
            row[k] += 0.8;
            Ok(row)
        })
        .collect::<Result<_, Error>>()?;
    let permutations: Vec<Vec<u32>> = (0..labels)
        .map(|_| {
            let mut words: Vec<u32> = (0..words as u32).collect();
            words.shuffle(&mut rng);
            words
        })
        .collect();
    let mut data = Dataset::new(attributes as usize, labels);
    let mut tokens: Vec<(u32, Vec<(u32, f64)>)> = Vec::new();
    for i in 0..sequences {
        let mut rng = stream(settings.seed, 1 + i as u64);
        tokens.clear();
        let mut label = 0;
        for _ in 0..=length.sample(&mut rng) {
            label = draw(&mut rng, &rows[label]);
            let attributes = (0..templates as u32).map(|template| {
                let word = zipf.sample(&mut rng) as usize - 1;
                let permuted = rng.random::<f64>() < settings.signal;
                let word = if permuted { permutations[label][word] } else { word as u32 };
                (template * words as u32 + word, 1.0)
            });
            let attributes = attributes.collect();
            tokens.push((label as u32, attributes));
        }
        push(&mut data, &tokens)?;
    }
    Ok(data)
}

/// Generates words like handwritten ones. Each letter has three binary images, of which pixels are flipped. The frequencies of
/// successive letters are very uneven.
///
/// ```
/// use fenchel_crf::synthetic::{OcrLike, ocr_like};
///
/// let data = ocr_like(&OcrLike { sequences: 100, ..OcrLike::default() })?;
/// assert_eq!((data.sequences(), data.labels(), data.attributes()), (100, 26, 128));
/// # Ok::<(), fenchel_crf::Error>(())
/// ```
///
/// # Errors
/// [`Error::Invalid`] for settings out of range.
pub fn ocr_like(settings: &OcrLike) -> Result<Dataset, Error> {
    const PROTOTYPES: usize = 3;
    const INK: f64 = 0.22;
    let OcrLike { sequences, labels, pixels, longest, flips, seed } = *settings;
    check_count("labels", labels, 2)?;
    check_count("pixels", pixels, 1)?;
    check_count("longest", longest, 3)?;
    check_share("flips", flips)?;
    let mut rng = stream(seed, 0);
    let images: Vec<bool> =
        (0..labels * PROTOTYPES * pixels).map(|_| rng.random::<f64>() < INK).collect();
    let rows: Vec<Vec<f64>> =
        (0..=labels).map(|_| dirichlet(&mut rng, labels, 0.25)).collect::<Result<_, _>>()?;
    let mut data = Dataset::new(pixels, labels);
    let mut tokens: Vec<(u32, Vec<(u32, f64)>)> = Vec::new();
    for i in 0..sequences {
        let mut rng = stream(seed, 1 + i as u64);
        tokens.clear();
        // The last row is that of first letters.
        let mut label = labels;
        for _ in 0..rng.random_range(3..=longest) {
            label = draw(&mut rng, &rows[label]);
            let image = label * PROTOTYPES + rng.random_range(0..PROTOTYPES);
            let image = &images[image * pixels..][..pixels];
            let inked = |&(_, &on): &(u32, &bool)| on != (rng.random::<f64>() < flips);
            tokens.push((
                label as u32,
                (0..).zip(image).filter(inked).map(|(p, _)| (p, 1.0)).collect(),
            ));
        }
        push(&mut data, &tokens)?;
    }
    Ok(data)
}

fn push(data: &mut Dataset, tokens: &[(u32, Vec<(u32, f64)>)]) -> Result<(), Error> {
    let tokens: Vec<Token> =
        tokens.iter().map(|(label, attributes)| Token { attributes, label: *label }).collect();
    data.push(&tokens)
}

/// A draw from the symmetric distribution of Dirichlet: normalised draws from gamma distributions.
fn dirichlet(rng: &mut Generator, states: usize, concentration: f64) -> Result<Vec<f64>, Error> {
    let gamma = Gamma::new(concentration, 1.0).map_err(|_| {
        let expected = "a positive number";
        Invalid::Parameter { name: "concentration", value: concentration, expected }
    })?;
    let draws: Vec<f64> = (0..states).map(|_| gamma.sample(rng)).collect();
    let total: f64 = draws.iter().sum();
    Ok(draws.into_iter().map(|draw| draw / total).collect())
}

/// An index with probability proportional to its weight.
fn draw(rng: &mut Generator, weights: &[f64]) -> usize {
    let mut mass = rng.random::<f64>() * weights.iter().sum::<f64>();
    let last = weights.len() - 1;
    weights[..last]
        .iter()
        .position(|weight| {
            mass -= weight;
            mass < 0.0
        })
        .unwrap_or(last)
}

fn check_count(name: &'static str, value: usize, least: usize) -> Result<(), Invalid> {
    let expected = if least == 1 {
        "at least 1"
    } else if least == 2 {
        "at least 2"
    } else {
        "at least 3"
    };
    if value >= least && u32::try_from(value).is_ok() {
        return Ok(());
    }
    Err(Invalid::Parameter { name, value: value as f64, expected })
}

fn check_share(name: &'static str, value: f64) -> Result<(), Invalid> {
    if (0.0..=1.0).contains(&value) {
        return Ok(());
    }
    Err(Invalid::Parameter { name, value, expected: "a number in [0, 1]" })
}
