//! Dual coordinate ascent climbs.

use std::ops::ControlFlow;

use crate::common::{Data, data};
use fenchel_erm::Problem;
use fenchel_erm::loss::{Hinge, Logistic};
use fenchel_erm::methods::{Sdca, SdcaSettings, sdca};
use fenchel_linalg::{Csr, Design};
use fenchel_optim::prox::{L1, Zero};
use fenchel_optim::{Cadence, Loss, Progress, Separable, Stop};

/// One label is rare: most terms are soon fitted well.
fn rare(n: usize) -> Data {
    let mut data = data(n, 8, 0.5, 3);
    for (i, sign) in data.signs.iter_mut().enumerate() {
        *sign = if i % 15 == 0 { 1.0 } else { -1.0 };
    }
    data
}

/// With exact steps the value of the dual never falls: after every look, for a smooth loss and one with a kink.
fn never_falls<L: Loss + Copy, R: Separable>(loss: L, regulariser: R, l2: f64) {
    let data = rare(120);
    let design = Csr::new(data.sparse.view()).unwrap();
    let problem = Problem::new(design, &data.signs, loss, regulariser, l2).unwrap();
    let stop = Stop { check: Cadence::Every(0.5), ..Stop::after_passes(30.0) };
    let settings = SdcaSettings { stop, ..SdcaSettings::default() };
    let (mut last, mut looks) = (f64::NEG_INFINITY, 0);
    let mut observer = |_: &Progress, method: &Sdca<'_, '_, _, L, R>| {
        let u = method.last_dual();
        let mut v = vec![0.0; 8];
        for (i, u) in u.iter().enumerate() {
            problem.design().row_axpy(i, -u / 120.0, &mut v);
        }
        let conjugates: f64 = u.iter().zip(&data.signs).map(|(u, y)| loss.conjugate(*u, *y)).sum();
        let value = -conjugates / 120.0 - problem.regulariser().conjugate(&v, l2);
        assert!(value >= last - 1e-13 * value.abs(), "{value} after {last}");
        (last, looks) = (value, looks + 1);
        ControlFlow::Continue(())
    };
    sdca(&problem, &settings, None, &mut observer).unwrap();
    assert!(looks >= 30, "{looks}");
}

#[test]
fn the_dual_never_falls() {
    never_falls(Logistic, Zero, 1e-3);
    never_falls(Hinge, Zero, 1e-2);
    never_falls(Logistic, L1 { strength: 0.01 }, 1e-3);
}
