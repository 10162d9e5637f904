//! The classics against their definitions, and on problems where their answer is known.

use std::sync::atomic::{AtomicUsize, Ordering};

use fenchel_linalg::factor::{generalised_eigen, symmetric_eigen};
use fenchel_moments::blocks::Blocks;
use fenchel_moments::dimension::chi_square_tests;
use fenchel_moments::fit::fit_blocks;
use fenchel_moments::reducer::Reducer;
use fenchel_moments::slicing::Slices;
use fenchel_moments::{
    Components, DirectionalRegression, Phd, Response, Save, Sir, Slicing, trace_error,
};
use fenchel_optim::model::Saved;
use ndarray::{Array1, Array2, ArrayViewMut2, Axis, array};

use crate::common::{close, covariance, first_columns, normal, regression};

const SLICING: Slicing = Slicing::EqualCount(7);

/// Slice shares, means and covariances (divisor `c`) by the definition.
fn slices(x: &Array2<f64>, y: &Array1<f64>) -> Vec<(f64, Array1<f64>, Array2<f64>)> {
    let slices = Slices::new(&y.to_vec(), SLICING, 1).unwrap();
    let of = |members: Vec<usize>| {
        let (mean, cov) = covariance(x.select(Axis(0), &members).view());
        (members.len() as f64 / x.nrows() as f64, mean, cov)
    };
    slices.members().into_iter().map(of).collect()
}

#[test]
fn sir_solves_the_generalised_eigenproblem_of_slice_means() {
    let (x, y) = regression(300, 4, 1);
    let (mean, cov) = covariance(x.view());
    let mut between = Array2::zeros((4, 4));
    for (share, m, _) in slices(&x, &y) {
        let m = (&m - &mean).insert_axis(Axis(1));
        between.scaled_add(share, &m.dot(&m.t()));
    }
    let expected = generalised_eigen(between.view(), cov.view()).unwrap();
    let model = Sir { components: Components::Fixed(3), slicing: SLICING }.fit(&x, &y).unwrap();
    for k in 0..4 {
        assert!((model.eigenvalues[k] - expected.values[3 - k]).abs() < 1e-12);
    }
    for k in 0..3 {
        let one = model.loadings.column(k).insert_axis(Axis(1));
        let other = expected.vectors.column(3 - k).insert_axis(Axis(1));
        assert!(trace_error(one, other).unwrap() < 1e-22);
    }
    assert!(model.report.certificate.value() < 1e-13);
}

/// Features that count the rows which are read of them.
struct Counting {
    x: Array2<f64>,
    rows: AtomicUsize,
}

impl Blocks for Counting {
    fn count(&self) -> usize {
        self.x.nrows()
    }

    fn width(&self) -> usize {
        self.x.ncols()
    }

    fn read(&self, from: usize, mut out: ArrayViewMut2<f64>) {
        let rows = out.nrows();
        self.rows.fetch_add(rows, Ordering::Relaxed);
        out.assign(&self.x.slice_axis(Axis(0), (from..from + rows).into()));
    }
}

/// Passes are rows read over rows. Slice means, covariances of slices and moments with known weights are sums around any point: one
/// look is enough, beside a part of the rows for a point near the mean. Residuals depend on the covariance: two.
#[test]
fn passes_are_rows_read_over_rows() {
    let (x, y) = regression(8000, 4, 6);
    let response = Response::from(y.view());
    let methods: [(&dyn Reducer, f64); 5] = [
        (&Sir { slicing: SLICING, ..Sir::default() }, 1.0),
        (&Save::default(), 1.0),
        (&DirectionalRegression::default(), 1.0),
        (&Phd { residual: false, ..Phd::default() }, 1.0),
        (&Phd::default(), 2.0),
    ];
    for (method, looks) in methods {
        let data = Counting { x: x.clone(), rows: AtomicUsize::new(0) };
        let passes = fit_blocks(method, &data, &response).unwrap().report.passes;
        assert_eq!(passes, data.rows.into_inner() as f64 / 8000.0, "{}", method.name());
        assert!((looks..looks + 0.5).contains(&passes), "{}: {passes}", method.name());
    }
}

/// Whitened by the symmetric root, which spans the same directions as any other.
fn roots(cov: &Array2<f64>) -> Array2<f64> {
    symmetric_eigen(cov.view()).unwrap().map(|l| 1.0 / l.sqrt())
}

