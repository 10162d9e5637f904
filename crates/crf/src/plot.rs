//! Pictures of paths and of tagged sentences.

use fenchel_linalg::Invalid;
use fenchel_optim::end_of_grid;
use fenchel_plot::{Axis, Colour, Figure, Series, Span, Text};

use crate::Error;
use crate::instance::Instance;
use crate::model::CrfModel;
use crate::path::Path;

impl Path {
    /// The share of right labels of the held-out sentences for every penalty. The best is marked; a warning says if it is at the end of
    /// the grid.
    pub fn figure(&self) -> Figure {
        let scored = self.points.iter().filter_map(|p| Some((p.penalty, p.score?))).collect();
        let (x, y) =
            (Axis::log("penalty").falling(), Axis::linear("share of right labels, held out"));
        let figure =
            Figure::new("Choice of the penalty", x, y).with(Series::line_points("", scored));
        let Some(best) = self.best().filter(|best| best.score.is_some()) else { return figure };
        let place = self.points.iter().position(|p| p.penalty == best.penalty).unwrap_or(0);
        let warning = end_of_grid(self.points.len(), place, false).map(str::to_owned);
        figure.mark(best.penalty, "best").warning(warning)
    }

    /// [`figure`](Self::figure) as SVG.
    pub fn svg(&self) -> String {
        self.figure().svg()
    }
}

impl CrfModel {
    /// The sentences whose true labels are least probable: their words, the predicted labels, and the true ones where they differ.
    /// `words` has a list for each sentence.
    ///
    /// # Errors
    /// [`Error::Invalid`] if words and sentences differ in number or length; as [`tag`](CrfModel::tag).
    pub fn worst<W: AsRef<[S]>, S: AsRef<str>>(
        &self,
        sentences: &[Instance],
        words: &[W],
        count: usize,
    ) -> Result<Text, Error> {
        Invalid::check_length("words", sentences.len(), words.len())?;
        let mut tagger = self.tagger();
        let mut ranked = Vec::with_capacity(sentences.len());
        for (k, (sentence, words)) in sentences.iter().zip(words).enumerate() {
            Invalid::check_length("words of a sentence", sentence.len(), words.as_ref().len())?;
            let truth: Vec<&str> = sentence.labels().collect();
            ranked.push((tagger.probability(sentence, &truth)?, k));
        }
        ranked.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let mut lines: Vec<Vec<Span>> = Vec::new();
        for &(_, k) in ranked.iter().take(count) {
            let predicted = tagger.tag(&sentences[k])?;
            let span = |((word, found), truth): ((&S, &str), &str)| {
                let right = found == truth;
                let label = if right { truth.to_owned() } else { format!("{found}, not {truth}") };
                let colour = match (right, truth) {
                    (true, "O") => None,
                    (true, _) => Some(Colour::Green),
                    (false, _) => Some(Colour::Vermilion),
                };
                Span { text: word.as_ref().to_owned(), label, colour }
            };
            let all = words[k].as_ref().iter().zip(predicted).zip(sentences[k].labels());
            lines.push(all.map(span).collect());
        }
        let mut key = vec![
            (Colour::Green, "right label"),
            (Colour::Vermilion, "wrong: the given label, not the true one"),
        ];
        if lines.iter().flatten().any(|span| span.colour.is_none()) {
            key.push((Colour::Paper, "right: O, in no phrase"));
        }
        Ok(Text {
            title: format!("The {} sentences whose true labels are least probable", lines.len()),
            lines,
            key: key.into_iter().map(|(colour, meaning)| (colour, meaning.to_owned())).collect(),
        })
    }
}
