"""scikit-learn's own tests of its linear models pass with our estimators in their place."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
FILES = [
    "sklearn.linear_model.tests.test_ridge",
    "sklearn.linear_model.tests.test_coordinate_descent",
    "sklearn.linear_model.tests.test_sparse_coordinate_descent",
    "sklearn.linear_model.tests.test_logistic",
    "sklearn.linear_model.tests.test_huber",
    "sklearn.linear_model.tests.test_quantile",
    "sklearn.linear_model.tests.test_common",
    "sklearn.linear_model._glm.tests.test_glm",
    "sklearn.covariance.tests.test_graphical_lasso",
    "sklearn.svm.tests.test_svm",
]


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES)
def test_the_tests_of_scikit_learn_pass(file):
    command = [sys.executable, "-m", "pytest", "-q", "--tb=short", "-p", "plugin", "--pyargs", file]
    environment = dict(os.environ)
    paths = [str(HERE / "scikit_learn"), environment.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    ran = subprocess.run(command, capture_output=True, text=True, cwd=HERE, env=environment)
    assert ran.returncode == 0, ran.stdout[-5000:]
