//! What the methods of selection need of an estimator.

use fenchel_optim::{Fit, Stop};

use crate::conditional::{InteractionScreening, NodewiseLogistic, PseudoLikelihood};
use crate::data::Data;
use crate::error::Error;
use crate::exact::ExactMle;
use crate::layout::Coordinates;
use crate::model::NetworkModel;
use crate::penalty::Penalty;
use crate::spg::Spg;

/// A method that learns a network at a given strength of its penalty.
pub trait Learner: Sync {
    /// Its penalty; the strength is what a path varies.
    fn penalty(&self) -> Penalty;

    /// The coordinates of the penalty.
    fn coordinates(&self) -> Coordinates {
        Coordinates::Binary
    }

    /// The smallest strength that leaves no coupling.
    ///
    /// # Errors
    /// As [`Penalty::strengths`].
    fn largest_strength(&self, data: &Data) -> Result<f64, Error> {
        let layout = data.layout(self.coordinates())?;
        self.penalty().largest_strength(&data.means_of(&layout), &layout)
    }

    /// Its stopping rule; what consists of several fits shares the time limit among them.
    fn stop(&self) -> Stop;

    /// Learns at a strength, with a stopping rule in place of its own.
    ///
    /// # Errors
    /// The errors of the method.
    fn learn(
        &self,
        data: &Data,
        strength: f64,
        stop: Stop,
        fit: Fit<'_, NetworkModel>,
    ) -> Result<NetworkModel, Error>;
}

macro_rules! penalised_learner {
    ($method:ident $($more:item)*) => {
        impl Learner for $method {
            fn penalty(&self) -> Penalty {
                self.penalty.clone()
            }

            fn coordinates(&self) -> Coordinates {
                self.coordinates
            }

            fn stop(&self) -> Stop {
                self.stop
            }

            $($more)*

            fn learn(
                &self,
                data: &Data,
                strength: f64,
                stop: Stop,
                fit: Fit<'_, NetworkModel>,
            ) -> Result<NetworkModel, Error> {
                let penalty = self.penalty.with_strength(strength);
                $method { penalty, stop, ..self.clone() }.fit_with(data, fit)
            }
        }
    };
}

penalised_learner!(ExactMle);
penalised_learner!(PseudoLikelihood
    fn largest_strength(&self, data: &Data) -> Result<f64, Error> {
        PseudoLikelihood::largest_strength(self, data)
    }
);
penalised_learner!(Spg);

impl Learner for InteractionScreening {
    fn penalty(&self) -> Penalty {
        Penalty::edges(self.l1)
    }

    fn stop(&self) -> Stop {
        self.stop
    }

    fn coordinates(&self) -> Coordinates {
        Coordinates::Spins
    }

    fn largest_strength(&self, data: &Data) -> Result<f64, Error> {
        InteractionScreening::largest_strength(self, data)
    }

    fn learn(
        &self,
        data: &Data,
        strength: f64,
        stop: Stop,
        fit: Fit<'_, NetworkModel>,
    ) -> Result<NetworkModel, Error> {
        InteractionScreening { l1: strength, stop, ..self.clone() }.fit_with(data, fit)
    }
}

impl Learner for NodewiseLogistic {
    fn penalty(&self) -> Penalty {
        Penalty::edges(self.l1)
    }

    fn stop(&self) -> Stop {
        self.stop
    }

    fn learn(
        &self,
        data: &Data,
        strength: f64,
        stop: Stop,
        fit: Fit<'_, NetworkModel>,
    ) -> Result<NetworkModel, Error> {
        NodewiseLogistic { l1: strength, stop, ..self.clone() }.fit_with(data, fit)
    }
}
