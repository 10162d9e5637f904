"""Data without copies, signals, progress, threads, and objects that travel."""

import copy
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import joblib
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fenchel import Report, _core
from fenchel._control import Control
from fenchel.linear_model import Lasso, LogisticRegression, QuantileRegressor, Ridge
from fenchel.mrf import IsingModel

HERE = Path(__file__).parent  # where no folder hides the package
RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
Y = X @ [1.0, -2.0, 0.0, 0.5] + 0.1 * RNG.normal(size=60)


def test_every_kind_of_data_gives_the_same_fit():
    pandas = pytest.importorskip("pandas")
    rounded = np.round(X * 4) / 4  # exact in float32
    expected = Lasso(0.01).fit(rounded, Y).coef_
    kinds = [
        np.asfortranarray(rounded),
        rounded.astype(np.float32),
        rounded.tolist(),
        sparse.csr_matrix(rounded),
        sparse.csc_matrix(rounded),
        sparse.coo_array(rounded),
        sparse.csr_matrix(rounded.astype(np.float32)),
        pandas.DataFrame(rounded, columns=list("abcd")),
        np.repeat(rounded, 2, axis=0)[::2],
    ]
    try:
        import polars

        kinds.append(polars.DataFrame(rounded, schema=list("abcd")))
    except ImportError:
        pass
    for kind in kinds:
        np.testing.assert_allclose(Lasso(0.01).fit(kind, Y).coef_, expected, atol=1e-9)
    model = Lasso(0.01).fit(kinds[7], Y)
    assert list(model.feature_names_in_) == list("abcd")


def test_indices_of_64_bits_and_unsorted_columns():
    dense = np.where(X > 0, X, 0.0)
    expected = Ridge().fit(dense, Y).coef_
    wide = sparse.csr_matrix(dense)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    np.testing.assert_allclose(Ridge().fit(wide, Y).coef_, expected, atol=1e-9)
    order = sparse.csr_matrix(
        (np.array([1.0, 2.0, 3.0]), np.array([2, 0, 1]), np.array([0, 2, 3])), shape=(2, 3)
    )
    doubled = sparse.csr_matrix(
        (np.array([1.0, 1.0, 1.0, 3.0]), np.array([0, 0, 2, 1]), np.array([0, 3, 4])), shape=(2, 3)
    )
    for data in (order, doubled):
        before = data.copy()
        np.testing.assert_allclose(
            Ridge().fit(data, [0, 1]).coef_, Ridge().fit(data.toarray(), [0, 1]).coef_, atol=1e-9
        )
        assert (data.indices == before.indices).all(), "the data of the caller have changed"


def test_broken_sparse_data_are_refused_with_their_place():
    class Broken:
        shape = (2, 3)
        data = np.ones(2)
        indices = np.array([0, -1], dtype=np.int32)
        indptr = np.array([0, 1, 2], dtype=np.int32)

    control = Control(tol=1e-4, max_iter=10)
    with pytest.raises(ValueError, match="row 1: column"):
        _core.least_squares((Broken, np.ones(2), None), control, (0.0, 1.0), True, False)
    Broken.indices = np.array([0, 1], dtype=np.int32)
    Broken.indptr = np.array([0, -1, 2], dtype=np.int32)
    with pytest.raises(ValueError, match="indptr"):
        _core.least_squares((Broken, np.ones(2), None), control, (0.0, 1.0), True, False)


@pytest.mark.parametrize("column", [-1, 4])
def test_the_columns_of_a_broken_matrix_are_refused(column):
    broken = sparse.csr_matrix(X)
    broken.indices[5] = column
    models = (Ridge(), LogisticRegression(), QuantileRegressor(), IsingModel())
    for model in models:
        with pytest.raises(ValueError, match=r"row 1|column|indices"):
            model.fit(broken.copy(), (Y > 0).astype(int))
    falling = sparse.csr_matrix(X)
    falling.indptr[3] = 0
    with pytest.raises(ValueError, match="X: "):
        Ridge().fit(falling, Y)


def test_the_report_has_the_time_of_the_whole_call():
    start = time.perf_counter()
    model = Lasso(0.01).fit(X, Y)
    wall = time.perf_counter() - start
    assert model.report_.seconds <= model.report_.total_seconds <= wall
    assert f"({model.report_.total_seconds:.3f} s)" in str(model.report_)


