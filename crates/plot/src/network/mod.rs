//! Networks: graphs with names, weights and marginals, as pictures and as files for other programs.

mod draw;
mod layers;
mod springs;

use std::fmt::Write as _;

#[cfg(feature = "serde")]
use serde::{Deserialize, Serialize};

use crate::Colour;
use crate::letters::escaped;

/// The probability of a state, drawn as a bar.
#[derive(Debug, Clone, PartialEq, Default)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
pub struct Bar {
    /// The name of the state.
    pub name: String,
    /// Its probability.
    pub value: f64,
    /// What it was before, which is drawn as a tick; `None` for nothing to compare with.
    pub before: Option<f64>,
}

/// A node.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
pub struct Node {
    /// Its name, of one or several lines; a node without a name shows its number.
    pub name: String,
    /// The colour of its disc or of the outline of its box.
    pub colour: Colour,
    /// Whether its box is filled, for what is observed or chosen.
    pub filled: bool,
    /// The probabilities of its states; shown in layers.
    pub bars: Vec<Bar>,
}

/// What joins the ends of an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
pub enum Kind {
    /// A line without a direction.
    #[default]
    Line,
    /// An arrow from the first end to the second.
    Arrow,
    /// A dashed arrow with two heads, for a common cause that is not observed.
    Both,
}

/// An edge.
#[derive(Debug, Clone, PartialEq, Default)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
pub struct Edge {
    /// The number of the first end.
    pub from: usize,
    /// The number of the second end.
    pub to: usize,
    /// What joins them.
    pub kind: Kind,
    /// How strong the edge is. It is as thick as its weight is large; the sign has a colour.
    pub weight: Option<f64>,
    /// Words at its middle, of one or several lines; shown in layers.
    pub name: String,
    /// Its colour; `None`: by the sign of the weight.
    pub colour: Option<Colour>,
    /// Whether it is only shown to be missing, by dashes, and is no edge of the graph.
    pub missing: bool,
}

/// Where the nodes are put.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
pub enum Placement {
    /// Nodes repel each other, and edges draw their ends together (Fruchterman and Reingold 1991). O(p^2) a round.
    #[default]
    Springs,
    /// In layers, so that arrows run downwards.
    Layers,
    /// On a circle, in their order.
    Circle,
}

/// A graph with names and numbers.
#[derive(Debug, Clone, PartialEq, Default)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
pub struct Network {
    /// The title.
    pub title: String,
    /// What nodes and edges are, and of which data. It stands below the title.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "String::is_empty"))]
    pub note: String,
    /// What the weights are, such as `partial correlation`.
    pub unit: String,
    /// The nodes.
    pub nodes: Vec<Node>,
    /// The edges. One with an end that does not exist is left out.
    pub edges: Vec<Edge>,
    /// Where the nodes are put.
    pub placement: Placement,
    /// Colours and what they mean.
    pub key: Vec<(Colour, String)>,
    /// Warnings, which stand below the title.
    pub warnings: Vec<String>,
}

impl Network {
    /// A network without edges; names may be empty.
    pub fn new<S: Into<String>>(
        title: impl Into<String>,
        names: impl IntoIterator<Item = S>,
    ) -> Self {
        let node = |name: S| Node {
            name: name.into(),
            colour: Colour::Soft,
            filled: false,
            bars: Vec::new(),
        };
        let nodes = names.into_iter().map(node).collect();
        Network { title: title.into(), nodes, ..Network::default() }
    }

    /// Adds edges of a kind without weights.
    #[must_use]
    pub fn edges(mut self, kind: Kind, edges: impl IntoIterator<Item = (usize, usize)>) -> Self {
        self.edges.extend(edges.into_iter().map(|(from, to)| Edge {
            from,
            to,
            kind,
            ..Edge::default()
        }));
        self
    }

    /// Adds lines with weights.
    #[must_use]
    pub fn weighted(
        mut self,
        unit: impl Into<String>,
        edges: impl IntoIterator<Item = (usize, usize, f64)>,
    ) -> Self {
        let edge = |(from, to, weight)| Edge { from, to, weight: Some(weight), ..Edge::default() };
        self.edges.extend(edges.into_iter().map(edge));
        Network { unit: unit.into(), ..self }
    }

