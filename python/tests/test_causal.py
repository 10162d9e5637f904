"""Formulas against random models, sets against y0 and hand, effects against a simulation."""

import pickle

import numpy as np
import pytest

from fenchel.bayes import BayesianNetwork
from fenchel.causal import Graph, NotIdentifiable, effect, identify

pandas = pytest.importorskip("pandas")


def test_front_door_and_back_door():
    graph = Graph("x -> m -> y; x <-> y")
    found = graph.identify("P(y | do(x))")
    assert str(found) == "P(y | do(x)) = sum_{m} P(m | x) sum_{x'} P(x') P(y | x', m)"
    assert found._repr_latex_().startswith("$") and "\\sum" in found.latex()
    assert graph.front_door_sets("x", "y") == [["m"]]
    confounded = Graph("z -> x -> y; z -> y")
    assert confounded.adjustment_sets("x", "y", criterion="back_door") == [["z"]]
    assert confounded.optimal_adjustment("x", "y") == ["z"]
    assert confounded.adjustment_sets("x", "y", forbidden=["z"]) == []


def test_a_formula_equals_an_intervention():
    rng = np.random.default_rng(4)
    rows = lambda *shape: rng.dirichlet([1.0, 1.0], shape)  # noqa: E731
    tables = {
        "z": (["0", "1"], [], rng.dirichlet([1.0, 1.0])),
        "x": (["0", "1"], ["z"], rows(2)),
        "y": (["0", "1"], ["z", "x"], rows(2, 2)),
    }
    net = BayesianNetwork.from_tables(tables)
    frame = net.sample(400_000, 1)
    found = identify("z -> x -> y; z -> y", "P(y | do(x))")
    value = found.evaluate(frame)
    for x in "01":
        truth = net.do(x=x).query("y").p(y="1")
        assert abs(value.p(x=x, y="1") - truth) < 0.01
    gain = net.do(x="1").query("y").p(y="1") - net.do(x="0").query("y").p(y="1")
    assert abs(found.average_effect(frame, ("0", "1")) - gain) < 0.01


def test_a_refusal_has_two_models():
    with pytest.raises(NotIdentifiable, match="hidden causes") as caught:
        Graph("x -> y; x <-> y").identify("P(y | do(x))")
    witness = caught.value.witness()
    first, second = (law.values for law in witness.observed)
    np.testing.assert_allclose(first, second, atol=1e-12)
    apart = np.abs(witness.effects[0].values - witness.effects[1].values).max()
    assert apart > 0.1 and abs(apart - witness.effect_difference) < 1e-12


@pytest.mark.filterwarnings("ignore")
def test_decisions_equal_those_of_y0():
    pytest.importorskip("y0")
    from y0.algorithm.identify import Identification, Unidentifiable
    from y0.algorithm.identify import identify as theirs
    from y0.dsl import P, Variable
    from y0.graph import NxMixedGraph

    rng = np.random.default_rng(0)
    answers = []
    for _ in range(60):
        names = [f"V{k}" for k in range(5)]
        pairs = [(a, b) for k, a in enumerate(names) for b in names[k + 1 :]]
        directed = [pair for pair in pairs if rng.random() < 0.5]
        bidirected = [pair for pair in pairs if rng.random() < 0.25]
        graph = Graph.from_edges(directed, bidirected, names)
        mixed = NxMixedGraph.from_str_edges(nodes=names, directed=directed, undirected=bidirected)
        query = P(Variable("V4") @ Variable("V1"))
        try:
            theirs(Identification.from_expression(query=query, graph=mixed))
            truth = True
        except Unidentifiable:
            truth = False
        try:
            graph.identify("P(V4 | do(V1))")
            ours = True
        except NotIdentifiable:
            ours = False
        assert ours == truth, (directed, bidirected)
        answers.append(ours)
    assert 0 < sum(answers) < 60


def test_an_effect_is_found_and_bounded():
    rng = np.random.default_rng(1)
    n = 4000
    x = rng.normal(size=n)
    a = (rng.random(n) < 1 / (1 + np.exp(-x))).astype(int)
    y = 1.5 * a + 2 * x + rng.normal(size=n)
    frame = pandas.DataFrame({"x": x, "a": a, "y": y})
    naive = y[a == 1].mean() - y[a == 0].mean()
    for method in ("doubly_robust", "standardization", "weighting"):
        found = effect(frame, "a", "y", ["x"], method=method, bootstrap=50)
        low, high = found.interval
        assert low < found.effect < high and abs(found.effect - 1.5) < 0.25 < abs(naive - 1.5)
        assert found.report_.converged and found.propensity.shape == (n,)


