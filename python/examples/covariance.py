"""A sparse network of measurements, with one hidden cause and without."""

# %% Ten variables in a ring, and a hidden cause of all
import matplotlib.pyplot as plt
import numpy as np
from _picture import save

from fenchel.covariance import GraphicalLassoCV, LatentGraphicalLasso

rng = np.random.default_rng(0)
p, n = 10, 2000
precision = 2.0 * np.eye(p)
for k in range(p):
    precision[k, (k + 1) % p] = precision[(k + 1) % p, k] = -0.7
ring = rng.normal(size=(n, p)) @ np.linalg.cholesky(np.linalg.inv(precision)).T
X = ring + 0.8 * rng.normal(size=(n, 1))

# %% Without the cause every pair seems to be linked
plain = GraphicalLassoCV().fit(X)
latent = LatentGraphicalLasso(0.05, rank_penalty=0.3).fit(X)
truth = {(k, (k + 1) % p) if k + 1 < p else (0, k) for k in range(p)}
for name, model in (("graphical lasso", plain), ("with hidden causes", latent)):
    found = {edge[:2] for edge in model.edges()}
    print(f"{name}: {len(found)} edges, {len(found & truth)} of the {len(truth)} true ones")
print(f"hidden causes: {latent.loadings_.shape[1]}; {latent.report_}")

# %% The picture
angle = 2 * np.pi * np.arange(p) / p
place = np.column_stack([np.cos(angle), np.sin(angle)])
_, axes = plt.subplots(1, 2, figsize=(7, 3.5))
for axis, (name, model) in zip(
    axes, (("graphical lasso", plain), ("with hidden causes", latent)), strict=True
):
    for i, j, weight in model.edges():
        axis.plot(*place[[i, j]].T, color="C0", linewidth=0.5 + 6 * abs(weight))
    axis.plot(*place.T, "o", color="black")
    axis.set_title(f"{name}: {len(model.edges())} edges")
    axis.set_aspect("equal")
    axis.axis("off")
save("covariance")