    /// The same network with these names, in the order of the nodes.
    #[must_use]
    pub fn named<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.nodes.iter_mut().zip(names).for_each(|(node, name)| node.name = name.into());
        self
    }

    /// The same network beside the edges of another: those in both are green, those of this one alone vermilion, and missing ones grey
    /// and dashed. Directions do not count.
    #[must_use]
    pub fn beside(mut self, other: impl IntoIterator<Item = (usize, usize)>) -> Self {
        let key = |a: usize, b: usize| (a.min(b), a.max(b));
        let other: Vec<(usize, usize)> = other.into_iter().map(|(a, b)| key(a, b)).collect();
        let (mut both, mut alone, mut missing) = (0, 0, 0);
        for edge in &mut self.edges {
            let shared = other.contains(&key(edge.from, edge.to));
            *(if shared { &mut both } else { &mut alone }) += 1;
            edge.colour = Some(if shared { Colour::Green } else { Colour::Vermilion });
        }
        for (from, to) in other {
            if self.edges.iter().all(|e| key(e.from, e.to) != (from, to)) {
                missing += 1;
                self.edges.push(Edge {
                    from,
                    to,
                    colour: Some(Colour::Soft),
                    missing: true,
                    ..Edge::default()
                });
            }
        }
        self.key.push((Colour::Green, format!("{both} in both")));
        self.key.push((Colour::Vermilion, format!("{alone} here alone")));
        self.key.push((Colour::Soft, format!("{missing} missing (dashed)")));
        self
    }

    /// Says below the title what nodes and edges are.
    #[must_use]
    pub fn note(self, note: impl Into<String>) -> Self {
        Network { note: note.into(), ..self }
    }

    /// The same network with its nodes in other places.
    #[must_use]
    pub fn placed(self, placement: Placement) -> Self {
        Network { placement, ..self }
    }

    /// Gives a colour to some nodes, and says in the key what it means.
    #[must_use]
    pub fn group(
        mut self,
        colour: Colour,
        meaning: impl Into<String>,
        nodes: impl IntoIterator<Item = usize>,
    ) -> Self {
        for v in nodes {
            if let Some(node) = self.nodes.get_mut(v) {
                (node.colour, node.filled) = (colour, true);
            }
        }
        self.key.push((colour, meaning.into()));
        self
    }

    /// The edges whose ends exist.
    fn real(&self) -> impl Iterator<Item = &Edge> {
        self.edges.iter().filter(|e| e.from < self.nodes.len() && e.to < self.nodes.len())
    }

    fn name(&self, v: usize) -> String {
        match self.nodes[v].name.as_str() {
            "" => v.to_string(),
            name => name.to_owned(),
        }
    }

    /// The network in the DOT language of Graphviz: names and weights as labels.
    pub fn dot(&self) -> String {
        let text = |s: &str| s.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        let directed = self.real().any(|e| e.kind != Kind::Line);
        let (graph, joint) = if directed { ("digraph", "->") } else { ("graph", "--") };
        // Writing to a string cannot fail.
        let mut to = format!("{graph} {{\n");
        for (v, node) in self.nodes.iter().enumerate() {
            match node.name.as_str() {
                "" => _ = writeln!(to, "  {v};"),
                name => _ = writeln!(to, "  {v} [label=\"{}\"];", text(name)),
            }
        }
        for Edge { from, to: end, kind, weight, .. } in self.real().filter(|e| !e.missing) {
            let label = weight.map(|weight| format!("label=\"{weight}\""));
            let style = match kind {
                Kind::Line if directed => Some("dir=none".to_owned()),
                Kind::Both => Some("dir=both, style=dashed".to_owned()),
                _ => None,
            };
            let all: Vec<String> = label.into_iter().chain(style).collect();
            let all = if all.is_empty() { String::new() } else { format!(" [{}]", all.join(", ")) };
            _ = writeln!(to, "  {from} {joint} {end}{all};");
        }
        to + "}\n"
    }

    /// The network as GraphML (Gephi, Cytoscape, networkx, igraph): names as the attribute `name`, weights as `weight`. An edge has a
    /// direction of its own where it differs from that of the graph.
    pub fn graphml(&self) -> String {
        let directed = self.real().any(|e| e.kind != Kind::Line);
        let mut to = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
                      <graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n"
            .to_owned();
        let mut key = |id: &str, of: &str, kind: &str, wanted: bool| {
            if wanted {
                let attributes = format!("attr.name=\"{id}\" attr.type=\"{kind}\"");
                _ = writeln!(to, "  <key id=\"{id}\" for=\"{of}\" {attributes}/>");
            }
        };
        key("name", "node", "string", self.nodes.iter().any(|node| !node.name.is_empty()));
        key("weight", "edge", "double", self.edges.iter().any(|edge| edge.weight.is_some()));
        let default = if directed { "directed" } else { "undirected" };
        _ = writeln!(to, "  <graph edgedefault=\"{default}\">");
        for (v, node) in self.nodes.iter().enumerate() {
            let name = escaped(&node.name);
            match name.as_str() {
                "" => _ = writeln!(to, "    <node id=\"n{v}\"/>"),
                name => {
                    _ = writeln!(
                        to,
                        "    <node id=\"n{v}\"><data key=\"name\">{name}</data></node>"
                    )
                }
            }
        }
        for Edge { from, to: end, kind, weight, .. } in self.real().filter(|e| !e.missing) {
            let own = if directed && *kind != Kind::Arrow { " directed=\"false\"" } else { "" };
            let ends = format!("source=\"n{from}\" target=\"n{end}\"{own}");
            match weight {
                Some(weight) => {
                    _ = writeln!(
                        to,
                        "    <edge {ends}><data key=\"weight\">{weight}</data></edge>"
                    );
                }
                None => _ = writeln!(to, "    <edge {ends}/>"),
            }
        }
        to + "  </graph>\n</graphml>\n"
    }
}