def test_graphs():
    graph = Graph("a -> b -> c; a <-> c")
    assert graph.nodes == ["a", "b", "c"] and graph.bidirected == [("a", "c")]
    assert graph.hide(["b"]).directed == [("a", "c")]
    assert not graph.separated("a", "c", ["b"]) and Graph("a -> b -> c").separated("a", "c", ["b"])
    assert pickle.loads(pickle.dumps(graph)).directed == graph.directed


def test_errors_name_what_is_wrong():
    with pytest.raises(ValueError, match="arrow"):
        Graph("a ->")
    with pytest.raises(ValueError, match="cycle"):
        Graph("a -> b -> a")
    with pytest.raises(ValueError, match="w"):
        Graph("a -> b").identify("P(w | do(a))")
    found = identify("x -> y", "P(y | do(x))")
    with pytest.raises(ValueError, match="no column for 'y'"):
        found.evaluate({"x": [0, 1]})
    with pytest.raises(ValueError, match="row 1 of 'x' is missing"):
        found.evaluate({"x": [0, None], "y": [0, 1]})
    with pytest.raises(ValueError, match="2.0 at row 1"):
        effect({"a": [0, 2], "y": [0, 1], "x": [0, 1]}, "a", "y", ["x"])
    with pytest.raises(ValueError, match="method is 'ols'"):
        effect({"a": [0, 1], "y": [0, 1], "x": [0, 1]}, "a", "y", ["x"], method="ols")


def test_graphs_of_every_form():
    arrows = [("x", "y"), ("z", "y")]
    for text in ("digraph{x->y; z->y}", "dag { x -> y\n z -> y }", "digraph g { x -> y; z -> y; }"):
        graph = Graph(text)
        assert graph.directed == arrows and set(graph.nodes) == {"x", "y", "z"}
    networkx = pytest.importorskip("networkx")
    drawn = networkx.DiGraph(arrows)
    drawn.add_node("w")
    assert set(Graph(drawn).nodes) == {"w", "x", "y", "z"} and Graph(drawn).directed == arrows
    y0 = Graph.from_edges(directed=arrows, undirected=[("x", "y")])
    assert y0.bidirected == [("x", "y")]
    assert Graph.from_edges(np.array(arrows)).directed == arrows
    for wrong, said in (
        (networkx.Graph(arrows), "undirected"),
        ("{x} -> y", "digraph"),
        ("graph { x -> y }", "digraph"),
    ):
        with pytest.raises(ValueError, match=said):
            Graph(wrong)
    with pytest.raises(ValueError, match=r"'P\(y \| do\(x\)\)'"):
        y0.identify("P(y @ x)")


def test_the_change_of_a_treatment_with_two_states():
    rng = np.random.default_rng(0)
    found = identify("a -> y", "P(y | do(a))")
    for low, high in ((0, 1), (9, 10), (False, True), ("no", "yes")):
        a = rng.random(4000) < 0.5
        y = (rng.random(4000) < 0.2 + 0.5 * a).astype(int)
        data = {"a": np.where(a, high, low), "y": y}
        effect_ = found.average_effect(data)
        assert abs(effect_ - 0.5) < 0.05 and effect_ == found.average_effect(data, (low, high))
    with pytest.raises(ValueError, match="change"):
        found.average_effect({"a": [0, 1, 2], "y": [0, 1, 1]})


def test_an_effect_says_what_it_is():
    data = {"x": [0, 0, 0, 1, 1, 1], "a": [0, 0, 1, 0, 1, 1], "y": [0, 0, 2, 5, 7, 7]}
    found = effect(data, "a", "y", "x", bootstrap=0)
    assert found.value == found.effect and repr(found).startswith("<Effect 2: ")
    assert "6 rows" in repr(found) and found.report_.total_seconds > 0
    with pytest.raises(ValueError, match="sample_weight has 2 dimensions"):
        effect(data, "a", "y", "x", sample_weight=np.ones((6, 1)))
