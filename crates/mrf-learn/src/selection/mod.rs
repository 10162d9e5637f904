//! Model selection: penalty paths with information criteria, held-out scores, stability selection, confidence intervals
//! and refits.
//!
//! | question | item |
//! |---|---|
//! | which `lambda` | [`lambda_path`], [`Path::refitted`] and [`Path::best_ebic`]; or [`held_out_scores`] |
//! | which edges, with a bound on the false ones | [`StabilitySelection`] |
//! | how sure is a coupling | [`EdgeBootstrap`] |
//! | couplings without the shrinkage | [`refit`] |
//!
//! All items work with any [`Learner`].

mod bootstrap;
mod path;
mod stability;

pub use bootstrap::{EdgeBootstrap, EdgeInterval};
pub use path::{Path, PathFit, falling_grid, held_out_scores, lambda_path, refit};
pub use stability::{StabilitySelection, StableEdges};

use fenchel_optim::Fit;

use crate::{
    BinaryData, Error, ExactMle, InteractionScreening, NetworkModel, NodewiseLogistic, Penalty,
    PseudoLikelihood, Spg,
};

/// A method that learns a network at a given strength of its penalty.
pub trait Learner: Sync {
    /// Its penalty; the strength is what a path varies.
    fn penalty(&self) -> Penalty;

    /// The coordinates of the penalty.
    fn coordinates(&self) -> crate::Coordinates {
        crate::Coordinates::Binary
    }

    /// The smallest strength that leaves no coupling.
    ///
    /// # Errors
    /// As [`Penalty::strengths`].
    fn lambda_max(&self, data: &BinaryData) -> Result<f64, Error> {
        let coordinates = self.coordinates();
        crate::lambda_max(&data.means(coordinates), coordinates, &self.penalty(), data.variables())
    }

    /// Learns at a strength.
    ///
    /// # Errors
    /// The errors of the method.
    fn learn(
        &self,
        data: &BinaryData,
        lambda: f64,
        fit: Fit<'_, NetworkModel>,
    ) -> Result<NetworkModel, Error>;
}

macro_rules! penalised_learner {
    ($method:ident $($more:item)*) => {
        impl Learner for $method {
            fn penalty(&self) -> Penalty {
                self.penalty.clone()
            }

            fn coordinates(&self) -> crate::Coordinates {
                self.coordinates
            }

            $($more)*

            fn learn(
                &self,
                data: &BinaryData,
                lambda: f64,
                fit: Fit<'_, NetworkModel>,
            ) -> Result<NetworkModel, Error> {
                let penalty = Penalty { lambda, ..self.penalty.clone() };
                $method { penalty, ..self.clone() }.fit_with(data, fit)
            }
        }
    };
}

penalised_learner!(ExactMle);
penalised_learner!(PseudoLikelihood
    fn lambda_max(&self, data: &BinaryData) -> Result<f64, Error> {
        PseudoLikelihood::lambda_max(self, data)
    }
);
penalised_learner!(Spg);

impl Learner for InteractionScreening {
    fn penalty(&self) -> Penalty {
        Penalty::edges(self.lambda)
    }

    fn coordinates(&self) -> crate::Coordinates {
        crate::Coordinates::Spins
    }

    fn lambda_max(&self, data: &BinaryData) -> Result<f64, Error> {
        InteractionScreening::lambda_max(self, data)
    }

    fn learn(
        &self,
        data: &BinaryData,
        lambda: f64,
        fit: Fit<'_, NetworkModel>,
    ) -> Result<NetworkModel, Error> {
        InteractionScreening { lambda, ..self.clone() }.fit_with(data, fit)
    }
}

impl Learner for NodewiseLogistic {
    fn penalty(&self) -> Penalty {
        Penalty::edges(self.lambda)
    }

    fn learn(
        &self,
        data: &BinaryData,
        lambda: f64,
        fit: Fit<'_, NetworkModel>,
    ) -> Result<NetworkModel, Error> {
        NodewiseLogistic { lambda, ..self.clone() }.fit_with(data, fit)
    }
}
