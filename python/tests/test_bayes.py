"""Networks against pgmpy, brute force, and closed forms."""

import copy
import pickle

import numpy as np
import pytest

from fenchel.bayes import BayesianNetwork, TabularCPD, VariableElimination

pandas = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def asia():
    return BayesianNetwork.example("asia")


@pytest.fixture(scope="module")
def garden():
    return BayesianNetwork.from_tables(
        {
            "rain": (["yes", "no"], [], [0.2, 0.8]),
            "sprinkler": (["on", "off"], ["rain"], [[0.1, 0.9], [0.4, 0.6]]),
            "grass": (
                ["wet", "dry"],
                ["rain", "sprinkler"],
                [[[0.99, 0.01], [0.8, 0.2]], [[0.9, 0.1], [0.0, 1.0]]],
            ),
        }
    )


def joint(net):
    """The product of the tables, an axis a variable."""
    names = net.variables
    product = np.ones([len(net.states[name]) for name in names])
    for name in names:
        table = net.table(name)
        letters = [names.index(v) for v in table.variables]
        product = np.einsum(product, range(len(names)), table.values, letters, range(len(names)))
    return product


def test_queries_equal_brute_force(garden):
    p = joint(garden)
    assert abs(p.sum() - 1) < 1e-12
    answer = garden.query(["sprinkler", "rain"], {"grass": "wet"})
    truth = p[:, :, 0] / p[:, :, 0].sum()
    np.testing.assert_allclose(answer.values, truth.T, atol=1e-12)
    assert answer.variables == ["sprinkler", "rain"]
    series = answer.to_frame()
    assert abs(series["on", "no"] - truth[1, 0]) < 1e-12
    soft = garden.query("rain", {"grass": {"wet": 0.7, "dry": 0.2}})
    weighted = (p * [0.7, 0.2]).sum((1, 2))
    np.testing.assert_allclose(soft.values, weighted / weighted.sum(), atol=1e-12)
    assert abs(garden.log_evidence({"grass": "wet"}) - np.log(p[:, :, 0].sum())) < 1e-12
    best = np.unravel_index(p.argmax(), p.shape)
    names = [garden.states[v][k] for v, k in zip(garden.variables, best, strict=True)]
    assert list(garden.map_query().values()) == names
    assert garden.map_query(["rain"], {"grass": "wet"}) == {"rain": "no"}
    (one, first), (_, second) = garden.most_probable(2)
    assert abs(first - np.log(p.max())) < 1e-12 and second <= first and list(one.values()) == names


def test_an_intervention_is_not_an_observation(garden):
    seen = garden.query("rain", {"sprinkler": "on"}).p(rain="yes")
    done = garden.do(sprinkler="on").query("rain").p(rain="yes")
    assert abs(done - 0.2) < 1e-12 and seen < 0.2


@pytest.mark.parametrize("name", ["asia", "alarm"])
def test_posteriors_equal_those_of_pgmpy(name, tmp_path):
    readwrite = pytest.importorskip("pgmpy.readwrite")
    inference = pytest.importorskip("pgmpy.inference")
    example = BayesianNetwork.example(name)
    # Published rows sum to 1 up to 1e-7, and libraries differ in what they make of the rest.
    tables = {v: (example.states[v], example.table(v)) for v in example.variables}
    ours = BayesianNetwork.from_tables(
        {
            v: (states, table.variables[:-1], table.values / table.values.sum(-1, keepdims=True))
            for v, (states, table) in tables.items()
        }
    )
    path = tmp_path / "net.bif"
    path.write_text(ours.to_bif())
    model = readwrite.BIFReader(str(path)).get_model()
    again = BayesianNetwork.from_bif(path)
    engine = inference.VariableElimination(model)
    first = ours.variables[0]
    evidence = {first: ours.states[first][0]}
    posteriors = again.posteriors(evidence)
    for variable in ours.variables[1:12]:
        theirs = engine.query([variable], evidence=evidence, show_progress=False)
        states = theirs.state_names[variable]
        for state, p in zip(states, theirs.values, strict=True):
            assert abs(ours.query(variable, evidence).p(**{variable: state}) - p) < 1e-10
            assert abs(posteriors[variable].p(**{variable: state}) - p) < 1e-10


def test_uai_files(tmp_path):
    path = tmp_path / "net.uai"
    path.write_text("BAYES\n2\n2 2\n2\n1 0\n2 0 1\n2 0.3 0.7\n4 0.9 0.1 0.2 0.8\n")
    net = BayesianNetwork.from_uai(path)
    assert abs(net.query("x1").p(x1=0) - (0.3 * 0.9 + 0.7 * 0.2)) < 1e-15


def test_samples_follow_the_law_and_their_seed(garden):
    frame = garden.sample(20_000, 7)
    assert frame.equals(garden.sample(20_000, 7)) and not frame.equals(garden.sample(20_000, 8))
    share = (frame["grass"] == "wet").mean()
    truth = garden.query("grass").p(grass="wet")
    assert abs(share - truth) < 5 * np.sqrt(truth * (1 - truth) / 20_000)