fn check_whitened(matrix: Array2<f64>, root: &Array2<f64>, model: &fenchel_moments::Reduction) {
    let eigen = symmetric_eigen(matrix.view()).unwrap();
    let d = matrix.nrows();
    let mut order: Vec<usize> = (0..d).collect();
    order.sort_by(|&i, &j| eigen.values[j].abs().total_cmp(&eigen.values[i].abs()));
    let scale = eigen.values[order[0]].abs();
    for (k, &j) in order.iter().enumerate() {
        assert!((model.eigenvalues[k] - eigen.values[j]).abs() < 1e-11 * scale);
    }
    let k = model.components();
    let expected = root.dot(&eigen.vectors.select(Axis(1), &order[..k]));
    assert!(trace_error(model.directions.view(), expected.view()).unwrap() < 1e-18);
}

#[test]
fn save_and_directional_regression_are_sums_over_slices() {
    let (x, y) = regression(300, 4, 2);
    let (mean, cov) = covariance(x.view());
    let root = roots(&cov);
    let identity = Array2::<f64>::eye(4);
    let (mut save, mut second, mut between) =
        (Array2::zeros((4, 4)), Array2::zeros((4, 4)), Array2::<f64>::zeros((4, 4)));
    let mut length = 0.0;
    for (share, m, within) in slices(&x, &y) {
        let within = root.dot(&within).dot(&root);
        let m = root.dot(&(&m - &mean)).insert_axis(Axis(1));
        let rest = &identity - &within;
        save.scaled_add(share, &rest.dot(&rest));
        let outer = m.dot(&m.t());
        let rest = &within + &outer - &identity;
        second.scaled_add(share, &rest.dot(&rest));
        between.scaled_add(share, &outer);
        length += share * outer.diag().sum();
    }
    let components = Components::Fixed(2);
    let model = Save { components, slicing: SLICING, ..Save::default() }.fit(&x, &y).unwrap();
    check_whitened(save, &root, &model);
    let matrix = second * 2.0 + between.dot(&between) * 2.0 + &between * (2.0 * length);
    let model = DirectionalRegression { components, slicing: SLICING, ..Default::default() }
        .fit(&x, &y)
        .unwrap();
    check_whitened(matrix, &root, &model);
}

#[test]
fn phd_weighs_outer_products_by_residuals() {
    let (x, y) = regression(300, 4, 3);
    let (mean, cov) = covariance(x.view());
    let root = roots(&cov);
    let z = (&x - &mean).dot(&root);
    let centred = &y - y.mean().unwrap();
    // Residuals of the regression on the whitened features, which are orthogonal.
    let slope = z.t().dot(&centred) / 300.0;
    let residuals = &centred - &z.dot(&slope);
    for (residual, r) in [(false, centred), (true, residuals)] {
        let matrix = z.t().dot(&(&z * &r.view().insert_axis(Axis(1)))) / 300.0;
        let model = Phd { components: Components::Fixed(2), residual, ..Phd::default() };
        check_whitened(matrix, &root, &model.fit(&x, &y).unwrap());
    }
}

#[test]
fn each_finds_what_it_should_on_normal_features() {
    let x = normal(5000, 5, 4);
    let noise = normal(5000, 1, 5);
    let truth = array![[1.0], [0.0], [0.0], [0.0], [0.0]];
    let error = |model: fenchel_moments::Reduction| {
        trace_error(model.directions.view(), truth.view()).unwrap()
    };
    let trend: Array1<f64> = &x.column(0) + &(&noise.column(0) * 0.3);
    let even: Array1<f64> = x.column(0).mapv(|v| v * v) + &noise.column(0) * 0.3;
    let components = Components::Fixed(1);
    let sir = Sir { components, ..Sir::default() };
    let save = Save { components, ..Save::default() };
    let phd = Phd { components, ..Phd::default() };
    let both = DirectionalRegression { components, ..DirectionalRegression::default() };
    assert!(error(sir.fit(&x, &trend).unwrap()) < 0.01);
    assert!(error(sir.fit(&x, &even).unwrap()) > 0.2, "SIR cannot see symmetric dependence");
    for model in
        [save.fit(&x, &even), phd.fit(&x, &even), both.fit(&x, &even), both.fit(&x, &trend)]
    {
        assert!(error(model.unwrap()) < 0.01);
    }
}

