//! Which method takes which problem (thesis, table 4.1): the whole matrix, as it is in the README.

use crate::common::data;
use fenchel_erm::loss::{Hinge, Logistic};
use fenchel_erm::methods::{
    CatalystSettings, CocoaSettings, FinitoSettings, MisoMuSettings, MisoSettings,
    ProxFinitoSettings, QningSettings, SagSettings, SagaSettings, SdcaSettings, SgdSettings,
    SvrgSettings, catalyst, cocoa, finito, miso, miso_mu, prox_finito, qning, sag, saga, sdca, sgd,
    svrg,
};
use fenchel_erm::prelude::Refusal;
use fenchel_erm::{Error, Problem};
use fenchel_linalg::Dense;
use fenchel_optim::prox::{L1, Zero};
use fenchel_optim::{Loss, Stop};

/// What a method says to a problem: y(es), m(u is missing), u(nsupported); - where the types forbid the question.
fn answer<T>(result: Result<T, Error>) -> char {
    match result {
        Ok(_) => 'y',
        Err(Error::Refused(Refusal::NeedsStrongConvexity { .. })) => 'm',
        Err(Error::Refused(Refusal::Unsupported { .. })) => 'u',
        Err(other) => panic!("{other}"),
    }
}

/// Columns: strongly convex; `mu = 0`; l2 and a proximal regulariser; a loss with a kink and l2.
const MATRIX: [(&str, &str); 12] = [
    ("sdca", "ymyy"),
    ("cocoa", "ymyy"),
    ("catalyst", "yyyu"),
    ("qning", "yyyu"),
    ("prox_finito", "ymyy"),
    ("miso_mu", "ymyu"),
    ("saga", "yyyu"),
    ("sag", "yyuu"),
    ("svrg", "yyyu"),
    ("sgd", "yyyu"),
    ("finito", "ym-u"),
    ("miso", "yy-u"),
];

macro_rules! every {
    ($problem:expr, $stop:expr) => {{
        let (p, stop, o) = ($problem, $stop, &mut ());
        vec![
            ("sdca", answer(sdca(p, &SdcaSettings { stop, ..Default::default() }, None, o))),
            ("cocoa", answer(cocoa(p, &CocoaSettings { stop, ..Default::default() }, None, o))),
            (
                "catalyst",
                answer(catalyst(p, &CatalystSettings { stop, ..Default::default() }, None, o)),
            ),
            ("qning", answer(qning(p, &QningSettings { stop, ..Default::default() }, None, o))),
            (
                "prox_finito",
                answer(prox_finito(p, &ProxFinitoSettings { stop, ..Default::default() }, None, o)),
            ),
            (
                "miso_mu",
                answer(miso_mu(p, &MisoMuSettings { stop, ..Default::default() }, None, o)),
            ),
            ("saga", answer(saga(p, &SagaSettings { stop, ..Default::default() }, None, o))),
            ("sag", answer(sag(p, &SagSettings { stop, ..Default::default() }, None, o))),
            ("svrg", answer(svrg(p, &SvrgSettings { stop, ..Default::default() }, None, o))),
            ("sgd", answer(sgd(p, &SgdSettings { stop, ..Default::default() }, None, o))),
        ]
    }};
}

macro_rules! smooth_only {
    ($problem:expr, $stop:expr) => {{
        let (p, stop, o) = ($problem, $stop, &mut ());
        vec![
            ("finito", answer(finito(p, &FinitoSettings { stop, ..Default::default() }, None, o))),
            ("miso", answer(miso(p, &MisoSettings { stop, ..Default::default() }, None, o))),
        ]
    }};
}

#[test]
fn the_matrix_of_capabilities_is_enforced() {
    let data = data(12, 3, 1.0, 1);
    let design = Dense::new(data.dense.view()).unwrap();
    let stop = Stop::after_passes(2.0);
    fn plain<'a, L: Loss>(
        design: Dense<'a, f64>,
        y: &'a [f64],
        loss: L,
        l2: f64,
    ) -> Problem<'a, Dense<'a, f64>, L, Zero> {
        Problem::new(design, y, loss, Zero, l2).unwrap()
    }
    let strong = plain(design, &data.signs, Logistic, 0.1);
    let convex = plain(design, &data.signs, Logistic, 0.0);
    let kinked = plain(design, &data.signs, Hinge, 0.1);
    let l1 = L1 { strength: 0.01 };
    let composite = Problem::new(design, &data.signs, Logistic, l1, 0.1).unwrap();
    let columns = [
        [every!(&strong, stop), smooth_only!(&strong, stop)].concat(),
        [every!(&convex, stop), smooth_only!(&convex, stop)].concat(),
        [every!(&composite, stop), vec![("finito", '-'), ("miso", '-')]].concat(),
        [every!(&kinked, stop), smooth_only!(&kinked, stop)].concat(),
    ];
    let mut found = String::new();
    let mut expected = String::new();
    for (row, (name, answers)) in MATRIX.iter().enumerate() {
        let line: String = columns.iter().map(|column| column[row].1).collect();
        assert!(columns.iter().all(|column| column[row].0 == *name));
        found += &format!("{name} {line}\n");
        expected += &format!("{name} {answers}\n");
    }
    assert_eq!(found, expected);
}

/// SAG takes a regulariser on request.
#[test]
fn sag_with_a_regulariser_is_opt_in() {
    let data = data(12, 3, 1.0, 1);
    let design = Dense::new(data.dense.view()).unwrap();
    let l1 = L1 { strength: 0.01 };
    let composite = Problem::new(design, &data.signs, Logistic, l1, 0.1).unwrap();
    let settings = SagSettings { unproven_prox: true, ..SagSettings::default() };
    assert!(sag(&composite, &settings, None, &mut ()).is_ok());
}
