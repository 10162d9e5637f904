//! Evidence by names or by numbers.

use fenchel_linalg::Invalid;

use super::BayesNet;
use crate::{Error, Evidence, Finding};

/// Types that can be used as evidence about a network: a list of names such as `&[("smoke", "yes"), ("xray", "no")]`, or an
/// [`Evidence`].
///
/// ```
/// let net = fenchel_graphical::networks::asia();
/// let by_names = net.query(&["lung"], &[("smoke", "yes")])?;
/// let evidence = net.evidence(&[("smoke", "yes")])?;
/// assert_eq!(net.query(&["lung"], &evidence)?, by_names);
/// # Ok::<(), fenchel_graphical::Error>(())
/// ```
pub trait Findings {
    /// Converts to evidence by numbers.
    ///
    /// # Errors
    /// [`Error::UnknownName`]; [`Error::Duplicate`] for a variable that is listed twice.
    fn evidence(&self, net: &BayesNet) -> Result<Evidence, Error>;

    /// Formats the evidence as text: `smoke = yes, xray = no`. The evidence must fit the network.
    fn text(&self, net: &BayesNet) -> String;
}

impl Findings for [(&str, &str)] {
    fn evidence(&self, net: &BayesNet) -> Result<Evidence, Error> {
        let mut evidence = Evidence::new();
        for &(variable, state) in self {
            let id = net.variable(variable)?;
            if evidence.get(id).is_some() {
                let what = "the state of variable".to_string();
                return Err(Error::Duplicate { what, name: variable.into() });
            }
            evidence = evidence.observe(id, net.state(id, state)?);
        }
        Ok(evidence)
    }

    fn text(&self, _: &BayesNet) -> String {
        let pairs: Vec<String> = self.iter().map(|(v, state)| format!("{v} = {state}")).collect();
        pairs.join(", ")
    }
}

impl<const N: usize> Findings for [(&str, &str); N] {
    fn evidence(&self, net: &BayesNet) -> Result<Evidence, Error> {
        self.as_slice().evidence(net)
    }

    fn text(&self, net: &BayesNet) -> String {
        self.as_slice().text(net)
    }
}

impl Findings for Vec<(&str, &str)> {
    fn evidence(&self, net: &BayesNet) -> Result<Evidence, Error> {
        self.as_slice().evidence(net)
    }

    fn text(&self, net: &BayesNet) -> String {
        self.as_slice().text(net)
    }
}

impl Findings for Evidence {
    fn evidence(&self, _: &BayesNet) -> Result<Evidence, Error> {
        Ok(self.clone())
    }

    fn text(&self, net: &BayesNet) -> String {
        let pair = |(v, finding): (_, &Finding)| match finding {
            &Finding::State(state) => format!("{} = {}", net.name_of(v), net.states_of(v)[state]),
            Finding::Likelihood(values) => {
                let values: Vec<String> = values.iter().map(f64::to_string).collect();
                format!("{} ~ {}", net.name_of(v), values.join(" : "))
            }
        };
        self.iter().map(pair).collect::<Vec<_>>().join(", ")
    }
}

impl BayesNet {
    /// Hard evidence from names `(variable, state)`.
    ///
    /// # Errors
    /// [`Error::UnknownName`]; [`Error::Duplicate`] for a variable that is listed twice.
    pub fn evidence<F: Findings + ?Sized>(&self, findings: &F) -> Result<Evidence, Error> {
        findings.evidence(self)
    }

    /// Makes soft evidence from names. For every state of a variable it takes `P(observation | state)`, up to a common factor.
    ///
    /// ```
    /// use fenchel_graphical::networks;
    ///
    /// let net = networks::asia();
    /// // Whoever read the picture would see this nine times as often if there were something.
    /// let doubt = net.soft_evidence("xray", &[("yes", 0.9), ("no", 0.1)])?;
    /// let all = net.evidence(&[("smoke", "yes")])?.with(&doubt);
    /// let answer = net.query(&["lung"], &all)?;
    /// assert!(answer.to_string().starts_with("lung  P(lung | smoke = yes, xray ~ 0.9 : 0.1)\n"));
    /// assert!(answer.probability(&["yes"])? > 0.1);
    /// # Ok::<(), fenchel_graphical::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::UnknownName`]; [`Error::Duplicate`] for a state that is listed twice; [`Error::Invalid`] for a state without a
    /// number, and for a number that is negative or not finite.
    pub fn soft_evidence(
        &self,
        variable: &str,
        likelihood: &[(&str, f64)],
    ) -> Result<Evidence, Error> {
        let id = self.variable(variable)?;
        let mut values = vec![None; self.cards[id.index()]];
        for &(name, value) in likelihood {
            Invalid::check_nonnegative("likelihood", value)?;
            if values[self.state(id, name)?].replace(value).is_some() {
                let what = format!("the likelihood of {variable:?} in state");
                return Err(Error::Duplicate { what, name: name.into() });
            }
        }
        let found = values.iter().flatten().count();
        Invalid::check_length("likelihood (a number for every state)", values.len(), found)?;
        Ok(Evidence::new().likelihood(id, values.into_iter().flatten().collect::<Vec<_>>()))
    }
}