def test_tables_are_frequencies(garden):
    frame = garden.sample(500, 1)
    net = BayesianNetwork(garden.arcs).fit(frame, pseudo_count=0)
    wet = (frame["rain"] == "no") & (frame["sprinkler"] == "on")
    share = (frame["grass"][wet] == "wet").mean()
    table = net.table("grass")
    assert table.variables == ["rain", "sprinkler", "grass"]
    assert abs(table.p(rain="no", sprinkler="on", grass="wet") - share) < 1e-12
    smooth = BayesianNetwork([], {"a": ["x", "y"]}).fit({"a": ["x", "x", "x"]})
    assert abs(smooth.table("a").p(a="x") - 4 / 5) < 1e-15
    polars = pytest.importorskip("polars")
    other = BayesianNetwork(garden.arcs).fit(
        polars.DataFrame(frame.astype(str).to_dict("list")), pseudo_count=0
    )
    assert other.table("grass").p(rain="no", sprinkler="on", grass="wet") == share


def test_missing_cells_are_fitted_by_em(garden):
    frame = garden.sample(3000, 2).astype(object)
    hidden = np.random.default_rng(0).random(frame.shape) < 0.2
    frame = frame.mask(hidden)
    net = BayesianNetwork(garden.arcs).fit(frame, pseudo_count=1, max_iter=500)
    assert net.report_.converged
    truth = garden.table("sprinkler")
    found = net.table("sprinkler")
    for rain in ("yes", "no"):
        assert abs(found.p(rain=rain, sprinkler="on") - truth.p(rain=rain, sprinkler="on")) < 0.1


def test_structures_are_found(garden):
    frame = garden.sample(5000, 3)
    for method in ("hill_climbing", "exact"):
        net = BayesianNetwork.learn(frame, method)
        edges = {frozenset(arc) for arc in net.arcs}
        assert edges == {frozenset(arc) for arc in garden.arcs}
        assert net.score_ >= BayesianNetwork.learn(frame, "exact").score_ - 1e-6
    tree = BayesianNetwork.learn(frame, "chow_liu")
    assert len(tree.arcs) == 2
    forced = BayesianNetwork.learn(frame, required=[("grass", "rain")])
    assert ("grass", "rain") in forced.arcs
    directed, undirected = BayesianNetwork.learn_class(
        BayesianNetwork.example("asia").sample(9000, 1)
    )
    assert len(directed) + len(undirected) >= 5


def test_networks_travel(asia):
    for other in (pickle.loads(pickle.dumps(asia)), copy.deepcopy(asia)):
        assert other.to_bif() == asia.to_bif() and other.arcs == asia.arcs
    assert asia.is_dconnected("smoke", "lung") and not asia.is_dconnected("asia", "smoke")
    assert "8 variables" in repr(asia)


def test_errors_name_what_is_wrong(asia, garden):
    with pytest.raises(ValueError, match='no variable "smok"'):
        asia.query("smok")
    with pytest.raises(ValueError, match="maybe"):
        asia.query("lung", {"smoke": "maybe"})
    with pytest.raises(ValueError, match="no tables"):
        BayesianNetwork([("a", "b")]).query("a")
    with pytest.raises(ValueError, match="no column for 'grass'"):
        garden.log_likelihood({"rain": ["yes"], "sprinkler": ["on"]})
    with pytest.raises(ValueError, match="row 1 of 'rain'"):
        garden.log_likelihood({"rain": ["yes", "x"], "sprinkler": ["on"] * 2, "grass": ["wet"] * 2})
    with pytest.raises(ValueError, match="cycle"):
        BayesianNetwork([("a", "b"), ("b", "a")], {"a": ["0", "1"], "b": ["0", "1"]})
    with pytest.raises(ValueError, match="sum"):
        BayesianNetwork.from_tables({"a": (["0", "1"], [], [0.5, 0.6])})
    with pytest.raises(ValueError, match="impossible|probability"):
        asia.query("lung", {"tub": "yes", "either": "no"})


def student():
    model = BayesianNetwork([("D", "G"), ("I", "G")])
    model.add_cpds(
        TabularCPD(variable="D", variable_card=2, values=[[0.6], [0.4]]),
        TabularCPD("I", 2, [[0.7], [0.3]], state_names={"I": ["low", "high"]}),
        TabularCPD(
            variable="G",
            variable_card=3,
            values=[[0.3, 0.05, 0.9, 0.5], [0.4, 0.25, 0.08, 0.3], [0.3, 0.7, 0.02, 0.2]],
            evidence=["I", "D"],
            evidence_card=[2, 2],
            state_names={"G": list("ABC"), "I": ["low", "high"], "D": [0, 1]},
        ),
    )
    return model


