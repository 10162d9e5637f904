"""Networks against node-wise regressions of scikit-learn, and contacts that are built in."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from fenchel.mrf import IsingModel, PottsModel


@pytest.fixture(scope="module")
def X():
    """A chain of five variables, and one by itself."""
    rng = np.random.default_rng(0)
    X = rng.integers(2, size=(4000, 6))
    for k in range(1, 5):
        X[:, k] = np.where(rng.random(4000) < 0.7, X[:, k - 1], X[:, k])
    return X


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # of spg
@pytest.mark.parametrize("method", ["nodewise", "pseudo_likelihood", "spg"])
def test_the_chain_is_found(X, method):
    model = IsingModel(0.05, method=method).fit(X)
    chain = {(k, k + 1) for k in range(4)}
    assert {edge[:2] for edge in model.edges()[:4]} == chain
    # The likelihood by sampling has noise, which leaves weak edges.
    assert len(model.edges()) == 4 or method == "spg"
    assert (model.coupling_ == model.coupling_.T).all() and all(w > 0 for *_, w in model.edges())


def test_couplings_are_those_of_regressions(X):
    """Each is the mean of two logistic regressions with an l1 penalty."""
    model = IsingModel(0.02, tol=1e-10).fit(X)
    n, p = X.shape
    coef = np.zeros((p, p))
    for k in range(p):
        others = [j for j in range(p) if j != k]
        truth = LogisticRegression(
            C=1 / (0.02 * n), l1_ratio=1.0, solver="saga", tol=1e-9, max_iter=100_000
        )
        coef[k, others] = truth.fit(X[:, others], X[:, k]).coef_[0]
    mean = np.where((coef != 0) & (coef.T != 0), (coef + coef.T) / 2, 0.0)
    np.testing.assert_allclose(model.coupling_, mean, atol=1e-4)


def test_contacts_are_found(tmp_path):
    rng = np.random.default_rng(1)
    letters = np.array(list("ACDEFGHIKL"))
    codes = rng.integers(10, size=(800, 12))
    codes[:, 9] = (codes[:, 1] + 3) % 10
    codes[:, 11] = np.where(rng.random(800) < 0.8, codes[:, 3], codes[:, 11])
    sequences = ["".join(letters[row]) for row in codes]
    model = PottsModel().fit(sequences)
    assert {pair[:2] for pair in model.contacts(top=2)} == {(1, 9), (3, 11)}
    assert model.report_.converged and model.weights_.shape == (800,)
    path = tmp_path / "alignment.fasta"
    path.write_text("".join(f">s{k}\n{s[:5]}a.\n{s[5:]}\n" for k, s in enumerate(sequences)))
    np.testing.assert_array_equal(PottsModel.from_alignment(path).scores_, model.scores_)


def test_bad_arguments(X):
    with pytest.raises(ValueError, match="row 0, column 0"):
        IsingModel().fit(X + 2)
    with pytest.raises(ValueError, match="method is 'mcmc'"):
        IsingModel(method="mcmc").fit(X)
    with pytest.raises(ValueError, match="row 1 has another length"):
        PottsModel().fit(["ACD", "AC"])
    with pytest.raises(ValueError, match="alphabet is 'rna'"):
        PottsModel(alphabet="rna").fit(["ACD", "ACC"])