/// Places as near as possible, by squares, to those asked for, in their order and so that neighbours do not overlap. `sizes` is the
/// room that each takes.
pub(crate) fn apart(wanted: &[f64], sizes: &[f64]) -> Vec<f64> {
    let mut offset = 0.0;
    let offsets: Vec<f64> = (0..wanted.len())
        .map(|k| {
            offset += if k > 0 { 0.5 * (sizes[k - 1] + sizes[k]) } else { 0.0 };
            offset
        })
        .collect();
    // Without the offsets the places only have to rise: pool adjacent violators.
    let mut pools: Vec<(f64, usize)> = Vec::new();
    for (place, offset) in wanted.iter().zip(&offsets) {
        let mut pool = (place - offset, 1);
        while let Some(last) = pools.last().filter(|last| last.0 > pool.0) {
            let count = last.1 + pool.1;
            pool = ((last.0 * last.1 as f64 + pool.0 * pool.1 as f64) / count as f64, count);
            pools.pop();
        }
        pools.push(pool);
    }
    let levels = pools.into_iter().flat_map(|(level, count)| std::iter::repeat_n(level, count));
    levels.zip(offsets).map(|(level, offset)| level + offset).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_apart_and_near() {
        let places = apart(&[0.0, 1.0, 2.0, 100.0, 101.0], &[10.0; 5]);
        assert!(places.windows(2).all(|w| w[1] - w[0] >= 10.0 - 1e-9));
        assert!((places[1] - 1.0).abs() < 1e-9 && (places[3] + places[4] - 201.0).abs() < 1e-9);
    }

    #[test]
    fn files_say_what_the_graph_is() {
        let graph = Network::new("G", ["a \"b\"", "<c & d>", ""])
            .weighted("w", [(0, 1, 0.5), (1, 2, -1.0)]);
        let expected = "graph {\n  0 [label=\"a \\\"b\\\"\"];\n  1 [label=\"<c & d>\"];\n  2;\n\
                        \u{20} 0 -- 1 [label=\"0.5\"];\n  1 -- 2 [label=\"-1\"];\n}\n";
        assert_eq!(graph.dot(), expected);
        let xml = graph.graphml();
        assert!(xml.contains("<node id=\"n1\"><data key=\"name\">&lt;c &amp; d&gt;</data></node>"));
        assert!(
            xml.contains("<edge source=\"n1\" target=\"n2\"><data key=\"weight\">-1</data></edge>")
        );
        assert!(xml.contains("edgedefault=\"undirected\""));
        let dag = Network::new("", ["", ""]).edges(Kind::Arrow, [(1, 0)]);
        assert_eq!(dag.dot(), "digraph {\n  0;\n  1;\n  1 -> 0;\n}\n");
        let mixed =
            dag.edges(Kind::Both, [(0, 1)]).edges(Kind::Line, [(0, 1)]).edges(Kind::Line, [(0, 9)]);
        let arcs = "  0 -> 1 [dir=both, style=dashed];\n  0 -> 1 [dir=none];\n}\n";
        assert!(mixed.dot().ends_with(arcs), "{}", mixed.dot());
        assert!(mixed.graphml().contains("<edge source=\"n0\" target=\"n1\" directed=\"false\"/>"));
    }

    #[test]
    fn weights_have_no_colour_of_a_group() {
        let network = Network::new("T", ["a", "b"]).weighted("w", [(0, 1, 0.5)]);
        assert!(network.svg().contains("<path class=\"fp-Blue\""));
        let svg = network.group(Colour::Vermilion, "one side", [0]).svg();
        assert!(svg.contains("<path class=\"fp-Green\"") && !svg.contains("fp-Blue"), "{svg}");
    }

    /// Graphs without nodes, of one node, with circles, loops and weights that are no numbers, in every placement.
    #[test]
    fn odd_networks_are_drawn() {
        let names = |n: usize| (0..n).map(|v| format!("node {v} & \n more")).collect::<Vec<_>>();
        for n in [0, 1, 2, 9, 90] {
            for placement in [Placement::Springs, Placement::Layers, Placement::Circle] {
                let mut network = Network::new("T", names(n))
                    .edges(Kind::Arrow, (0..n).map(|v| (v, (v + 1) % n)))
                    .edges(Kind::Both, [(0, 0), (0, 1)])
                    .weighted(
                        "w",
                        [(0, 2, f64::NAN), (1, 2, -1e308), (0, 1, f64::INFINITY), (1, 0, 0.0)],
                    )
                    .group(Colour::Blue, "blue <", [0, 7])
                    .placed(placement);
                for node in &mut network.nodes {
                    let bar = |value| Bar { name: "yes".into(), value, before: Some(value) };
                    node.bars = vec![bar(0.3), bar(f64::NAN), bar(7.0)];
                }
                let svg = network.svg();
                assert!(
                    svg.ends_with("</svg>\n") && !svg.contains("NaN") && !svg.contains("\"inf"),
                    "{svg}"
                );
                assert_eq!(svg, network.svg());
            }
        }
    }
}
