"""The other tools. Each takes a graph once, then answers queries: (says yes, tables that it claims to be the effect).

A tool that only searches adjustment and front-door sets says None where it finds none: it does not claim that there is no formula.
"""

import logging
import warnings

warnings.simplefilter("ignore")
logging.disable(logging.WARNING)

import antecedent
import causaleffect
import networkx
from dowhy.causal_identifier import EstimandType, identify_effect_auto
from pgmpy.inference import CausalInference
from pgmpy.models import DiscreteBayesianNetwork
from y0 import dsl
from y0.algorithm.identify import identify_outcomes
from y0.graph import NxMixedGraph


def name(k):
    """The name of a node."""
    return f"V{k}"


def number(text):
    """The node of a name."""
    return int(str(text)[1:])


def with_latents(graph):
    """Directed edges in which each bidirected edge is a node with two children."""
    hidden = [f"U{a}_{b}" for a, b in graph["bidirected"]]
    edges = [(name(a), name(b)) for a, b in graph["directed"]]
    for u, (a, b) in zip(hidden, graph["bidirected"]):
        edges += [(u, name(a)), (u, name(b))]
    return edges, hidden


class Y0:
    """ID."""

    def __init__(self, graph, nodes):
        node = lambda k: dsl.Variable(name(k))
        pairs = lambda edges: [(node(a), node(b)) for a, b in edges]
        self.graph = NxMixedGraph.from_edges(
            nodes=[node(k) for k in range(nodes)],
            directed=pairs(graph["directed"]),
            undirected=pairs(graph["bidirected"]),
        )

    def ask(self, x, y):
        return identify_outcomes(self.graph, treatments={dsl.Variable(name(x))}, outcomes={dsl.Variable(name(y))})

    def read(self, answer, x, y, tables):
        return (False, []) if answer is None else (True, [self.table(answer, tables)])

    def table(self, e, tables):
        nodes = lambda variables: {number(v.name) for v in variables}
        if isinstance(e, dsl.Probability):
            return tables.conditional(nodes(e.children), nodes(e.parents))
        if isinstance(e, dsl.Product):
            out = tables.marginal(set())
            for f in e.expressions:
                out = out * self.table(f, tables)
            return out
        if isinstance(e, dsl.Sum):
            return tables.add_up(self.table(e.expression, tables), nodes(e.ranges))
        if isinstance(e, dsl.Fraction):
            return self.table(e.numerator, tables) / self.table(e.denominator, tables)
        if isinstance(e, dsl.One):
            return tables.marginal(set())
        raise TypeError(type(e))


class CausalEffect:
    """ID, ported from the R package of the same name."""

    def __init__(self, graph, nodes):
        edges = [f"{name(a)}->{name(b)}" for a, b in graph["directed"]]
        edges += [f"{name(a)}<->{name(b)}" for a, b in graph["bidirected"]]
        joined = {k for edge in graph["directed"] + graph["bidirected"] for k in edge}
        self.lonely = set(range(nodes)) - joined
        self.graph = causaleffect.createGraph(edges)

    def ask(self, x, y):
        # Its graphs have no nodes without edges: those are outside of what it answers.
        if {x, y} & self.lonely:
            return None
        return causaleffect.ID({name(y)}, {name(x)}, self.graph)

    def read(self, answer, x, y, tables):
        if answer is None:
            return None, []
        if not answer.identifiable:
            return False, []
        return True, [self.table(answer.attributes(), tables)]

    def table(self, e, tables):
        nodes = lambda names: {number(v) for v in names}
        if e["recursive"]:
            out = tables.marginal(set())
            for child in e["children"]:
                out = out * self.table(child, tables)
        else:
            out = tables.conditional(nodes(e["var"]), nodes(e["cond"]))
        out = tables.add_up(out, nodes(e["sumset"]))
        return out / self.table(e["divisor"], tables) if e["fraction"] else out


class Antecedent:
    """Verdicts of its general identification; formulas are not given out."""

    def __init__(self, graph, nodes):
        pairs = lambda edges: [(name(a), name(b)) for a, b in edges]
        names = [name(k) for k in range(nodes)]
        self.graph = antecedent.Admg.from_edges(names, pairs(graph["directed"]), pairs(graph["bidirected"]))

    def ask(self, x, y):
        try:
            return antecedent.identify(graph=self.graph, query=antecedent.AverageEffect(name(x), name(y)))
        except antecedent.CausalError as refusal:
            if "not_identified" not in str(refusal):
                raise
            return None

    def read(self, answer, x, y, tables):
        if answer is None:
            return False, []
        if answer.adjustment_set or "backdoor" in str(answer.method):
            return True, [tables.adjusted(x, y, {number(v) for v in answer.adjustment_set})]
        return True, []


class DoWhy:
    """Back-door and front-door sets."""

    def __init__(self, graph, nodes):
        edges, _ = with_latents(graph)
        self.graph = networkx.DiGraph(edges)
        self.observed = [name(k) for k in range(nodes)]
        self.graph.add_nodes_from(self.observed)

    def ask(self, x, y):
        kind = EstimandType.NONPARAMETRIC_ATE
        return identify_effect_auto(self.graph, [name(x)], [name(y)], self.observed, kind)

    def read(self, answer, x, y, tables):
        if answer.no_directed_path:
            return True, [tables.marginal({y})]
        nodes = lambda names: {number(v) for v in names}
        sets = list((answer.backdoor_variables or {}).values())
        found = [tables.adjusted(x, y, nodes(z)) for z in sets if z is not None]
        if answer.frontdoor_variables:
            found.append(tables.front_door(x, y, nodes(answer.frontdoor_variables)))
        return (True, found) if found else (None, [])


class Pgmpy:
    """All back-door and front-door sets."""

    def __init__(self, graph, nodes):
        edges, hidden = with_latents(graph)
        model = DiscreteBayesianNetwork(latents=set(hidden))
        model.add_nodes_from([name(k) for k in range(nodes)])
        model.add_edges_from(edges)
        model.latents = set(hidden)
        self.inference = CausalInference(model)

    def ask(self, x, y):
        x, y = name(x), name(y)
        try:
            back = self.inference.get_all_backdoor_adjustment_sets(x, y) or [()]
        except ValueError:
            back = []
        return back, [] if back else self.inference.get_all_frontdoor_adjustment_sets(x, y)

    def read(self, answer, x, y, tables):
        back, front = answer
        nodes = lambda names: {number(v) for v in names}
        found = [tables.adjusted(x, y, nodes(z)) for z in back]
        found += [tables.front_door(x, y, nodes(m)) for m in front if m]
        return (True, found) if found else (None, [])


ALL = {
    "y0": Y0,
    "causaleffect": CausalEffect,
    "antecedent": Antecedent,
    "dowhy": DoWhy,
    "pgmpy": Pgmpy,
}
