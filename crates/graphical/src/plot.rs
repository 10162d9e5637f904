//! Graphs, networks and trees as pictures, and as files for other programs.

use fenchel_linalg::Invalid;
use fenchel_plot::{Bar, Colour, Edge, Kind, Network, Placement};

use crate::bayes_net::Findings;
use crate::{BayesNet, Cpdag, Dag, Error, Evidence, Graph, JunctionTree};

/// A network of named nodes; no names for numbers.
fn named<S: AsRef<str>>(title: &str, nodes: usize, names: &[S]) -> Result<Network, Error> {
    if !names.is_empty() {
        Invalid::check_length("names", nodes, names.len())?;
    }
    Ok(Network::new(title, (0..nodes).map(|v| names.get(v).map_or("", AsRef::as_ref))))
}

fn ends((a, b): (u32, u32)) -> (usize, usize) {
    (a as usize, b as usize)
}

impl Graph {
    /// The graph with the names of its nodes, or numbers without names: a picture by [`Network::svg`], files by [`Network::dot`] and
    /// [`Network::graphml`].
    ///
    /// # Errors
    /// [`Error::Invalid`] if some nodes have names and others do not.
    pub fn network<S: AsRef<str>>(&self, names: &[S]) -> Result<Network, Error> {
        Ok(named("Graph", self.nodes(), names)?.edges(Kind::Line, self.edges().map(ends)))
    }
}

impl Dag {
    /// The graph with the names of its nodes, in layers.
    ///
    /// # Errors
    /// As [`Graph::network`].
    pub fn network<S: AsRef<str>>(&self, names: &[S]) -> Result<Network, Error> {
        let network = named("Directed graph", self.nodes(), names)?;
        Ok(network.edges(Kind::Arrow, self.arcs().map(ends)).placed(Placement::Layers))
    }
}

impl Cpdag {
    /// The class of graphs: arrows where all members agree, lines where they do not.
    ///
    /// # Errors
    /// As [`Graph::network`].
    pub fn network<S: AsRef<str>>(&self, names: &[S]) -> Result<Network, Error> {
        let network = named("Class of equivalent graphs", self.nodes, names)?;
        let arcs = network.edges(Kind::Arrow, self.directed.iter().copied().map(ends));
        let both = arcs.edges(Kind::Line, self.undirected.iter().copied().map(ends));
        Ok(both.placed(Placement::Layers))
    }
}

impl BayesNet {
    fn names(&self) -> Vec<&str> {
        self.variables().map(|v| self.name_of(v)).collect()
    }

    /// The graph of the network in layers. [`network_given`](Self::network_given) adds probabilities.
    ///
    /// # Errors
    /// None of those of [`Dag::network`] can arise.
    pub fn network(&self) -> Result<Network, Error> {
        // Files of networks without a name call them unknown.
        let title = match self.name() {
            "" | "unknown" => "Bayesian network".to_owned(),
            name => format!("Network {name}"),
        };
        Ok(Network { title, ..self.dag().network(&self.names())? })
    }

    /// The graph with a bar for the probability of every state given the evidence, and a tick where the bar was before. Observed variables
    /// are filled.
    ///
    /// ```
    /// let clinic = fenchel_graphical::networks::asia();
    /// let svg = clinic.network_given(&[("smoke", "yes"), ("dysp", "yes")])?.svg();
    /// assert!(svg.contains("Network asia, given smoke = yes, dysp = yes"));
    /// assert!(svg.contains("before the evidence"));
    /// # Ok::<(), fenchel_graphical::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`posteriors`](Self::posteriors).
    pub fn network_given<F: Findings + ?Sized>(&self, evidence: &F) -> Result<Network, Error> {
        let found = self.evidence(evidence)?;
        let after = self.posteriors(evidence)?;
        let seen = evidence.text(self);
        let before = match seen.as_str() {
            "" => None,
            _ => Some(self.posteriors(&Evidence::new())?),
        };
        let mut network = self.network()?;
        if !seen.is_empty() {
            network.title = format!("{}, given {seen}", network.title);
        }
        for (v, node) in self.variables().zip(&mut network.nodes) {
            let i = v.index();
            let bar = |(s, name): (usize, &String)| Bar {
                name: name.clone(),
                value: after[i][s],
                before: before.as_ref().map(|before| before[i][s]),
            };
            node.bars = self.states_of(v).iter().enumerate().map(bar).collect();
            if found.state(v).is_some() {
                (node.colour, node.filled) = (Colour::Amber, true);
            }
        }
        if before.is_some() {
            network.key.push((Colour::Amber, "observed".into()));
        }
        Ok(network)
    }
}

impl JunctionTree {
    /// The tree: a box for each clique with the names of its variables, and the separators on the edges. Each root is on top.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the names are not one a variable of the tree.
    pub fn network<S: AsRef<str>>(&self, names: &[S]) -> Result<Network, Error> {
        let cliques: Vec<Vec<crate::VarId>> = self.cliques().collect();
        let variables = cliques.iter().flatten().map(|v| v.index() + 1).max().unwrap_or(0);
        if names.len() < variables {
            Invalid::check_length("names", variables, names.len())?;
        }
        let lines = |scope: &[crate::VarId]| {
            let names: Vec<&str> = scope.iter().map(|v| names[v.index()].as_ref()).collect();
            names.join("\n")
        };
        let mut network = Network::new("Junction tree", cliques.iter().map(|clique| lines(clique)));
        for (to, (separator, from)) in self.separators().enumerate().filter(|(c, (_, p))| c != p) {
            network.edges.push(Edge { from, to, name: lines(&separator), ..Edge::default() });
        }
        Ok(network.placed(Placement::Layers))
    }
}
