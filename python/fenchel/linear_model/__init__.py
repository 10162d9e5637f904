"""Linear models with certificates, with scikit-learn's names.

Each takes numpy arrays and scipy's CSR without a copy, and lists, pandas and polars frames, and other sparse formats with
one. ``report_`` says how the fit ended, and ``duality_gap_`` how far from the optimum it can be at most. Penalties of any
kind go with any loss; the method is chosen by the problem.
"""

from ._classification import LinearSVC, LogisticRegression, MulticlassL1, SoftmaxRegression
from ._cv import ElasticNetCV, LassoCV, LinearSVCCV, LogisticRegressionCV, RidgeCV
from ._paths import Path, enet_path, lasso_path, logistic_path
from ._regression import (
    ElasticNet,
    GroupLasso,
    HuberRegressor,
    Lasso,
    PoissonRegressor,
    QuantileRegressor,
    Ridge,
)

__all__ = [
    "ElasticNet",
    "ElasticNetCV",
    "GroupLasso",
    "HuberRegressor",
    "Lasso",
    "LassoCV",
    "LinearSVC",
    "LinearSVCCV",
    "LogisticRegression",
    "LogisticRegressionCV",
    "MulticlassL1",
    "Path",
    "PoissonRegressor",
    "QuantileRegressor",
    "Ridge",
    "RidgeCV",
    "SoftmaxRegression",
    "enet_path",
    "lasso_path",
    "logistic_path",
]
