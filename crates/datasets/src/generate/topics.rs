//! Documents of many topics: sparse rows of words by Zipf's law, with a few indicator words per topic.

use fenchel_optim::settings;

use super::SplitMix64;

settings! {
    /// What to generate: [`topics`].
    pub struct Topics {
        /// Documents.
        rows: usize = 5_000,
        /// Columns. Word `w` has a probability proportional to `1/(w + 10)`.
        words: usize = 20_000,
        /// Classes, all equally frequent.
        topics: usize = 100,
        /// Words drawn per document. Repeated words count once.
        length: usize = 50,
        /// Indicator words per topic, which no other topic has. A document contains each with probability 1/2.
        telling: usize = 3,
        /// Fraction of labels that are replaced by random ones.
        noise: f64 = 0.1,
        /// Seed of all draws.
        seed: u64 = 0,
    }
}

/// Rows in CSR form (row `i` has the entries `offsets[i]..offsets[i + 1]`), each of Euclidean norm 1.
#[derive(Debug, Clone, PartialEq)]
pub struct TopicsData {
    /// Where rows begin.
    pub offsets: Vec<usize>,
    /// Columns, ascending in each row.
    pub places: Vec<u32>,
    /// Entries.
    pub values: Vec<f64>,
    /// Topics.
    pub labels: Vec<usize>,
    /// Number of columns.
    pub columns: usize,
}

/// Generates documents. The indicator words are the last `topics * telling` columns, beginning with those of topic 0.
///
/// The result is empty if a count is 0, or if there are more indicator words than columns.
pub fn topics(settings: &Topics) -> TopicsData {
    let Topics { rows, words, topics, length, telling, noise, seed } = settings.clone();
    let mut out = TopicsData {
        offsets: vec![0],
        places: vec![],
        values: vec![],
        labels: vec![],
        columns: words,
    };
    if words == 0 || topics == 0 || topics.saturating_mul(telling) > words {
        return out;
    }
    let mut random = SplitMix64::new(seed);
    let mut sums = Vec::with_capacity(words);
    let mut sum = 0.0;
    for w in 0..words {
        sum += 1.0 / (w as f64 + 10.0);
        sums.push(sum);
    }
    let below = |n: usize, random: &mut SplitMix64| ((1.0 - random.unit()) * n as f64) as usize;
    for _ in 0..rows {
        let topic = below(topics, &mut random);
        let mut row: Vec<u32> = (0..length)
            .map(|_| {
                let u = random.unit() * sum;
                sums.partition_point(|s| *s < u).min(words - 1) as u32
            })
            .collect();
        for t in 0..telling {
            if random.unit() <= 0.5 {
                row.push((words - topics * telling + topic * telling + t) as u32);
            }
        }
        row.sort_unstable();
        row.dedup();
        let value = 1.0 / (row.len().max(1) as f64).sqrt();
        out.values.extend(row.iter().map(|_| value));
        out.places.extend(row);
        out.offsets.push(out.places.len());
        let wrong = random.unit() <= noise;
        out.labels.push(if wrong { below(topics, &mut random) } else { topic });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn telling_words_tell() {
        let data = topics(&Topics { rows: 2000, words: 2000, topics: 20, ..Topics::default() });
        let first = (2000 - 60) as u32;
        let (mut with, mut right) = (0, 0);
        for i in 0..2000 {
            let row = &data.places[data.offsets[i]..data.offsets[i + 1]];
            assert!(row.windows(2).all(|w| w[0] < w[1]));
            let votes: Vec<usize> =
                row.iter().filter(|w| **w >= first).map(|w| ((w - first) / 3) as usize).collect();
            if votes.len() >= 2 && votes.iter().all(|v| *v == votes[0]) {
                (with, right) = (with + 1, right + usize::from(votes[0] == data.labels[i]));
            }
        }
        // Two telling words or more of one topic: half of the rows; a tenth of the labels is random.
        assert!(
            with > 700 && (right as f64 / with as f64 - 0.905).abs() < 0.05,
            "{right} of {with}"
        );
        assert_eq!(topics(&Topics { words: 10, ..Topics::default() }).labels.len(), 0);
    }
}
