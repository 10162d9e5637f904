"""Counts of two groups: a regression with its summary, and what a prior changes."""

# %% Counts whose rate depends on a dose
import matplotlib.pyplot as plt
import numpy as np
from _picture import save

from fenchel.families import Poisson, glm

rng = np.random.default_rng(0)
dose = rng.uniform(0, 2, size=60)
counts = rng.poisson(np.exp(0.2 + 0.8 * dose))

# %% The regression, as R prints it
result = glm(dose[:, None], counts, "poisson")
print(result.summary())

# %% Three counts and a prior belief in a rate of 5
data = [1, 2, 0]
prior = Poisson(5.0).prior(4.0)
after = prior.posterior(data)
print(f"mean of the counts {np.mean(data):.2f}, after a prior of weight 4: {after.mean[0]:.2f}")
print(f"log marginal likelihood {prior.log_marginal_likelihood(data):.3f}")

# %% The picture
_, axes = plt.subplots(1, 2, figsize=(7, 3.2))
axes[0].plot(dose, counts, ".", color="0.5")
grid = np.linspace(0, 2, 100)
axes[0].plot(grid, np.exp(result.params[0] + result.params[1] * grid))
axes[0].set_xlabel("dose")
axes[0].set_ylabel("count")
numbers = np.arange(12)
axes[1].plot(numbers, Poisson(5.0).pdf(numbers), "o-", label="prior")
axes[1].plot(numbers, after.mode().pdf(numbers), "o-", label="after three counts")
axes[1].set_xlabel("count")
axes[1].legend()
save("families")