def test_tables_in_the_form_of_pgmpy():
    model = student()
    assert model.check_model() and set(model.nodes()) == {"D", "G", "I"}
    assert model.edges() == [("D", "G"), ("I", "G")]
    np.testing.assert_allclose(model.query(["G"]).values, [0.362, 0.2884, 0.3496], atol=1e-12)
    answer = model.query("G", {"I": "high", "D": 1}, show_progress=False)
    assert abs(answer.get_value(G="B") - 0.3) < 1e-12 and answer.state_names == {"G": list("ABC")}
    again = VariableElimination(model).query(variables=["G"], evidence={"I": "high", "D": 1})
    assert again.values.tolist() == answer.values.tolist()
    assert model.get_cpds("G").values.shape == (2, 2, 3) and len(model.get_cpds()) == 3
    both = model.query(["I", "D"], {"G": "C"}, joint=False)
    assert both["I"].variables == ["I"] and abs(both["D"].values.sum() - 1) < 1e-12
    assert model.active_trail_nodes("D") == {"D": {"D", "G"}}
    assert model.active_trail_nodes("D", observed="G") == {"D": {"D", "I"}}


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: TabularCPD("a", 2, [0.5, 0.5]), "values has the shape"),
        (lambda: TabularCPD("a", 2, [[0.5], [0.5]], evidence=["b"]), "evidence_card has 0"),
        (lambda: TabularCPD("a", 2, [[1], [0]], state_names={"a": ["x"]}), "has 1 states"),
        (lambda: VariableElimination("asia"), "model is 'asia'"),
        (lambda: student().add_cpds(1), r"cpds\[0\] = 1"),
        (lambda: student().add_cpds(TabularCPD("D", 2, [[0.6], [0.4]])), "no table for"),
        (lambda: student().add_cpds(TabularCPD("G", 2, [[0.6], [0.4]])), "given"),
        (lambda: BayesianNetwork([("a", "b")]).fit({"a": [0], "b": [1], "c": [2]}), "in no arc"),
        (lambda: BayesianNetwork([], {"a": [None, 1]}), r"states\['a'\]\[0\] = None"),
        (lambda: BayesianNetwork([], {"a": [1, 1.0]}), "'1' occurs twice"),
        (lambda: student().predict({"D": [0], "x": [0]}), "no variable is called 'x'"),
        (lambda: student().predict({"D": [0], "I": ["low"], "G": ["A"]}), "nothing to predict"),
    ],
)
def test_mistakes_with_tables_are_named(call, said):
    with pytest.raises(ValueError, match=said):
        call()


def test_predictions_are_the_most_probable_states(asia, tmp_path):
    frame = asia.simulate(30, seed=4).drop(columns=["lung", "tub"])
    frame.index = range(100, 130)
    found = asia.predict(frame)
    assert list(found.columns) == ["tub", "lung"] or set(found.columns) == {"tub", "lung"}
    assert (found.index == frame.index).all()
    for (_, row), (_, answer) in zip(frame.iterrows(), found.iterrows(), strict=True):
        assert asia.map_query(list(found.columns), dict(row)) == dict(answer)
    asia.save(tmp_path / "asia.bif")
    again = BayesianNetwork.from_bif(tmp_path / "asia.bif")
    assert again.query("lung").values.tolist() == asia.query("lung").values.tolist()


def test_states_and_names_of_every_type():
    """A state is its text, so that 1 and True are two; a number is a name."""
    days = pandas.to_datetime(["2020-01-01", "2020-01-02"]).date.tolist()
    bins = pandas.cut([0.5, 1.5, 1.5], [0, 1, 2])
    for states in ([1, True], days, list(bins.categories), [0.5, "x"], np.float32([1, 2])):
        assert len(BayesianNetwork([], {"a": states}).states["a"]) == 2
    model = BayesianNetwork(np.array([[1, 2]]), {1: ["a", "b"], 2: np.float32([0, 1])})
    assert model.arcs == [("1", "2")] and model.states["2"] == ["0", "1"]
    assert model.query(2, {1: "a"}).variables == ["2"]
    fitted = BayesianNetwork([("a", "b")]).fit({"a": bins, "b": [0, 1, 1]})
    assert fitted.query("b", {"a": bins[0]}).p(b=0) > 0.5


def test_no_rows_have_the_likelihood_1(asia):
    empty = asia.sample(0, 1)
    assert asia.log_likelihood(empty) == 0.0
    with pytest.raises(ValueError, match="no column for 'lung'"):
        asia.log_likelihood(empty.drop(columns=["lung"]))


def test_whole_numbers_are_states_and_measurements_are_not():
    counts = [float(10 * k) for k in range(30)]
    assert len(BayesianNetwork().fit({"a": counts}).states["a"]) == 30
    negative = BayesianNetwork().fit({"a": list(range(-15, 15))})
    assert len(negative.states["a"]) == 30
    with pytest.raises(ValueError, match="30 different numbers"):
        BayesianNetwork().fit({"a": [k + 0.5 for k in range(30)]})
    mixed = [k + 0.5 if k else 7.0 for k in range(30)]  # one of them happens to be whole
    with pytest.raises(ValueError, match="30 different numbers"):
        BayesianNetwork().fit({"a": mixed})
