//! What methods ask of a regulariser.

use std::ops::Deref;

use fenchel_optim::prox::L1;
use fenchel_optim::{Regulariser, Separable};

use super::powers::Powers;
use crate::methods::newton::AsElasticNet;

/// A separable regulariser that can apply delayed steps.
pub trait Lagged: Separable + Composite {
    /// The factor by which a proximal step multiplies every coordinate. It is 1 unless the regulariser has a
    /// quadratic part.
    fn shrink(&self, _step: f64) -> f64 {
        1.0
    }

    /// Applies `T^m` to `x` at coordinate `c`, with averaged gradient `g`.
    ///
    /// The default applies the steps one by one, which is correct for every regulariser and costs O(m). If your own
    /// regulariser relies on it, [`shrink`](Lagged::shrink) must stay 1.
    fn catch_up(&self, c: usize, x: f64, g: f64, m: u32, powers: &Powers) -> f64 {
        powers.follow(m, x, |x, s| self.prox_coordinate(c, s.rho * x - s.pull * g, s.step))
    }
}

/// A regulariser that every method and every estimator accepts which can treat it.
///
/// The defaults are for one that ties the weights together, such as a group norm: `impl Composite for MyPenalty {}`. FISTA accepts
/// it, and the incremental methods update the whole vector in every step, which costs O(d). If yours is a sum over coordinates,
/// write `impl Lagged for MyPenalty {}` too, and let [`coordinates`](Composite::coordinates) return `Some(self)`: dual methods
/// accept it then, and sparse data are updated by delayed steps.
pub trait Composite: Regulariser + Clone {
    /// The regulariser itself, if it is a sum over coordinates.
    #[inline(always)]
    fn coordinates(&self) -> Option<&impl Lagged> {
        None::<&L1>
    }

    /// Solves a problem by one of the methods that this regulariser allows: what [`auto`](fn@crate::auto) calls.
    fn dispatch<C: Call<Self>>(call: C) -> C::Solved {
        call.general()
    }
}

impl<R: Composite> Composite for &R {
    #[inline(always)]
    fn coordinates(&self) -> Option<&impl Lagged> {
        (**self).coordinates()
    }

    fn dispatch<C: Call<Self>>(call: C) -> C::Solved {
        call.owned()
    }
}

/// A problem to solve, with settings, start and observer: the same choice for one margin and for several classes.
pub trait Call<R: Regulariser>: Sized {
    /// What comes back.
    type Solved;

    /// With l1, l2, both or neither.
    fn elastic_net(self) -> Self::Solved
    where
        R: AsElasticNet + Lagged;

    /// With any regulariser.
    fn general(self) -> Self::Solved
    where
        R: Composite;

    /// With the regulariser that this one refers to, which is copied.
    fn owned<S: Composite>(self) -> Self::Solved
    where
        R: Deref<Target = S>;
}
