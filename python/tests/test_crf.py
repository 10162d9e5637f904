"""Taggers against sklearn-crfsuite and brute force."""

import copy
import itertools
import pickle

import numpy as np
import pytest

from fenchel.crf import CRF


def corpus(count, seed):
    """Sentences of a hidden chain whose words tell the label with errors."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(count):
        labels = [rng.integers(3)]
        for _ in range(rng.integers(3, 9)):
            labels.append(rng.choice(3, p=np.roll([0.1, 0.7, 0.2], labels[-1])))
        words = [label if rng.random() < 0.7 else rng.integers(3) for label in labels]
        X.append([{"word": f"w{w}", "size": 1.0 + w, "odd": bool(w % 2)} for w in words])
        y.append([f"L{label}" for label in labels])
    return X, y


@pytest.fixture(scope="module")
def data():
    return corpus(80, 0)


@pytest.mark.parametrize(("c1", "c2"), [(0.0, 0.5), (0.3, 0.05)])
def test_the_optimum_is_that_of_crfsuite(data, c1, c2):
    crfsuite = pytest.importorskip("sklearn_crfsuite")
    ours = CRF(c1=c1, c2=c2, tol=1e-9).fit(*data)
    theirs = crfsuite.CRF(c1=c1, c2=c2, epsilon=1e-12, delta=1e-12, max_iterations=5000)
    theirs.fit(*data)
    assert set(ours.classes_) == set(theirs.classes_)
    limit = 1e-3 if c1 else 1e-4  # CRFsuite stops by the norm of its gradient
    for name in ("state_features_", "transition_features_"):
        a, b = getattr(ours, name), getattr(theirs, name)
        for pair in set(a) | set(b):
            assert abs(a.get(pair, 0.0) - b.get(pair, 0.0)) < limit, pair
    fresh = corpus(40, 1)[0]
    assert ours.predict(fresh) == [list(labels) for labels in theirs.predict(fresh)]
    one = ours.predict_marginals_single(fresh[0])
    for row, truth in zip(one, theirs.predict_marginals_single(fresh[0]), strict=True):
        assert all(abs(row[label] - truth[label]) < 1e-3 for label in truth)


def test_marginals_equal_brute_force(data):
    model = CRF(c2=0.3).fit(*data)
    sentence = data[0][0][:4]
    state, move = model.state_features_, model.transition_features_

    def score(labels):
        total = sum(move.get(pair, 0.0) for pair in itertools.pairwise(labels))
        for token, label in zip(sentence, labels, strict=True):
            total += state.get((f"word:{token['word']}", label), 0.0)
            total += token["size"] * state.get(("size", label), 0.0)
            total += token["odd"] * state.get(("odd", label), 0.0)
        return np.exp(total)

    every = list(itertools.product(model.classes_, repeat=4))
    weights = np.array([score(labels) for labels in every])
    assert tuple(model.predict_single(sentence)) == every[weights.argmax()]
    found = model.predict_marginals_single(sentence)
    for place, row in enumerate(found):
        for label, p in row.items():
            mask = np.array([labels[place] == label for labels in every])
            assert abs(weights[mask].sum() / weights.sum() - p) < 1e-10


def test_lists_of_strings_and_nested_attributes(data):
    X, y = data
    lists = [[[f"word:{t['word']}", "bias"] for t in sentence] for sentence in X]
    dicts = [[{"word": [t["word"]], "bias": 1} for t in sentence] for sentence in X]
    nested = [[{"word": {t["word"]: 1.0}, "bias": True} for t in sentence] for sentence in X]
    models = [CRF(tol=1e-8).fit(kind, y) for kind in (lists, dicts, nested)]
    for other in models[1:]:
        for pair, weight in models[0].state_features_.items():
            assert abs(other.state_features_[pair] - weight) < 1e-6


def test_taggers_travel(data, tmp_path):
    model = CRF().fit(*data)
    model.save(tmp_path / "model.json")
    copies = [pickle.loads(pickle.dumps(model)), copy.deepcopy(model)]
    copies.append(CRF.load(tmp_path / "model.json"))
    for other in copies:
        assert other.predict(data[0]) == model.predict(data[0])
    assert model.score(*data) > 0.6 and model.report_.converged and model.duality_gap_ >= 0
    warm = CRF(warm_start=True).fit(*data)
    assert warm.fit(*data).report_.passes <= model.report_.passes + 2


def test_names_of_sklearn_crfsuite(data, tmp_path):
    model = CRF("l2sgd", c2=0.5).fit(*data, X_dev=data[0], y_dev=data[1])
    assert model.transition_features_ == CRF(c2=0.5).fit(*data).transition_features_
    assert model.num_attributes_ == len(model.attributes_) > 0
    model.save(tmp_path / "model")
    assert model.size_ == (tmp_path / "model").stat().st_size
    report = model.report_
    assert report.total_seconds >= report.seconds and f"({report.total_seconds:.3f} s)" in str(
        report
    )
    loaded = CRF.load(tmp_path / "model")
    assert loaded.report_.total_seconds is None and loaded.n_iter_ == model.n_iter_


@pytest.mark.parametrize(
    ("X", "y", "kind", "said"),
    [
        ([[{"a": 1.0}]], [["x"], ["y"]], ValueError, "y has more"),
        ([[{"a": 1.0}], [{"a": 1.0}]], [["x"]], ValueError, "X has more"),
        ([[{"a": 1.0}]], [["x", "y"]], ValueError, "sequence 0: more labels"),
        ([[{"a": 1.0}, {"a": 1.0}]], [["x"]], ValueError, "sequence 0: 1 labels"),
        ([[]], [[]], ValueError, "sequence 0"),
        ([[{"a": 1.0}]], [["x"]], ValueError, "two different labels"),
        ([[{"a": float("nan")}, {"b": 1.0}]], [["x", "y"]], ValueError, "token 0 of sequence 0"),
        (["words"], [["x"]], TypeError, "sequence 0: expected a list of tokens"),
        ([["word"]], [["x"]], TypeError, "token 0 of sequence 0"),
        ([[{"a": None}]], [["x"]], TypeError, "token 0 of sequence 0"),
        ([[{"a": 1.0}]], [[1]], TypeError, "label 0 of sequence 0"),
    ],
)
def test_bad_data(X, y, kind, said):
    with pytest.raises(kind, match=said):
        CRF().fit(X, y)


def test_bad_parameters(data):
    with pytest.raises(ValueError, match="c1 = -1"):
        CRF(c1=-1).fit(*data)
    with pytest.raises(ValueError, match="algorithm is 'ap'.*perceptrons"):
        CRF("ap").fit(*data)
    with pytest.raises(ValueError):
        CRF().predict(data[0])
