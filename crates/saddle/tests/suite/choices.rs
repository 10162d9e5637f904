//! Which method fits, and documents of many topics, on which two methods race.

use fenchel_optim::random::stream;
use fenchel_optim::{Certificate, Status, Stop};
use fenchel_saddle::methods::{PdhgSettings, pdhg};
use fenchel_saddle::multiclass::{HingeBilinear, Multiclass, Samples};
use fenchel_saddle::{
    AsDesign, Bilinear, CsrMatrix, MulticlassL1, MulticlassL1Model, MulticlassLoss, Radius, Solver,
};
use ndarray::Array2;
use rand::RngExt;

use crate::data;

/// The choice follows predicted costs and the race: many digits of a small problem by restarts, a few digits of a looser one by the mirror
/// method, a large one with no time by samples. All reach what they are asked for.
#[test]
fn the_cheapest_method_is_chosen() {
    let (x, y) = data::dense(100, 20, 4, 8);
    let estimator = MulticlassL1 {
        penalty: 0.02,
        stop: Stop { relative: 1e-5, max_passes: 20_000.0, ..Stop::default() },
        ..Default::default()
    };
    let exact = estimator.fit(&x, &y).unwrap();
    assert_eq!((exact.solver, exact.report.status), (Solver::Pdhg, Status::Converged));
    let (x, y) = data::correlated(1200, 200, 10, 1);
    let stop = Stop { relative: 0.1, max_passes: 2000.0, ..Stop::default() };
    let rough = MulticlassL1 { penalty: 0.003, stop, ..Default::default() }.fit(&x, &y).unwrap();
    assert_eq!((rough.solver, rough.report.status), (Solver::MirrorPdhg, Status::Converged));
    let softmax = MulticlassL1 { loss: MulticlassLoss::Softmax, stop, ..Default::default() };
    let softmax = softmax.fit(&x, &y).unwrap();
    assert_eq!((softmax.solver, softmax.report.status), (Solver::MirrorPdhg, Status::Converged));
    let (x, y) = data::dense(250, 250, 250, 1);
    let stop = Stop { max_seconds: Some(0.02), ..stop };
    let radius = Radius::At(250.0);
    let hasty = MulticlassL1 { radius, stop, ..Default::default() }.fit(&x, &y).unwrap();
    assert_eq!(hasty.solver, Solver::Sublinear);
}

/// Words by frequency and a few telling ones a topic: rows of the dual problem, columns of a sparse design, many classes.
fn documents(rows: usize, words: usize, topics: usize) -> (CsrMatrix<f64>, Vec<usize>) {
    let mut random = stream(11, 0);
    let (mut offsets, mut places, mut values, mut labels) = (vec![0], vec![], vec![], vec![]);
    for _ in 0..rows {
        let topic = random.random_range(0..topics);
        let common = words - 3 * topics;
        let mut row: Vec<u32> =
            (0..30).map(|_| (common as f64 * random.random::<f64>().powi(4)) as u32).collect();
        let own = (0..3).filter(|_| random.random::<bool>());
        row.extend(own.map(|t| (common + 3 * topic + t) as u32));
        row.sort_unstable();
        row.dedup();
        values.extend(row.iter().map(|_| 1.0 / (row.len() as f64).sqrt()));
        places.extend(row);
        offsets.push(places.len());
        labels.push(topic);
    }
    (CsrMatrix::new((rows, words), offsets, places, values), labels)
}

/// On documents of many topics, where few weights are not 0, the default learns within few passes. The dense copy of
/// the same data goes through the products and steps of whole matrices, to the same pair; so does the plain step from the two proximal maps.
#[test]
fn sparse_documents_of_many_topics_are_learned() {
    let (x, y) = documents(600, 900, 40);
    let stop = Stop { relative: 0.01, max_passes: 200.0, ..Stop::default() };
    let estimator = MulticlassL1 { penalty: 1e-3, standardise: false, stop, ..Default::default() };
    let race = estimator.fit(&x, &y).unwrap();
    // Either method alone with half of the passes: the race ends no worse than the worse of them.
    let gap = |m: &MulticlassL1Model<usize>| m.report.certificate.value();
    let half = Stop { max_passes: 100.0, ..stop };
    let alone = [Solver::Pdhg, Solver::MirrorPdhg].map(|solver| {
        gap(&MulticlassL1 { solver, stop: half, ..estimator.clone() }.fit(&x, &y).unwrap())
    });
    assert!(gap(&race) <= alone[0].max(alone[1]), "{} {alone:?}", race.report);
    assert!(race.score(&x, &y).unwrap() > 0.6, "{}", race.report);
    let again = estimator.fit(&x, &y).unwrap();
    assert_eq!((again.weights, again.report.certificate), (race.weights, race.report.certificate));

    let dense = x.to_dense();
    let samples = |dense: bool, x: &CsrMatrix<f64>, d: &Array2<f64>| {
        if dense {
            Samples::new(&d.as_design().unwrap(), &y, 40, None).unwrap()
        } else {
            Samples::new(&x.as_design().unwrap(), &y, 40, None).unwrap()
        }
    };
    for radius in [1e3, 5.0] {
        let ends = [false, true].map(|whole| {
            let samples = samples(whole, &x, &dense);
            let problem = Multiclass::new(&samples, MulticlassLoss::Hinge, radius, 1e-3).unwrap();
            let bilinear = HingeBilinear::new(&problem).unwrap();
            let stop = Stop { absolute: 0.0, relative: 0.0, max_passes: 130.0, ..Stop::default() };
            let settings = PdhgSettings { polish: false, stop, ..Default::default() };
            let own = pdhg(&bilinear, &settings, None, &mut ()).unwrap();
            let plain = pdhg(&PlainSteps(&bilinear), &settings, None, &mut ()).unwrap();
            [own.state, plain.state]
        });
        let [[sparse, plain], [whole, plain_whole]] = ends;
        assert!(sparse.x.iter().any(|u| *u != 0.0));
        for other in [plain, whole, plain_whole] {
            let far = |a: &[f64], b: &[f64]| {
                a.iter().zip(b).fold(0.0_f64, |m, (a, b)| m.max((a - b).abs()))
            };
            assert!(far(&sparse.x, &other.x) < 1e-7, "{}", far(&sparse.x, &other.x));
            assert!(far(&sparse.y, &other.y) < 1e-7, "{}", far(&sparse.y, &other.y));
        }
    }
}

/// The hinge problem by products and proximal maps alone.
struct PlainSteps<'a>(&'a HingeBilinear<'a>);

impl Bilinear for PlainSteps<'_> {
    fn dimensions(&self) -> (usize, usize) {
        self.0.dimensions()
    }
    fn grad_x(&self, y: &[f64], out: &mut [f64]) {
        self.0.grad_x(y, out);
    }
    fn grad_y(&self, x: &[f64], out: &mut [f64]) {
        self.0.grad_y(x, out);
    }
    fn prox_x(&self, z: &mut [f64], tau: f64) {
        self.0.prox_x(z, tau);
    }
    fn prox_y(&self, z: &mut [f64], sigma: f64) {
        self.0.prox_y(z, sigma);
    }
    fn norm(&self) -> f64 {
        self.0.norm()
    }
    fn certificate(&self, x: &[f64], y: &[f64]) -> Certificate {
        self.0.certificate(x, y)
    }
    fn start(&self) -> (Vec<f64>, Vec<f64>) {
        self.0.start()
    }
}
