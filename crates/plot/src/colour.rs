//! One palette for all pictures, in light and dark, and the colours that methods keep in all of them.
//!
//! The hues are those of Okabe and Ito ("Color Universal Design", 2008) without their yellow, which is hard to see on white, and with
//! a purple and a brown. People with any common form of colour blindness can tell the first six apart.

#[cfg(feature = "serde")]
use serde::{Deserialize, Serialize};

macro_rules! palette {
    ($($(#[$about:meta])* $name:ident $light:literal $dark:literal,)*) => {
        /// A colour of the palette. It is another shade on a dark page.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        #[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
        pub enum Colour { $($(#[$about])* $name,)* }

        impl Colour {
            /// Every colour.
            pub(crate) const ALL: &'static [Colour] = &[$(Colour::$name),*];

            /// The colour on a light and on a dark page, as CSS.
            pub const fn hex(self) -> (&'static str, &'static str) {
                match self { $(Colour::$name => ($light, $dark),)* }
            }
        }
    };
}

palette! {
    /// Text and outlines.
    #[default]
    Ink "#222222" "#e6e4df",
    /// Axes, notes, and what is not in the foreground.
    Soft "#6b6f76" "#a2a8b0",
    /// Lines of a grid.
    Rule "#e2e2e2" "#3a3e45",
    /// The background.
    Paper "#ffffff" "#16181c",
    /// A hue.
    Blue "#0072b2" "#4aa3df",
    /// A hue.
    Vermilion "#d55e00" "#f0843c",
    /// A hue.
    Green "#009e73" "#2fc498",
    /// A hue.
    Pink "#cc79a7" "#e39ac3",
    /// A hue.
    Amber "#e69f00" "#f0b93c",
    /// A hue.
    Sky "#56b4e9" "#9ad6f7",
    /// A hue.
    Purple "#6a51a3" "#ab98e3",
    /// A hue.
    Brown "#8c5a2b" "#c69a6b",
}

use Colour::{Amber, Blue, Brown, Green, Ink, Pink, Purple, Sky, Soft, Vermilion};

/// The hues in the order in which names without a colour of their own take them.
const HUES: [Colour; 8] = [Blue, Vermilion, Green, Pink, Amber, Purple, Sky, Brown];

/// Methods that are compared with each other, in colours that differ within a comparison. A name that begins with one of them, such as
/// `SAGA, step 0.1`, has its hue.
const METHODS: [(Colour, &[&str]); 10] = [
    (
        Blue,
        &[
            "SDCA",
            "MAP",
            "causal",
            "SADE",
            "L1",
            "l1",
            "dual decomposition",
            "lasso",
            "mirror prox",
            "averaged predictions",
            "risk",
            "objective",
            "after",
            "adjusted",
            "untreated",
            "residuals",
            "if everybody",
            "estimate",
        ],
    ),
    (
        Vermilion,
        &[
            "SAGA",
            "OEG",
            "MLE",
            "anticausal",
            "SIR",
            "reweighted L1",
            "minimum-norm point",
            "mirror descent",
            "averaged parameters",
            "bias",
            "gap",
            "treated",
            "fitted",
            "SHORTCUT",
        ],
    ),
    (
        Green,
        &[
            "SVRG",
            "joint",
            "SPHD",
            "submodular",
            "square root",
            "subgradient",
            "CCT",
            "PDHG",
            "variance",
            "lower bound",
        ],
    ),
    (Pink, &["SAG", "ADE", "logarithm"]),
    (Purple, &["Finito", "Prox-Finito", "PHD", "sublinear"]),
    (Sky, &["MISO", "Prox-MISO", "DR"]),
    (Brown, &["L-BFGS", "MAVE"]),
    (Amber, &["FISTA", "coordinate descent", "ASAG", "SAVE", "neighbourhoods"]),
    (
        Soft,
        &[
            "SGD",
            "bound",
            "equal",
            "chance",
            "perfect",
            "train",
            "before",
            "unadjusted",
            "no averaging",
            "responses",
            "seen",
        ],
    ),
    (Ink, &["Newton", "exact", "truth", "true"]),
];

const DASHES: [&str; 4] = ["", "7 4", "2 3", "10 3 2 3"];

/// How a series looks: its colour, how much of it, the dashes of its line, and the number of its marker.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Look {
    pub(crate) colour: Colour,
    pub(crate) shade: f64,
    pub(crate) dashes: &'static str,
    pub(crate) marker: usize,
}

/// The method that a name begins with, or the name without its variant: `SAGA, step 0.1` and `n = 3` are variants of `SAGA` and `n`.
fn base(name: &str) -> (&str, Option<Colour>) {
    let ends = |key: &str| {
        let rest = name.strip_prefix(key);
        rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '-'))
    };
    let methods =
        METHODS.iter().flat_map(|(colour, keys)| keys.iter().map(move |key| (*key, *colour)));
    match methods.filter(|(key, _)| ends(key)).max_by_key(|(key, _)| key.len()) {
        Some((key, colour)) => (key, Some(colour)),
        None => {
            let end = [", ", " (", " = ", ": "].iter().filter_map(|cut| name.find(cut)).min();
            (&name[..end.filter(|&end| end > 0).unwrap_or(name.len())], None)
        }
    }
}

/// The looks of the series of a figure, given their names, whether they are dashed, and the colours that were asked for. A method has
/// its own colour in every figure; another name has one by its letters, or the next that is free. Variants of a method have its hue
/// and other dashes; if they are numbers, as in `n = 3` or `SAGA, step = 0.1`, they have rising shades.
pub(crate) fn looks<'a>(
    series: impl Iterator<Item = (&'a str, bool, Option<Colour>)>,
) -> Vec<Look> {
    let series: Vec<_> =
        series.map(|(name, dashed, own)| (base(name), name, dashed, own)).collect();
    let mut taken: Vec<(&str, Colour)> = Vec::new();
    for known in [true, false] {
        for &((base, preferred), .., own) in &series {
            if own.is_some()
                || base.is_empty() && series.len() > 1
                || preferred.is_some() != known
                || taken.iter().any(|(other, _)| *other == base)
            {
                continue;
            }
            let letters = base.bytes().fold(2_166_136_261_u32, |hash, b| {
                (hash ^ u32::from(b.to_ascii_lowercase())).wrapping_mul(16_777_619)
            });
            let start = if base.is_empty() { 0 } else { letters as usize % HUES.len() };
            let free = |colour: &Colour| {
                taken.iter().all(|(_, c)| c != colour)
                    && series.iter().all(|(.., own)| *own != Some(*colour))
            };
            let mut turns = (0..HUES.len()).map(|k| HUES[(start + k) % HUES.len()]);
            let first = preferred.unwrap_or(HUES[start]);
            let colour = if free(&first) { first } else { turns.find(free).unwrap_or(HUES[start]) };
            taken.push((base, colour));
        }
    }
    let colour_of = |k: usize| {
        let ((base, _), .., own) = series[k];
        if base.is_empty() && series.len() > 1 {
            return own.unwrap_or(Soft);
        }
        own.or_else(|| taken.iter().find(|t| t.0 == base).map(|t| t.1)).unwrap_or_default()
    };
    let all: Vec<Colour> = (0..series.len()).map(colour_of).collect();
    let look = |k: usize| {
        let ((base, _), _, dashed, _) = series[k];
        let numbered = |j: usize| series[j].1[series[j].0.0.len()..].contains(" = ");
        let ramp = numbered(k);
        let alike = |&j: &usize| {
            all[j] == all[k]
                && !series[j].0.0.is_empty()
                && series[j].2 == dashed
                && numbered(j) == ramp
                && (!ramp || series[j].0.0 == base)
        };
        let (rank, count) = ((0..k).filter(alike).count(), (0..series.len()).filter(alike).count());
        let shade =
            if ramp && count > 1 { 0.35 + 0.65 * rank as f64 / (count - 1) as f64 } else { 1.0 };
        let dashes = match (ramp, dashed) {
            _ if base.is_empty() => DASHES[usize::from(dashed)],
            (true, _) => DASHES[usize::from(dashed)],
            (false, false) => DASHES[rank % 4],
            (false, true) => DASHES[1 + rank % 3],
        };
        Look { colour: all[k], shade, dashes, marker: k }
    };
    (0..series.len()).map(look).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(names: &[&str]) -> Vec<Look> {
        looks(names.iter().map(|name| (*name, false, None)))
    }

    #[test]
    fn a_method_keeps_its_colour_at_every_place() {
        let (a, b) = (of(&["SAGA", "SDCA", "SAG"]), of(&["SAG", "other", "SAGA, step 0.1"]));
        assert_eq!((a[0].colour, a[2].colour), (b[2].colour, b[0].colour));
        assert!(b[1].colour != b[0].colour && b[1].colour != b[2].colour);
    }

    #[test]
    fn variants_share_a_hue_and_differ_in_dashes_or_shades() {
        let quantiles = of(&["causal", "causal, 5 %", "causal, 95 %"]);
        assert!(
            quantiles.windows(2).all(|w| w[0].colour == w[1].colour && w[0].dashes != w[1].dashes)
        );
        let levels = of(&["n = 3", "n = 10", "n = 30"]);
        assert!(levels.windows(2).all(|w| w[0].colour == w[1].colour && w[0].shade < w[1].shade));
    }

    #[test]
    fn eight_names_have_eight_colours_and_twelve_have_twelve_looks() {
        let names: Vec<String> = (0..12).map(|k| format!("method {k}")).collect();
        let looks = of(&names.iter().map(String::as_str).collect::<Vec<_>>());
        for k in 0..12 {
            assert!(k >= 8 || looks[..k].iter().all(|look| look.colour != looks[k].colour));
            assert!(!looks[..k].contains(&looks[k]));
        }
    }
}
