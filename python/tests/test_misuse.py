"""What a stranger does wrong: every mistake is an exception that names the argument, and nothing crashes or hangs."""

import copy
import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from fenchel import (
    _control,
    bayes,
    causal,
    covariance,
    crf,
    families,
    linear_model,
    mrf,
    optimize,
    reduction,
)
from fenchel.bayes import BayesianNetwork
from fenchel.causal import Graph, NotIdentifiable, effect, identify
from fenchel.covariance import GraphicalLasso, GraphicalLassoCV, JointGraphicalLasso
from fenchel.crf import CRF, GraphCRF
from fenchel.families import Binomial, Gamma, Normal, Poisson, glm
from fenchel.linear_model import (
    GroupLasso,
    Lasso,
    LassoCV,
    LinearSVCCV,
    LogisticRegression,
    LogisticRegressionCV,
    Ridge,
    SoftmaxRegression,
    lasso_path,
    logistic_path,
)
from fenchel.mrf import IsingModel, PottsModel
from fenchel.optimize import linprog, matrix_game
from fenchel.reduction import MAVE, SIR

HERE = Path(__file__).parent
RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
Y = X[:, 0] + 0.1 * RNG.normal(size=40)
TWO = np.where(Y > 0, "yes", "no")
TOKENS, TAGS = [[{"w": "a"}, {"w": "b"}]], [["A", "B"]]
ASIA = BayesianNetwork.example("asia")
TRIAL = {"x": [0, 0, 1, 1] * 10, "y": list(range(40)), "z": (np.arange(40) % 7).tolist()}
GRAPH = (np.eye(2), [(0, 1)])


def tower(depth):
    token = {"w": "a"}
    for _ in range(depth):
        token = {"w": token}
    return token


def circle():
    token = {}
    token["w"] = token
    return token


