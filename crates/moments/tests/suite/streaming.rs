//! Sums over a stream give what the whole data give.

use fenchel_linalg::CsrMatrix;
use fenchel_moments::slicing::Slices;
use fenchel_moments::{
    Components, DirectionalRegression, GaussianMixture, Sade, Save, Sir, SliceMoments, Slicing,
    synthetic, trace_error,
};
use ndarray::{ArrayView1, Axis, Slice};

use crate::common::{close, covariance, regression, timeless};

fn edges(y: &ndarray::Array1<f64>) -> Vec<f64> {
    Slices::new(&y.to_vec(), Slicing::EqualCount(6), 2).unwrap().edges().to_vec()
}

#[test]
fn batches_add_up() {
    let (x, y) = regression(700, 4, 1);
    let mut moments = SliceMoments::new(edges(&y), 4).unwrap();
    let mut others = moments.clone();
    for (from, to) in [(0, 100), (100, 101), (101, 450)] {
        let rows = |a: usize, b: usize| x.slice_axis(Axis(0), Slice::from(a..b));
        moments.partial_fit(&rows(from, to), y.slice_axis(Axis(0), Slice::from(from..to))).unwrap();
    }
    let rest = Slice::from(450..700);
    others.partial_fit(&x.slice_axis(Axis(0), rest), y.slice_axis(Axis(0), rest)).unwrap();
    moments.merge(&others).unwrap();
    let (components, slicing) = (Components::Fixed(2), Slicing::EqualCount(6));
    let pairs = [
        (
            Sir { components, slicing }.fit(&x, &y),
            Sir { components, slicing }.fit_moments(&moments),
        ),
        (
            Save { components, slicing, ..Save::default() }.fit(&x, &y),
            Save { components, slicing, ..Save::default() }.fit_moments(&moments),
        ),
        (
            DirectionalRegression { components, slicing, ..Default::default() }.fit(&x, &y),
            DirectionalRegression { components, slicing, ..Default::default() }
                .fit_moments(&moments),
        ),
    ];
    for (whole, streamed) in pairs {
        let (whole, streamed) = (whole.unwrap(), streamed.unwrap());
        close(streamed.loadings.view(), whole.loadings.view(), 1e-10);
        assert_eq!(streamed.slices, whole.slices);
        let worst = (&streamed.mean - &whole.mean).fold(0.0, |m: f64, v| m.max(v.abs()));
        assert!(worst < 1e-11);
    }
}

#[test]
fn scores_can_be_streamed() {
    let density = GaussianMixture::thesis(4).unwrap();
    let problem = synthetic::quadratic(&density, 900, 1.0, 1).unwrap();
    let mut moments = SliceMoments::new(edges(&problem.y), 4).unwrap();
    for k in 0..3 {
        let rows = Slice::from(300 * k..300 * (k + 1));
        let x = problem.x.slice_axis(Axis(0), rows);
        moments.partial_fit_scores(&x, problem.y.slice_axis(Axis(0), rows), &density).unwrap();
    }
    for standardise in [false, true] {
        let sade = Sade {
            components: Components::Fixed(2),
            slicing: Slicing::EqualCount(6),
            standardise,
            ..Sade::default()
        };
        let whole = sade.fit(&problem.x, &problem.y, &density).unwrap();
        let mean = covariance(problem.x.view()).0;
        let streamed = sade.fit_moments(&moments, mean).unwrap();
        assert!(trace_error(whole.directions.view(), streamed.directions.view()).unwrap() < 1e-22);
    }
}

#[test]
fn sparse_and_single_precision_designs_give_the_same() {
    let (x, y) = regression(600, 4, 2);
    let x = x.mapv(|v| if v.abs() < 2.0 { 0.0 } else { f64::from(v as f32) });
    let dense = Sir { components: Components::Fixed(2), ..Sir::default() }.fit(&x, &y).unwrap();
    let sparse = Sir { components: Components::Fixed(2), ..Sir::default() };
    let mut offsets = vec![0];
    let (mut columns, mut values) = (vec![], vec![]);
    for row in x.rows() {
        row.indexed_iter().filter(|(_, v)| **v != 0.0).for_each(|(c, &v)| {
            columns.push(c as u32);
            values.push(v as f32);
        });
        offsets.push(columns.len());
    }
    let csr = CsrMatrix::new((600, 4), offsets, columns, values);
    assert_eq!(timeless(sparse.fit(&csr, &y).unwrap()), timeless(dense));
}

#[test]
fn edges_must_ascend() {
    assert!(SliceMoments::new(vec![], 2).is_err());
    let error = SliceMoments::new(vec![1.0, 1.0], 2).unwrap_err().to_string();
    assert!(error.contains("edges must ascend"), "{error}");
    let mut moments = SliceMoments::new(vec![0.0], 2).unwrap();
    let x = ndarray::Array2::<f64>::zeros((3, 5));
    let error = moments.partial_fit(&x, ArrayView1::from(&[1.0, 2.0, 3.0])).unwrap_err();
    assert!(error.to_string().contains("expected length 2, found 5"), "{error}");
    assert!(Sir::default().fit_moments(&moments).is_err());
}

/// Sums of shards that lie with several ranks: the same file for any number of ranks, and the directions of all rows.
#[test]
fn sums_of_ranks_merge_to_the_same_bits() {
    use fenchel_moments::{Error, Saved};
    use fenchel_optim::spread::{Communicator, Shards, share, threads};

    const SHARDS: [usize; 5] = [150, 0, 233, 100, 217];
    let (x, y) = regression(700, 4, 1);
    let edges = edges(&y);
    let on_ranks = |size| {
        let merged = threads::run(size, |ranks| {
            let own = &SHARDS[share(SHARDS.len(), ranks.rank(), size)];
            let shards = Shards::new(ranks, own)?;
            let sums = shards.own().map(|rows| {
                let rows = Slice::from(shards.before() + rows.start..shards.before() + rows.end);
                let mut sums = SliceMoments::new(edges.clone(), 4)?;
                if rows.start < rows.end.unwrap_or(0) {
                    let x = x.slice_axis(Axis(0), rows);
                    sums.partial_fit(&x, y.slice_axis(Axis(0), rows))?;
                }
                Ok(sums)
            });
            let sums = sums.collect::<Result<Vec<_>, Error>>()?;
            let bytes = |sums: &SliceMoments| {
                let mut bytes = Vec::new();
                sums.save(&mut bytes).expect("memory");
                bytes
            };
            let load = |bytes: &[u8]| Ok(SliceMoments::load(bytes).expect("what was saved"));
            shards.merge(sums, bytes, load, |mut left, right| {
                left.merge(&right)?;
                Ok::<_, Error>(left)
            })
        });
        let mut merged = merged.map_err(|(_, error)| error).unwrap();
        let first = merged.remove(0);
        merged.iter().for_each(|other| assert_eq!(*other, first));
        first
    };
    let one = on_ranks(1);
    (2..=6).for_each(|size| assert_eq!(on_ranks(size), one, "{size} ranks"));
    let sir = Sir { components: Components::Fixed(2), slicing: Slicing::EqualCount(6) };
    let (whole, merged) = (sir.fit(&x, &y).unwrap(), sir.fit_moments(&one).unwrap());
    assert!(trace_error(whole.directions.view(), merged.directions.view()).unwrap() < 1e-22);
}
