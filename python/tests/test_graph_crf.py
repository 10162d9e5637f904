"""Models of graphs against chains and brute force."""

import copy
import itertools
import pickle

import numpy as np
import pytest

from fenchel.crf import CRF, GraphCRF


def chains(count, seed):
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(count):
        labels = rng.integers(3, size=rng.integers(3, 7))
        shown = np.where(rng.random(len(labels)) < 0.7, labels, rng.integers(3, size=len(labels)))
        X.append(shown)
        y.append(labels)
    return X, y


@pytest.fixture(scope="module")
def data():
    """Cycles with a chord, with features of nodes and edges."""
    rng = np.random.default_rng(0)
    edges = np.array([(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)])
    X = [(rng.normal(size=(4, 2)), edges, rng.normal(size=(5, 1))) for _ in range(30)]
    y = [np.where(nodes[:, 0] + 0.5 * rng.normal(size=4) > 0, "up", "down") for nodes, _, _ in X]
    return X, y


def test_a_graph_that_is_a_chain_is_a_chain():
    X, y = chains(60, 0)
    steps = [[(k, k + 1) for k in range(len(shown) - 1)] for shown in X]
    graph = GraphCRF(c2=0.3, tol=1e-9)
    graph.fit([(np.eye(3)[shown], pairs) for shown, pairs in zip(X, steps, strict=True)], y)
    chain = CRF(c2=0.3, tol=1e-9, all_possible_states=True, all_possible_transitions=True)
    chain.fit([[[f"w{w}"] for w in shown] for shown in X], [[str(k) for k in each] for each in y])
    assert abs(graph.report_.objective - chain.report_.objective) < 1e-7
    for (w, label), weight in chain.state_features_.items():
        assert abs(graph.node_weights_[int(w[1]), int(label)] - weight) < 1e-4
    for (a, b), weight in chain.transition_features_.items():
        assert abs(graph.edge_weights_[0, int(a), int(b)] - weight) < 1e-4


def test_predictions_equal_brute_force(data):
    model = GraphCRF(c2=0.2).fit(*data)
    nodes, edges, features = data[0][0]
    every = list(itertools.product(range(2), repeat=4))

    def score(codes):
        total = sum(nodes[v] @ model.node_weights_[:, codes[v]] for v in range(4))
        for (a, b), values in zip(edges, features, strict=True):
            total += values @ model.edge_weights_[:, codes[a], codes[b]]
        return np.exp(total)

    weights = np.array([score(codes) for codes in every])
    best = model.classes_[list(every[weights.argmax()])]
    assert (model.predict_single(data[0][0]) == best).all()
    found = model.predict_marginals([data[0][0]])[0]
    for v in range(4):
        mask = np.array([codes[v] == 1 for codes in every])
        assert abs(weights[mask].sum() / weights.sum() - found[v, 1]) < 1e-10
    assert model.score(*data) > 0.7 and model.report_.converged


def test_models_travel(data):
    model = GraphCRF().fit(*data)
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        for a, b in zip(
            other.predict_marginals(data[0]), model.predict_marginals(data[0]), strict=True
        ):
            assert (a == b).all()
    again = GraphCRF(warm_start=True).fit(*data)
    assert again.fit(*data).report_.passes <= model.report_.passes


@pytest.mark.parametrize(
    ("X", "y", "said"),
    [
        ([], [], "no graphs"),
        ([np.ones((2, 1))], [[0, 1]], "graph 0: expected a tuple"),
        ([(np.ones((2, 1)), [(0, 1)])], [[0]], r"y\[0\] has shape"),
        ([(np.ones((2, 1)), [(0, 5)])], [[0, 1]], "edge 0 is .0, 5."),
        ([(np.ones((2, 1)), [(0, 1)], np.ones((2, 1)))], [[0, 1]], "graph 0: 1 x 2"),
        ([(np.ones((2, 1)), []), (np.ones((2, 3)), [])], [[0, 1]] * 2, "graph 1 has 3 features"),
    ],
)
def test_bad_data(X, y, said):
    with pytest.raises(ValueError, match=said):
        GraphCRF().fit(X, y)
    with pytest.raises(ValueError, match="c2 = 0"):
        GraphCRF(c2=0).fit(X, y)
