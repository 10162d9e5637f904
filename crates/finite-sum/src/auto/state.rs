//! Where `auto` begins and ends.

use fenchel_optim::fista::FistaState;
use fenchel_optim::lbfgs::LbfgsState;
use fenchel_optim::{Journal, Report, Solution};
use serde::{Deserialize, Serialize};

use super::choice::Choice;
use super::relay::Outlook;
use crate::Point;
use crate::dual::DualState;
use crate::incremental::TableState;
use crate::newton::{NewtonCgState, NewtonState, SubsampledNewtonState};

/// Where [`auto`](super::auto()) ended, and how it got there.
///
/// Given to [`auto_from`](super::auto_from) with the same problem and settings (of `stop`, the limits may differ) it goes on
/// bit for bit as if the run had not been interrupted: the same method, from its own state, given up at the same look.
/// Elsewhere it is a warm start at its point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AutoState<P = Point, S = MethodState> {
    /// The point; of a general sum with what its method goes on from.
    pub point: P,
    /// What was chosen and why.
    pub choice: Choice,
    /// Where the run stood.
    #[serde(default = "Option::default", skip_serializing_if = "Option::is_none")]
    trail: Option<Box<Trail<S>>>,
}

/// All that a run knows beyond its point and what it chose.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Trail<S> {
    /// Of the method at work, but for its point.
    state: S,
    leg: Leg,
}

/// How far the method at work has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Leg {
    pub(crate) journal: Journal,
    pub(crate) outlook: Outlook,
}

/// Where a run of [`auto`](super::auto()) begins.
#[derive(Debug, Clone, PartialEq)]
pub enum AutoStart<P = Point, S = MethodState> {
    /// At a point.
    Point(P),
    /// Where a former run stood.
    State(Box<AutoState<P, S>>),
}

impl<P, S> AutoStart<P, S> {
    /// Where it is.
    pub fn point(&mut self) -> &mut P {
        match self {
            AutoStart::Point(point) => point,
            AutoStart::State(state) => &mut state.point,
        }
    }
}

/// The state of one of several methods.
pub(crate) trait OneOf<P>: From<P> {
    /// Its point.
    fn point(&mut self) -> &mut P;
}

impl<P, S> AutoState<P, S> {
    /// Of the method at work.
    pub(crate) fn new(choice: Choice, mut state: S, leg: Leg) -> Self
    where
        P: Default,
        S: OneOf<P>,
    {
        let point = std::mem::take(state.point());
        AutoState { point, choice, trail: Some(Box::new(Trail { state, leg })) }
    }

    /// Of a method whose state is all there is.
    pub(crate) fn whole(choice: Choice, point: P) -> Self {
        AutoState { point, choice, trail: None }
    }

    /// The state of the method at work, and how far it has come, if the choice was this one, which then says which method
    /// took over; else the point.
    pub(super) fn resume(self, choice: &mut Choice) -> (S, Leg)
    where
        S: OneOf<P>,
    {
        let AutoState { point, choice: kept, trail } = self;
        let switched = kept.switched;
        let same = Choice { switched: None, ..kept } == *choice
            && (switched.is_none() || switched == choice.second());
        let Some(trail) = trail.filter(|_| same) else { return (point.into(), Leg::default()) };
        let Trail { mut state, leg } = *trail;
        choice.switched = switched;
        *state.point() = point;
        (state, leg)
    }
}

/// The start of a method: its own state, or one made of the point of another.
pub(crate) fn own<P, S, T: TryFrom<S, Error = P>>(
    start: Option<S>,
    at: impl FnOnce(P) -> T,
) -> Option<T> {
    start.map(|start| T::try_from(start).unwrap_or_else(at))
}

/// What a method has told, as that of one of several.
pub(crate) fn told<T: Into<S>, S>(solution: Solution<T>) -> (S, Report) {
    (solution.state.into(), solution.report)
}

/// An enumeration of the states of methods, with a point each.
macro_rules! one_of {
    ($(#[$doc:meta])* $name:ident, $point:ty {
        $($(#[$of:meta])* $method:ident($state:ty)),* $(,)?
    }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        pub enum $name {
            /// None yet: a start at a point.
            Point($point),
            $($(#[$of])* $method($state),)*
        }

        impl $crate::auto::OneOf<$point> for $name {
            fn point(&mut self) -> &mut $point {
                match self {
                    $name::Point(point) => point,
                    $($name::$method(state) => &mut state.point,)*
                }
            }
        }

        impl From<$point> for $name {
            fn from(point: $point) -> Self {
                $name::Point(point)
            }
        }

        $(
            impl From<$state> for $name {
                fn from(state: $state) -> Self {
                    $name::$method(state)
                }
            }

            impl TryFrom<$name> for $state {
                /// The point of another method.
                type Error = $point;

                fn try_from(mut state: $name) -> Result<$state, $point> {
                    match state {
                        $name::$method(state) => Ok(state),
                        _ => Err(std::mem::take($crate::auto::OneOf::point(&mut state))),
                    }
                }
            }
        )*
    };
}
pub(crate) use one_of;

one_of! {
    /// The state of a method that [`auto`](super::auto()) runs.
    MethodState, Point {
        /// Of dual ascent, accelerated or not, and QNing.
        Dual(DualState),
        /// Of SAGA.
        Table(TableState),
        /// Of FISTA.
        Fista(FistaState<Point>),
        /// Of proximal Newton.
        Newton(NewtonState),
        /// Of subsampled Newton.
        SubsampledNewton(SubsampledNewtonState),
        /// Of Newton-CG.
        NewtonCg(NewtonCgState),
        /// Of L-BFGS.
        Lbfgs(LbfgsState<Point>),
    }
}
