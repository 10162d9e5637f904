"""Which measurements tell malignant from benign tumours: a path of sparse logistic regressions.

Every point of the path has a certificate: no other weights have an objective that is lower by more than the gap.
"""

# %% The data, and features of the same scale
import matplotlib.pyplot as plt
import numpy as np
from _picture import save
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from fenchel.linear_model import LogisticRegressionCV, logistic_path

X, y = load_breast_cancer(return_X_y=True)
names = load_breast_cancer().feature_names
X = scale(X)

# %% The path
path = logistic_path(X, y, Cs=60, eps=0.01)
print(f"largest duality gap: {path.dual_gaps.max():.1e}")

# %% The penalty by cross-validation
model = LogisticRegressionCV(l1_ratios=[1.0], selection_rule="one_standard_error").fit(X, y)
alpha = 1 / (model.C_ * len(y))
used = np.flatnonzero(model.coef_[0])
print(f"{len(used)} of {len(names)} measurements, accuracy {model.score(X, y):.3f}")
for k in used[np.argsort(-abs(model.coef_[0, used]))][:5]:
    print(f"  {names[k]:<25} {model.coef_[0, k]:+.2f}")

# %% The picture
first = names[np.argmax(np.count_nonzero(path.coefs, axis=1))]
plt.figure(figsize=(7, 4))
plt.title(f"Lasso path of malignant against benign tumours: {first} enters first", fontsize=10)
plt.semilogx(path.alphas, path.coefs.T, color="0.8", linewidth=0.8)
for k in used[np.argsort(-abs(path.coefs[used, -1]))]:
    plt.semilogx(path.alphas, path.coefs[k], linewidth=1.2, label=names[k])
plt.axvline(alpha, color="black", linestyle=":", linewidth=1)
plt.gca().invert_xaxis()
plt.legend(fontsize=7, loc="lower left")
plt.xlabel("penalty on the sum of the absolute weights (dotted: chosen by cross-validation)")
plt.ylabel("log odds of benign, per standard deviation")
save("linear_model")
