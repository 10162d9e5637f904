//! Graphs for other programs: DOT (Graphviz) and GraphML (Gephi, Cytoscape, networkx, igraph).

use std::io::Write;

use fenchel_linalg::Invalid;

use super::Graph;
use crate::Error;

/// Labels of nodes and edges in a file. An empty slice means no labels.
#[derive(Debug, Clone, Copy, Default)]
pub struct Labels<'a> {
    /// One name per node. Without names, nodes are labelled by their numbers.
    pub nodes: &'a [String],
    /// One number per edge, in the order of [`Graph::edges`] or of `Dag::arcs`.
    pub weights: &'a [f64],
}

impl Graph {
    /// Writes the graph in the DOT language of Graphviz.
    ///
    /// # Errors
    /// [`Error::Invalid`] if labels are given for some nodes or edges only; [`Error::Io`].
    pub fn write_dot(&self, labels: Labels<'_>, to: impl Write) -> Result<(), Error> {
        self.picture(labels)?.dot(to)
    }

    /// Writes the graph as GraphML: names as the attribute `name`, weights as `weight`.
    ///
    /// # Errors
    /// As [`Graph::write_dot`].
    pub fn write_graphml(&self, labels: Labels<'_>, to: impl Write) -> Result<(), Error> {
        self.picture(labels)?.graphml(to)
    }

    fn picture<'a>(&self, labels: Labels<'a>) -> Result<Picture<'a>, Error> {
        Picture::new(self.nodes(), self.edges().collect(), false, labels)
    }
}

/// A graph with labels that fit it.
pub(crate) struct Picture<'a> {
    nodes: usize,
    edges: Vec<(u32, u32)>,
    directed: bool,
    labels: Labels<'a>,
}

impl<'a> Picture<'a> {
    pub(crate) fn new(
        nodes: usize,
        edges: Vec<(u32, u32)>,
        directed: bool,
        labels: Labels<'a>,
    ) -> Result<Picture<'a>, Error> {
        if !labels.nodes.is_empty() {
            Invalid::check_length("labels.nodes", nodes, labels.nodes.len())?;
        }
        if !labels.weights.is_empty() {
            Invalid::check_length("labels.weights", edges.len(), labels.weights.len())?;
        }
        Ok(Picture { nodes, edges, directed, labels })
    }

    pub(crate) fn dot(&self, mut to: impl Write) -> Result<(), Error> {
        let (kind, joint) = if self.directed { ("digraph", "->") } else { ("graph", "--") };
        writeln!(to, "{kind} {{")?;
        for v in 0..self.nodes {
            match self.labels.nodes.get(v) {
                Some(name) => writeln!(to, "  {v} [label=\"{}\"];", dot_text(name))?,
                None => writeln!(to, "  {v};")?,
            }
        }
        for (i, (a, b)) in self.edges.iter().enumerate() {
            match self.labels.weights.get(i) {
                Some(weight) => writeln!(to, "  {a} {joint} {b} [label=\"{weight}\"];")?,
                None => writeln!(to, "  {a} {joint} {b};")?,
            }
        }
        writeln!(to, "}}")?;
        Ok(to.flush()?)
    }

    pub(crate) fn graphml(&self, mut to: impl Write) -> Result<(), Error> {
        writeln!(to, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
        writeln!(to, "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">")?;
        if !self.labels.nodes.is_empty() {
            let key = "id=\"name\" for=\"node\" attr.name=\"name\" attr.type=\"string\"";
            writeln!(to, "  <key {key}/>")?;
        }
        if !self.labels.weights.is_empty() {
            let key = "id=\"weight\" for=\"edge\" attr.name=\"weight\" attr.type=\"double\"";
            writeln!(to, "  <key {key}/>")?;
        }
        let kind = if self.directed { "directed" } else { "undirected" };
        writeln!(to, "  <graph edgedefault=\"{kind}\">")?;
        for v in 0..self.nodes {
            match self.labels.nodes.get(v) {
                Some(name) => writeln!(
                    to,
                    "    <node id=\"n{v}\"><data key=\"name\">{}</data></node>",
                    xml_text(name)
                )?,
                None => writeln!(to, "    <node id=\"n{v}\"/>")?,
            }
        }
        for (i, (a, b)) in self.edges.iter().enumerate() {
            let ends = format!("source=\"n{a}\" target=\"n{b}\"");
            match self.labels.weights.get(i) {
                Some(weight) => {
                    writeln!(to, "    <edge {ends}><data key=\"weight\">{weight}</data></edge>")?
                }
                None => writeln!(to, "    <edge {ends}/>")?,
            }
        }
        writeln!(to, "  </graph>\n</graphml>")?;
        Ok(to.flush()?)
    }
}

fn dot_text(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// The text of an XML element. Characters that XML 1.0 does not allow become U+FFFD.
fn xml_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\t' | '\n' | '\r' => out.push(c),
            c if c < ' ' || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