MEMORY = """
import sys
import numpy as np
from scipy import sparse
from fenchel.linear_model import Ridge

def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) * 1024

rng = np.random.default_rng(0)
if sys.argv[1] == "dense":
    X = rng.normal(size=(400_000, 40))
    size = X.nbytes
else:
    indptr = np.arange(0, 400_001 * 20, 20, dtype=np.int32)
    columns = rng.integers(0, 1000, size=(400_000, 20), dtype=np.int32)
    columns += np.arange(20, dtype=np.int32) * 1000
    parts = (rng.normal(size=indptr[-1]), columns.ravel(), indptr)
    X = sparse.csr_matrix(parts, shape=(400_000, 20_000))
    del columns
    size = X.data.nbytes + X.indices.nbytes
y = rng.normal(size=X.shape[0])
model = Ridge(tol=0.1)
model.fit(X[:100], y[:100])
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")
before = peak()
model.fit(X, y)
model.predict(X)
print((peak() - before) / size)
"""


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs Linux's /proc")
@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_a_fit_copies_no_data(kind):
    command = [sys.executable, "-c", MEMORY, kind]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, cwd=HERE)
    assert float(ran.stdout) < 0.6, "share of the size of X that a fit takes beside it"


SLOW = """
import signal
import numpy as np
from fenchel.linear_model import LogisticRegression
# A process in the background begins without the signal.
signal.signal(signal.SIGINT, signal.default_int_handler)
rng = np.random.default_rng(0)
X = rng.normal(size=(20_000, 300)); X *= np.logspace(0, 4, 300)
y = rng.random(20_000) < 0.5
print("fitting", flush=True)
try:
    LogisticRegression(C=1e12, l1_ratio=1.0, tol=0, max_iter=1e9).fit(X, y)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_ctrl_c_ends_a_fit():
    command = [sys.executable, "-c", SLOW]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=HERE)
    assert process.stdout.readline() == "fitting\n"
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=60)
    assert said == "interrupted\n" and process.returncode == 0


def test_the_interpreter_runs_on_during_a_fit():
    """A counter on another thread goes on: the lock is free."""
    data = RNG.normal(size=(20_000, 100))
    target = (data[:, 0] > 0).astype(float)
    counts, done = [0], threading.Event()

    def count():
        while not done.is_set():
            counts[0] += 1
            time.sleep(0)

    counter = threading.Thread(target=count)
    counter.start()
    before = counts[0]
    LogisticRegression(C=1e3, tol=1e-10).fit(data, target)
    after = counts[0]
    done.set()
    counter.join()
    assert after - before > 10


def test_progress_is_shown_on_the_standard_error(capsys):
    Lasso(0.01, verbose=True).fit(X, Y)
    captured = capsys.readouterr()
    assert captured.err.startswith("\rLasso: converged after") and captured.out == ""


def test_fitted_objects_travel(tmp_path):
    model = LogisticRegression().fit(X, Y > 0)
    copies = [pickle.loads(pickle.dumps(model)), copy.deepcopy(model)]
    joblib.dump(model, tmp_path / "model.joblib")
    copies.append(joblib.load(tmp_path / "model.joblib"))
    for other in copies:
        assert (other.predict_proba(X) == model.predict_proba(X)).all()
        assert other.report_ == model.report_ and isinstance(other.report_, Report)
    assert not hasattr(clone(model), "coef_")


def test_searches_pipelines_and_processes():
    pipe = make_pipeline(StandardScaler(), LogisticRegression())
    search = GridSearchCV(pipe, {"logisticregression__C": [0.1, 1, 10]}, n_jobs=2)
    assert search.fit(X, Y > 0).best_score_ > 0.9


def test_threads_change_no_bit():
    fits = [LogisticRegression(n_jobs=jobs).fit(X, np.arange(60) % 3) for jobs in (None, 1, 2)]
    assert all((fit.coef_ == fits[0].coef_).all() for fit in fits)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs limits of memory")
def test_threads_that_cannot_be_started_are_an_error():
    code = """
import os, resource
import numpy as np
from fenchel.linear_model import Ridge
x = np.random.default_rng(1).normal(size=(100, 3))
pages = int(open("/proc/self/statm").read().split()[0])
room = pages * resource.getpagesize() + (100 << 20)
resource.setrlimit(resource.RLIMIT_AS, (room, room))
os.environ["RAYON_NUM_THREADS"] = "500"
for _ in range(2):
    try:
        Ridge().fit(x, x[:, 0])
    except RuntimeError as error:
        assert str(error).startswith("threads cannot be started"), error
    else:
        raise AssertionError("500 stacks in 100 MB")
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=HERE)
    assert ran.returncode == 0, ran.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_fits_too():
    """The threads of a pool do not survive a fork."""
    big = RNG.normal(size=(50_000, 20))
    Ridge().fit(big, big[:, 0]).predict(big)
    child = os.fork()
    if child == 0:
        Ridge().fit(big, big[:, 0]).predict(big)
        os._exit(0)
    for _ in range(600):
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            assert status == 0
            return
        time.sleep(0.1)
    os.kill(child, signal.SIGKILL)
    pytest.fail("the fit in the child does not end")