MISTAKES = [
    # Numbers and counts, before anything is allocated.
    (lambda: LassoCV(alphas=10**15).fit(X, Y), "alphas = 1000000000000000; expected"),
    (lambda: LassoCV(alphas=2**62).fit(X, Y), "alphas"),
    (lambda: LassoCV(alphas=1.0).fit(X, Y), "alphas = 1.0"),
    (lambda: lasso_path(X, Y, n_alphas=10**14), "n_alphas"),
    (lambda: lasso_path(X, Y, n_alphas=2**63), "n_alphas"),
    (lambda: logistic_path(X, TWO, Cs=10**14), "Cs"),
    (lambda: LinearSVCCV(Cs=[0]).fit(X, TWO), "Cs"),
    (lambda: ASIA.sample(-1), "n = -1"),
    (lambda: ASIA.most_probable(-1), "k = -1"),
    (lambda: Normal(0, 1).rvs(-1), "size = -1"),
    (lambda: Normal(0, 1).rvs(2.5), "size = 2.5"),
    (lambda: effect(TRIAL, "x", "y", ["z"], bootstrap=2**62), "bootstrap"),
    (lambda: Lasso(max_iter="many").fit(X, Y), "max_iter is 'many'"),
    (lambda: Lasso(tol=True).fit(X, Y), "tol = True"),
    (lambda: Lasso(alpha=True).fit(X, Y), "alpha = True"),
    (lambda: Lasso(alpha=np.nan).fit(X, Y), "alpha = nan"),
    (lambda: LogisticRegression(C="1").fit(X, TWO), "C is '1'"),
    (lambda: LogisticRegression(C=None).fit(X, TWO), "C = None"),
    (lambda: LogisticRegression(n_jobs="all").fit(X, TWO), "n_jobs is 'all'"),
    (lambda: LogisticRegression(fit_intercept="no").fit(X, TWO), "fit_intercept is 'no'"),
    (lambda: CRF(c2="1").fit(TOKENS, TAGS), "c2 is '1'"),
    (lambda: CRF(c1=0.1, c2=0).fit(TOKENS, TAGS), "c2 = 0; expected a finite number > 0"),
    (lambda: SIR(n_slices="a").fit(X, Y), "n_slices is 'a'"),
    (lambda: SIR(n_components=1.5).fit(X, Y), "n_components = 1.5"),
    (lambda: MAVE(base_points=0).fit(X, Y), "base_points = 0"),
    (lambda: GroupLasso(groups=1.5).fit(X, Y), "groups = 1.5"),
    (lambda: GroupLasso(groups=[0, 1]).fit(X, Y), "groups"),
    (lambda: IsingModel(chains=-1).fit(X > 0), "chains = -1"),
    (lambda: GraphicalLassoCV(alphas=-3).fit(X), "alphas = -3"),
    (lambda: PottsModel().contacts(top=-1), "top = -1"),
    (lambda: Binomial(2.5, 0.5), "n = 2.5"),
    (lambda: Normal("a", 1), "mean is 'a'"),
    (lambda: BayesianNetwork.learn(ASIA.sample(50), max_parents=-1), "max_parents = -1"),
    (lambda: LogisticRegression(class_weight={"no": -1}).fit(X, TWO), "class_weight.'no'. = -1"),
    (lambda: LogisticRegression(class_weight="equal").fit(X, TWO), "class_weight is 'equal'"),
    # One of some strings.
    (lambda: linprog([1], method="foo"), "method is 'foo'"),
    (lambda: Ridge(solver="nonsense").fit(X, Y), "solver is 'nonsense'"),
    (lambda: Lasso(selection="sideways").fit(X, Y), "selection is 'sideways'"),
    (lambda: CRF("ap").fit(TOKENS, TAGS), "algorithm is 'ap'"),
    (lambda: BayesianNetwork.learn(ASIA.sample(50), "magic"), "method is 'magic'"),
    (lambda: glm(X, Y, "normal"), "family is 'normal'"),
    # Names and lists of names.
    (lambda: BayesianNetwork(["ab", "bc"]), r"arcs\[0\] is 'ab'"),
    (lambda: BayesianNetwork([("a", "b"), ("b", "a")]), "cycle .* -> .* -> "),
    (lambda: BayesianNetwork.learn(ASIA.sample(50), forbidden="zz"), "forbidden is 'zz'"),
    (lambda: ASIA.query(["lung", "lung"]), "'lung' occurs twice"),
    (lambda: ASIA.query("lung", ["smoke"]), "evidence"),
    (lambda: ASIA.query(None), "variables = None"),
    (lambda: BayesianNetwork([], ["a"]), "states = "),
    (lambda: ASIA.do(["smoke"]), "settings = "),
    (lambda: BayesianNetwork.from_tables({"a": (["x", "y"], [])}), r"tables\['a'\]"),
    (lambda: Graph("x -> y").hide(3), 'no node "3"'),
    (lambda: Graph(None), "text = None"),
    (lambda: effect(TRIAL, "x", "y", ["y"]), "'y' has two roles"),
    (lambda: effect(TRIAL, "x", "x", []), "'x' has two roles"),
    (lambda: effect(TRIAL, "q", "y", []), "no column 'q'"),
    (lambda: effect(TRIAL, ["x"], "y", []), "treatment = "),
    (lambda: effect(TRIAL, "x", "y", None), "adjust_for = None"),
    (lambda: effect({**TRIAL, "z": [np.nan] * 40}, "x", "y", ["z"]), r"data\['z'\]: nan at row 0"),
    (lambda: effect({**TRIAL, "z": [1]}, "x", "y", ["z"]), "different lengths"),
    # Data.
    (lambda: BayesianNetwork().fit({"a": []}), "no rows"),
    (lambda: BayesianNetwork().fit({"a": [None, None]}), "'a' has no value"),
    (lambda: BayesianNetwork().fit(X), "type ndarray"),
    (lambda: BayesianNetwork.learn({"a": X[:, 0], "b": X[:, 1]}), "'a' has 40 different numbers"),
    (lambda: BayesianNetwork.learn({"a": ["x", None], "b": ["y", "z"]}), "row 1 of 'a'"),
    (lambda: GraphCRF().fit([(np.eye(2), [(0, 1.5)])], [["a", "b"]]), "edge 0"),
    (lambda: GraphCRF().fit([(np.eye(2), [(0, -1)])], [["a", "b"]]), "edge 0"),
    (lambda: PottsModel().fit(["A1", "AC"]), "sequence 0 has '1' at column 1"),
    (lambda: PottsModel().fit(["AC", "*#"]), r"sequence 1 has '\*' at column 0"),
    (lambda: linprog([[1, 1], [1, 1]]), "c has 2 dimensions"),
    (lambda: linprog([1j]), "complex"),
    (lambda: matrix_game([[1j]]), "complex"),
    (lambda: Normal(0, 1).pdf(1j), "complex"),
    (lambda: linprog([1], bounds=["ab"]), r"bounds\[0\]"),
    (lambda: CRF().fit(None, None), "X = None"),
    (lambda: CRF().fit([[tower(40)]], [["A"]]), "at most 32"),
    (lambda: CRF().fit([[circle()]], [["A"]]), "at most 32"),
    (lambda: JointGraphicalLasso().fit(3), "list of matrices"),
    # What was not fitted.
    (lambda: CRF().state_features_, "not fitted"),
    (lambda: GraphCRF().node_weights_, "not fitted"),
    (lambda: GraphicalLasso().edges(), "not fitted"),
    (lambda: IsingModel().to_networkx(), "not fitted"),
    (lambda: PottsModel().contacts(), "not fitted"),
    (lambda: LassoCV().alphas_, "not fitted"),
]


