"""Two directions among ten explain a response; straight lines do not see one of them."""

# %% A response that is symmetric in one direction
import matplotlib.pyplot as plt
import numpy as np
from _picture import save

from fenchel.reduction import SIR, DirectionalRegression

rng = np.random.default_rng(0)
X = rng.normal(size=(4000, 10))
first, second = X[:, 0], X[:, 1]
y = first + second**2 + 0.3 * rng.normal(size=4000)

# %% How many directions there are, and which
sir = SIR("chi_square").fit(X, y)
both = DirectionalRegression("ladle").fit(X, y)
print(f"SIR finds {sir.n_components_} direction, directional regression {both.n_components_}")
for model in (sir, both):
    print(type(model).__name__, model.components_.round(2).tolist())

# %% The picture
Z = both.transform(X)
_, axes = plt.subplots(1, 2, figsize=(7, 3.2), sharey=True)
for k, axis in enumerate(axes):
    axis.plot(Z[:500, k], y[:500], ".", markersize=3, alpha=0.5)
    axis.set_xlabel(f"direction {k + 1}")
axes[0].set_ylabel("response")
save("reduction")
