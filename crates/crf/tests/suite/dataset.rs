//! What goes into a data set comes out, and what does not fit stays out.

use fenchel_crf::{Dataset, Error, Token};
use proptest::prelude::*;

type Sequence = Vec<(Vec<(u32, f64)>, u32)>;

fn sequences(ones: bool) -> impl Strategy<Value = Vec<Sequence>> {
    let value = if ones { Just(1.0).boxed() } else { (-2.0..2.0_f64).boxed() };
    let token = (prop::collection::vec((0u32..7, value), 0..5), 0u32..3);
    prop::collection::vec(prop::collection::vec(token, 1..6), 0..5)
}

fn tokens(sequence: &Sequence) -> Vec<Token<'_>> {
    sequence.iter().map(|(attributes, label)| Token { attributes, label: *label }).collect()
}

proptest! {
    #[test]
    fn a_data_set_holds_what_was_pushed(ones in sequences(true), others in sequences(false)) {
        let all = [ones, others].concat();
        let mut data = Dataset::new(7, 3);
        for sequence in &all {
            data.push(&tokens(sequence)).unwrap();
        }
        prop_assert_eq!(data.sequences(), all.len());
        prop_assert_eq!(data.tokens(), all.iter().map(Vec::len).sum::<usize>());
        for (found, expected) in data.iter().zip(&all) {
            prop_assert_eq!(found.len(), expected.len());
            let mut distinct: Vec<u32> = Vec::new();
            for (t, (attributes, label)) in expected.iter().enumerate() {
                prop_assert_eq!(found.labels()[t], *label);
                prop_assert_eq!(&found.attributes(t).collect::<Vec<_>>(), attributes);
                for (id, _) in attributes {
                    if !distinct.contains(id) {
                        distinct.push(*id);
                    }
                }
            }
            prop_assert_eq!(found.distinct(), &distinct[..]);
        }
    }
}

#[test]
fn what_does_not_fit_is_refused_and_leaves_no_trace() {
    let mut data = Dataset::new(2, 2);
    data.push(&[Token { attributes: &[(1, 1.0)], label: 1 }]).unwrap();
    let before = data.clone();
    assert_eq!(data.push(&[]), Err(Error::EmptySequence { sequence: 1 }));
    for (bad, message) in [
        (Token { attributes: &[(2, 1.0)], label: 0 }, "attribute 2 at sequence 1, token 0"),
        (Token { attributes: &[(0, f64::NAN)], label: 0 }, "NaN at row 0, column 0"),
        (Token { attributes: &[], label: 2 }, "label of row 0 is 2"),
    ] {
        let error = data.push(&[bad]).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
    assert_eq!(data, before);
}