@pytest.mark.parametrize("mistake, said", MISTAKES, ids=[str(k) for k in range(len(MISTAKES))])
def test_mistakes_are_named(mistake, said):
    with pytest.raises((ValueError, TypeError), match=said):
        mistake()


MODULES = [bayes, causal, covariance, crf, families, linear_model, mrf, optimize, reduction]
ESTIMATORS = [
    each
    for module in MODULES
    for name in module.__all__
    if isinstance(each := getattr(module, name), type) and issubclass(each, BaseEstimator)
]
# Checked where the data are known, or by scikit-learn; and what is of no use.
ELSEWHERE = {
    "class_weight",
    "cv",
    "intercept_scaling",
    "n_components",
    "n_directions",
    "precompute",
    "random_state",
}


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda each: each.__name__)
def test_every_parameter_has_a_check(estimator):
    for name in set(estimator().get_params()) - ELSEWHERE:
        for wrong in (object(), "wrong", -7):
            with pytest.raises(ValueError, match=f"^{name}"):
                _control.control_of(estimator(**{name: wrong}))


@pytest.mark.parametrize(
    "ask",
    [
        lambda: ASIA.sample(10**12),
        lambda: Normal(0, 1).rvs(10**14),
        lambda: Poisson(3).rvs((10**6, 10**6)),
        lambda: Normal(0, 1).rvs(2**59),
        lambda: CRF(all_possible_transitions=True).fit(
            [[["a"]] * 30_000], [[str(k) for k in range(30_000)]]
        ),
    ],
)
def test_what_takes_too_much_memory_is_refused(ask):
    with pytest.raises(MemoryError, match="bytes|GiB"):
        ask()


def test_a_broken_sparse_matrix_is_refused():
    broken = sparse.csr_matrix(X)
    broken.indptr[1] = 10**6
    for estimator in (Ridge(), LogisticRegression(), SIR(), GraphicalLasso()):
        with pytest.raises(ValueError, match="X: "):
            estimator.fit(broken, TWO if isinstance(estimator, LogisticRegression) else Y)


def test_programs_of_any_size_of_numbers():
    for entries in ([1e300, 1e-300], [1e308, 1e-308], [1e-320, 1e300]):
        result = linprog([1e300, 1], [entries], [1])
        assert result.status in (0, 1, 2, 3)


def test_threads_are_at_most_those_of_the_machine():
    assert _control.threads(3000) == os.cpu_count()
    assert (LogisticRegression(n_jobs=3000).fit(X, TWO).coef_ != 0).any()


