//! A family of a user's own, from the public interface alone: signs, `p(x) = exp(eta x) / (2 cosh eta)` for `x = -1, 1`.

use std::f64::consts::LN_2;

use fenchel_expfam::{Density, Distribution, Error, Evidence, Family, Prior, Sample, Summary, mle};
use fenchel_optim::random::stream;
use rand::{Rng, RngExt};

#[derive(Debug, Clone, Copy, PartialEq)]
struct Signs;

impl Family for Signs {
    fn name(&self) -> &'static str {
        "signs"
    }

    fn dimension(&self) -> usize {
        1
    }

    fn check_natural(&self, eta: &[f64]) -> Result<(), Error> {
        let (family, index, value, expected) = (self.name(), 0, eta[0], "a finite number");
        if value.is_finite() {
            return Ok(());
        }
        Err(Error::OutsideNaturalDomain { family, index, value, expected })
    }

    fn check_mean(&self, mu: &[f64]) -> Result<(), Error> {
        let (family, index, value, expected) = (self.name(), 0, mu[0], "a number inside (-1, 1)");
        if value.abs() < 1.0 {
            return Ok(());
        }
        Err(Error::OutsideMeanDomain { family, index, value, expected })
    }

    fn log_partition(&self, eta: &[f64]) -> f64 {
        eta[0].abs() + (-2.0 * eta[0].abs()).exp().ln_1p()
    }

    fn mean(&self, eta: &[f64], mu: &mut [f64]) {
        mu[0] = eta[0].tanh();
    }

    fn natural(&self, mu: &[f64], eta: &mut [f64]) -> Result<(), Error> {
        self.check_mean(mu)?;
        eta[0] = mu[0].atanh();
        Ok(())
    }

    fn fisher(&self, eta: &[f64], out: &mut [f64]) {
        out[0] = eta[0].cosh().powi(-2);
    }
}

impl Density for Signs {
    type Point = f64;

    fn check_point(&self, x: &f64) -> Result<(), Error> {
        let (family, index, value, expected) = (self.name(), 0, *x, "-1 or 1");
        if x.abs() == 1.0 {
            return Ok(());
        }
        Err(Error::OutsideSupport { family, index, value, expected })
    }

    fn statistics(&self, x: &f64, out: &mut [f64]) {
        out[0] = *x;
    }

    fn log_base(&self, _: &f64) -> f64 {
        0.0
    }

    fn mean_log_base(&self, _: &[f64]) -> Result<f64, Error> {
        Ok(0.0)
    }
}

impl Sample for Signs {
    type Owned = f64;

    fn draw(&self, eta: &[f64], rng: &mut dyn Rng) -> f64 {
        let up = 1.0 / (1.0 + (-2.0 * eta[0]).exp());
        if rng.random::<f64>() < up { 1.0 } else { -1.0 }
    }
}

impl Evidence for Signs {
    /// With `p = P(x = 1)`, `eta = log(p / (1 - p)) / 2` and `d eta = dp / (2 p (1 - p))`: half of a beta function.
    fn log_prior_normaliser(&self, weight: f64, centred: &[f64]) -> f64 {
        use fenchel_linalg::special::ln_gamma;
        let (a, b) = (0.5 * weight * (1.0 + centred[0]), 0.5 * weight * (1.0 - centred[0]));
        ln_gamma(a) + ln_gamma(b) - ln_gamma(weight) - LN_2
    }
}

#[test]
fn a_family_of_ones_own_has_all_that_the_traits_give() {
    let close = |a: f64, b: f64| assert!((a - b).abs() <= 1e-13, "{a:e} {b:e}");
    let data = [1.0, 1.0, -1.0, 1.0, 1.0, -1.0, 1.0, 1.0];
    // Six of eight are 1: p = 3/4.
    let law = mle(Signs, &data).unwrap();
    close(law.natural()[0], 0.5 * 3f64.ln());
    close(law.log_density(&1.0).unwrap(), 0.75f64.ln());
    close(law.entropy().unwrap(), -(0.75 * 0.75f64.ln() + 0.25 * 0.25f64.ln()));
    let fair = Distribution::from_mean(Signs, &[0.0]).unwrap();
    close(law.kl(&fair), 0.75 * 1.5f64.ln() + 0.25 * 0.5f64.ln());
    assert!(matches!(mle(Signs, &[1.0, 1.0]), Err(Error::BoundaryMean { .. })));
    assert!(matches!(Summary::of(Signs, &[1.0, 0.0]), Err(Error::OutsideSupport { index: 1, .. })));
    let draws = law.samples(4000, &mut stream(1, 0));
    // Six standard deviations of the mean.
    assert!((draws.iter().sum::<f64>() / 4000.0 - 0.5).abs() < 6.0 * (0.75f64 / 4000.0).sqrt());
    // Laplace's rule of succession: a uniform law of p, with one of each seen beforehand.
    let prior = Prior::new(Signs, 2.0, &[0.0]).unwrap();
    let after = prior.posterior(&Summary::of(Signs, &data).unwrap()).unwrap();
    close(after.log_predictive(&1.0).unwrap(), (7.0f64 / 10.0).ln());
}
