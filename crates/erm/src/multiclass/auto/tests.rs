use super::*;
use fenchel_linalg::{Csr, CsrMatrix};

/// The choice for rows of unit norm with so many entries.
fn chosen(columns: usize, classes: usize, entries: usize, beta: f64) -> Method {
    const N: usize = 60;
    let offsets = (0..=N).map(|i| i * entries).collect();
    let of_row = |i: usize| {
        let mut row: Vec<u32> =
            (0..entries).map(|k| ((i + k * (columns / entries)) % columns) as u32).collect();
        row.sort_unstable();
        row
    };
    let values = vec![(entries as f64).sqrt().recip(); N * entries];
    let x = CsrMatrix::try_new((N, columns), offsets, (0..N).flat_map(of_row).collect(), values);
    let (x, y) = (x.unwrap(), (0..N).map(|i| i % classes).collect::<Vec<_>>());
    let design = Csr::new(x.view()).unwrap();
    let l2 = beta * CURVATURE / N as f64;
    let problem = MulticlassProblem::new(design, &y, classes, Zero, l2).unwrap();
    assert!((conditioning(&problem) - beta).abs() < 1e-12 * beta);
    choose(&problem, 1e-6, Some(1 << 30)).method
}

/// What was the quicker on the data sets that the model was made from.
#[test]
fn the_choices_are_those_that_were_measured() {
    use Method::{Catalyst, NewtonCg};
    let of = |columns, classes, entries| {
        [4.0, 0.4, 0.04].map(|beta| chosen(columns, classes, entries, beta))
    };
    assert_eq!(of(784, 10, 151), [Catalyst; 3], "MNIST");
    assert_eq!(of(128, 23, 28), [Catalyst, Catalyst, NewtonCg], "letters");
    assert_eq!(of(64, 10, 33), [Catalyst, Catalyst, NewtonCg], "digits");
}