LONG = {
    "rvs": "from fenchel.families import VonMises; VonMises(0, 1).rvs(400_000_000)",
    "cdf": "from fenchel.families import Gamma; Gamma(2.5, 1).cdf(np.full(20_000_000, 3.0))",
    "sample": "from fenchel.bayes import BayesianNetwork as B; B.example('alarm').sample(10_000_000)",
    "permutation": "from fenchel.reduction import SIR; SIR('permutation').fit(X, X @ X[0])",
    "ladle": "from fenchel.reduction import SAVE; SAVE('ladle').fit(X, X @ X[0])",
    "opg": "from fenchel.reduction import OPG; OPG(base_points=300_000).fit(X, X[:, 0])",
    "mave": "from fenchel.reduction import MAVE; MAVE(base_points=300_000).fit(X, X[:, 0])",
}
INTERRUPTED = """
import signal
import numpy as np
# A process in the background begins without the signal.
signal.signal(signal.SIGINT, signal.default_int_handler)
X = np.random.default_rng(0).normal(size=(300_000, 30))
{}
print("begins", flush=True)
try:
    {}
    print("ended", flush=True)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize("name", LONG)
def test_ctrl_c_ends_what_takes_long(name):
    command = [sys.executable, "-c", INTERRUPTED.format(*LONG[name].split("; ", 1))]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=HERE)
    assert process.stdout.readline() == "begins\n"
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=60)
    assert said == "interrupted\n" and process.returncode == 0


def test_weights_of_a_glm_and_names_of_its_columns():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["age", "length_of_stay", "dose"])
    plain, weighted = glm(frame, Y), glm(frame, Y, sample_weight=np.ones(40))
    np.testing.assert_allclose(plain.params, weighted.params, atol=1e-9)
    assert plain.names == ["(intercept)", *frame.columns]
    assert "length_of_stay" in plain.summary() and "x1" not in plain.summary()
    low, high = np.asarray(plain.conf_int()).T
    assert ((low < plain.params) & (plain.params < high)).all()
    np.testing.assert_allclose(plain.predict(frame), X @ plain.coef_ + plain.intercept_)


def test_what_a_review_found():
    with pytest.raises(ValueError, match="^alpha = "):
        Lasso(alpha=10**400).fit(X, Y)
    with pytest.raises(ValueError, match="^tol = 0"):
        linprog([1.0], tol=0)
    three = np.arange(40) % 3
    for shares in ({"l1_ratio": 0.8, "group_ratio": 0.2}, {"l1_ratio": 0.9, "group_ratio": 0.1}):
        assert SoftmaxRegression(**shares).fit(X, three).coef_.shape == (3, X.shape[1])
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"x": ["a", "b"] * 10, "y": ["u", "v", "v", "u"] * 5})
    found = identify("x -> y", "P(y | do(x))").evaluate(frame)
    assert found is not None


def test_draws_without_a_seed_are_new_ones():
    law, net = Normal(0, 1), BayesianNetwork.example("asia")
    assert (law.rvs(5) != law.rvs(5)).all()
    assert not net.sample(50).equals(net.sample(50))
    # The state that scipy takes too.
    state = np.random.get_state()  # noqa: NPY002
    first = law.rvs(5)
    np.random.set_state(state)  # noqa: NPY002
    assert (law.rvs(5) == first).all()


def test_a_randomised_trial_needs_no_columns():
    found = effect(TRIAL, "x", "y", [], bootstrap=20)
    x, y = np.array(TRIAL["x"]), np.array(TRIAL["y"])
    assert abs(found.effect - (y[x == 1].mean() - y[x == 0].mean())) < 1e-8
    assert found.interval[0] < found.effect < found.interval[1]


TRAVELLERS = [
    Poisson(3),
    Binomial(5, 0.25),
    Normal.fit([1.0, 2.0, 4.0]),
    Gamma(2, 1).refit([1.0, 2.0, 4.0]),
]


@pytest.mark.parametrize("law", TRAVELLERS, ids=repr)
def test_distributions_travel_and_compare(law):
    for other in (pickle.loads(pickle.dumps(law)), copy.deepcopy(law)):
        assert other == law and hash(other) == hash(law) and repr(other) == repr(law)
        assert other.logpdf(2.0) == law.logpdf(2.0)
        assert (other.rvs(5, 1) == law.rvs(5, 1)).all()
    prior = law.prior(3.0).posterior([1.0, 2.0])
    other = copy.deepcopy(prior)
    assert other.weight == prior.weight and other.mode() == prior.mode()
    assert Poisson(3) == Poisson(3) != Poisson(4) and Poisson(3) != Normal(3, 1)


def test_formulas_and_refusals_travel():
    formula = identify("z -> x -> y; z -> y", "P(y | do(x))")
    assert str(pickle.loads(pickle.dumps(formula))) == str(formula)
    with pytest.raises(NotIdentifiable) as refused:
        identify("x -> y; x <-> y", "P(y | do(x))")
    other = copy.deepcopy(refused.value)
    assert isinstance(other, NotIdentifiable) and str(other) == str(refused.value)
    assert other.witness().effect_difference > 0.1


def test_groups_have_the_same_columns():
    pandas = pytest.importorskip("pandas")
    one = pandas.DataFrame(X, columns=list("abc"))
    with pytest.raises(ValueError, match="group 1 has the columns"):
        JointGraphicalLasso().fit([one, one[["c", "a", "b"]]])


def test_balanced_classes_count_the_weights():
    from sklearn.linear_model import LogisticRegression as Theirs

    weights = RNG.integers(1, 5, size=40).astype(float)
    ours = LogisticRegression(class_weight="balanced", tol=1e-12).fit(X, TWO, weights)
    theirs = Theirs(class_weight="balanced", tol=1e-10, max_iter=1000).fit(X, TWO, weights)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-4)


def test_categories_stay_in_their_order():
    pandas = pytest.importorskip("pandas")
    sizes = pandas.Categorical(["s", "l", "s"], categories=["s", "m", "l"])
    net = BayesianNetwork().fit(pandas.DataFrame({"size": sizes}))
    assert net.states == {"size": ["s", "m", "l"]}
    assert BayesianNetwork.learn(pandas.DataFrame({"size": sizes})).states == net.states


def test_whole_numbers_are_written_without_a_point():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [0, 1, None, 1], "b": [1, 0, 1, 1]})
    net = BayesianNetwork([("a", "b")]).fit(frame)
    assert net.states["a"] == ["0", "1"]
    assert net.query("b", {"a": 1.0}).p(b=1) == net.query("b", {"a": 1}).p(b="1")


def test_truth_values_are_0_and_1_in_an_effect():
    data = {"x": [False, True] * 20, "y": [k % 4 == 1 for k in range(40)]}
    formula = identify("x -> y", "P(y | do(x))")
    assert abs(formula.average_effect(data, (0, 1)) - 0.5) < 1e-12
    assert abs(formula.average_effect(data, (False, True)) - 0.5) < 1e-12
    with pytest.raises(ValueError, match="change"):
        formula.average_effect(data, (0, 2))


def test_a_number_of_penalties_is_a_number_of_penalties():
    assert len(GraphicalLassoCV(alphas=7).fit(X).cv_results_["alphas"]) == 7
    assert len(LogisticRegressionCV(Cs=6).fit(X, TWO).cv_results_["alpha"]) == 6


def test_one_name_is_a_list_of_one():
    assert ASIA.map_query("lung") == ASIA.map_query(["lung"])
    assert Graph("x -> zz -> y").hide("zz").nodes == ["x", "y"]
    assert effect(TRIAL, "x", "y", "z", bootstrap=0).effect is not None


def test_scores_have_the_sign_of_scikit_learn():
    model = LogisticRegressionCV(Cs=[0.1, 1.0], scoring="accuracy").fit(X, TWO)
    assert (model.cv_results_["mean_test_score"] > 0.5).all()
    assert model.cv_results_["split_test_scores"].max() <= 1
    assert not hasattr(model, "mse_path_")
    sparse_model = LogisticRegressionCV(penalty="l1", Cs=[0.05]).fit(X, TWO)
    assert sparse_model.l1_ratio_ == 1.0


def test_what_is_ignored_is_said():
    with pytest.warns(UserWarning, match="l1_ratio = 0.5 is not used"):
        LogisticRegression(penalty="l1", l1_ratio=0.5).fit(X, TWO)
    with pytest.warns(UserWarning, match="correlation=True"):
        GraphicalLasso(alpha=1e4).fit(X * [1, 10, 100])


def test_what_has_no_minimiser_needs_a_penalty():
    with pytest.warns(ConvergenceWarning, match="Add a penalty"):
        LogisticRegression(penalty=None).fit([[0.0], [1.0]] * 5, [0, 1] * 5)


def test_nothing_is_no_score():
    tagger = CRF().fit(TOKENS, TAGS)
    with pytest.raises(ValueError, match="empty"):
        tagger.score([], [])
    with pytest.raises(ValueError, match="y.0. has 1 labels; expected 2"):
        tagger.score(TOKENS, [["A"]])
    with pytest.raises(ValueError, match="X has 1 sequences, y 2"):
        tagger.score(TOKENS, TAGS * 2)


def test_a_tagger_keeps_its_report_in_a_file(tmp_path):
    tagger = CRF(c1=0.1, c2=0.2, min_freq=1).fit(TOKENS, TAGS)
    tagger.save(tmp_path / "model")
    other = CRF.load(tmp_path / "model")
    assert other.report_.status == tagger.report_.status
    assert other.predict(TOKENS) == tagger.predict(TOKENS)


def test_an_unfitted_network():
    net = BayesianNetwork([("a", "b")])
    with pytest.raises(NotFittedError, match="call fit"):
        net.query("a")
    with pytest.raises(FileNotFoundError):
        BayesianNetwork.from_bif("/nonexistent.bif")


def test_short_texts():
    assert len(repr(lasso_path(X, Y))) < 120
    lines = str(ASIA.query(["lung", "smoke"])).splitlines()
    assert len({line.rindex("0.") for line in lines[1:]}) == 1


def test_flags_may_be_0_and_1():
    ours = LogisticRegression(fit_intercept=1, verbose=0).fit(X, TWO)
    assert (ours.coef_ == LogisticRegression().fit(X, TWO).coef_).all()
