#!/usr/bin/env python3
"""Coefficients of scikit-learn on 24 rows whose weights do not sum to 24, by C, class_weight and sample_weight.

    python3 -m pip install "scikit-learn>=1.7"
    python3 scikit_learn.py

prints the rows of `REFERENCE` in tests/suite/class_weights.rs: the weights, then the intercepts. The data are formulas, so that
both sides have the same.
"""
import warnings

import numpy as np
from sklearn.linear_model import LogisticRegression, PoissonRegressor
from sklearn.svm import LinearSVC

n = 24
i = np.arange(n)
x = np.column_stack([((7 * i) % 24) / 10.0 - 1.0, ((5 * i + 3) % 11) / 11.0, ((i * i) % 13) / 6.0 - 1.0])
two = ((3 * i) % 7 < 2).astype(float)
three = (5 * i + i // 3) % 4 % 3
counts = ((5 * i * i) % 9).astype(float)
weights = 0.5 + i % 3
tight = dict(tol=1e-13, max_iter=1_000_000)

warnings.simplefilter("error")
models = {
    "l2, weighted rows": (LogisticRegression(C=0.5, solver="newton-cholesky", **tight), two, weights),
    "l2, a weighted class": (LogisticRegression(C=0.5, class_weight={1.0: 3.0}, solver="newton-cholesky", **tight), two, None),
    "l2, balanced classes": (LogisticRegression(C=2.0, class_weight="balanced", solver="newton-cholesky", **tight), two, None),
    "l2, both": (LogisticRegression(C=2.0, class_weight={0.0: 0.25, 1.0: 3.0}, solver="newton-cholesky", **tight), two, weights),
    "l1, both": (LogisticRegression(C=0.3, l1_ratio=1.0, class_weight={1.0: 3.0}, fit_intercept=False, solver="liblinear", **tight), two, weights),
    "three classes, both": (LogisticRegression(C=0.5, class_weight={2: 3.0}, solver="newton-cg", **tight), three, weights),
    "squared hinge, both": (LinearSVC(C=0.5, class_weight={1.0: 3.0}, fit_intercept=False, **tight), two, weights),
    "counts": (PoissonRegressor(alpha=0.3, solver="newton-cholesky", **tight), counts, weights),
}
for name, (model, y, w) in models.items():
    model.fit(x, y, sample_weight=w)
    numbers = np.concatenate([np.ravel(model.coef_), np.ravel(model.intercept_)])
    print(f'("{name}", &[{", ".join(repr(float(v)) for v in numbers)}]),')