#[test]
fn units_do_not_matter() {
    let (x, y) = regression(300, 3, 6);
    let scales = array![1e-8, 1.0, 1e9];
    let scaled = &x * &scales;
    let sir = Sir { components: Components::Fixed(2), slicing: SLICING };
    let (one, other) = (sir.fit(&x, &y).unwrap(), sir.fit(&scaled, &y).unwrap());
    for k in 0..3 {
        assert!((one.eigenvalues[k] - other.eigenvalues[k]).abs() < 1e-11);
    }
    let back = &other.loadings * &scales.insert_axis(Axis(1));
    assert!(trace_error(one.loadings.view(), back.view()).unwrap() < 1e-18);
}

#[test]
fn the_model_transforms_and_comes_back_from_a_file() {
    let (x, y) = regression(300, 3, 7);
    let model = Save { components: Components::Fixed(2), ..Save::default() }.fit(&x, &y).unwrap();
    close(
        model.transform(&x).unwrap().view(),
        (&x - &model.mean).dot(&model.directions).view(),
        1e-13,
    );
    close(model.directions.t().dot(&model.directions).view(), Array2::eye(2).view(), 1e-14);
    close(model.projector().dot(&model.loadings).view(), model.loadings.view(), 1e-13);
    assert!((model.explained().sum() - 1.0).abs() < 1e-14);
    let mut file = vec![];
    model.save(&mut file).unwrap();
    assert_eq!(fenchel_moments::Reduction::load(&file[..]).unwrap(), model);
}

/// Li's test holds its level, and pHd's; 5 % within four standard errors of 400 repetitions.
#[test]
fn chi_squared_tests_hold_their_level() {
    let (mut sir_rejects, mut phd_rejects) = (0, 0);
    let repeats = 400;
    for seed in 0..repeats {
        let z = normal(400, 6, seed);
        let x = first_columns(&z, 5);
        let y: Array1<f64> = &z.column(0) + &(&z.column(5) * 0.5);
        let even: Array1<f64> = z.column(5).to_owned();
        let response =
            |y: &Array1<f64>| Response::from(y.view()).pick(&(0..400).collect::<Vec<_>>()).unwrap();
        let design = fenchel_linalg::Dense::new(x.view()).unwrap();
        let sir = Sir { slicing: Slicing::EqualCount(8), ..Sir::default() };
        let spectrum = sir.spectrum(&design, &response(&y)).unwrap();
        sir_rejects += usize::from(chi_square_tests(&sir, &spectrum).unwrap()[1].p_value < 0.05);
        let phd = Phd::default();
        let spectrum = phd.spectrum(&design, &response(&even)).unwrap();
        phd_rejects += usize::from(chi_square_tests(&phd, &spectrum).unwrap()[0].p_value < 0.05);
    }
    for rejects in [sir_rejects, phd_rejects] {
        let rate = rejects as f64 / repeats as f64;
        assert!((rate - 0.05).abs() < 4.0 * (0.05_f64 * 0.95 / repeats as f64).sqrt(), "{rate}");
    }
}

/// The tests at a level of 1 % may reject a truth in 1 % of all draws, so that no single draw is judged: at least 18 of 20 for the
/// rules that look at eigenvalues alone, 4 of 5 for those that resample.
#[test]
fn the_number_of_directions_is_found_by_every_rule() {
    let rules = [
        (Components::EigenRatio(3), 20, 18),
        (Components::ChiSquare(0.01), 20, 18),
        (Components::Permutation { level: 0.01, repeats: 99, seed: 1 }, 5, 4),
        (Components::Ladle { repeats: 50, seed: 1 }, 5, 4),
    ];
    for (components, draws, least) in rules {
        let sir = Sir { components, ..Sir::default() };
        let right = (0..draws).filter(|&seed| {
            let z = normal(1000, 6, 9 + seed);
            let x = first_columns(&z, 5);
            let y: Array1<f64> = z.column(0).mapv(|v| (2.0 * v).tanh() * 3.0)
                + z.column(1).mapv(f64::exp)
                + &z.column(5) * 0.2;
            sir.fit(&x, &y).unwrap().components() == 2
        });
        let right = right.count();
        assert!(right >= least, "{components:?}: {right} of {draws}");
    }
}
