"""An effect that no adjustment finds and a formula does, and one that nothing finds."""

# %% A hidden cause of smoking and cancer; tar lies between
import matplotlib.pyplot as plt
import numpy as np
from _picture import save

from fenchel.bayes import BayesianNetwork
from fenchel.causal import Graph, NotIdentifiable

graph = Graph("smoke -> tar -> cancer; smoke <-> cancer")
formula = graph.identify("P(cancer | do(smoke))")
print(formula)

# %% The world, with the gene that nobody sees
world = BayesianNetwork.from_tables(
    {
        "gene": (["no", "yes"], [], [0.6, 0.4]),
        "smoke": (["no", "yes"], ["gene"], [[0.8, 0.2], [0.3, 0.7]]),
        "tar": (["no", "yes"], ["smoke"], [[0.9, 0.1], [0.2, 0.8]]),
        "cancer": (
            ["no", "yes"],
            ["gene", "tar"],
            [[[0.95, 0.05], [0.85, 0.15]], [[0.7, 0.3], [0.5, 0.5]]],
        ),
    }
)
truth = [world.do(smoke=s).query("cancer").p(cancer="yes") for s in ("no", "yes")]
seen = [world.query("cancer", {"smoke": s}).p(cancer="yes") for s in ("no", "yes")]

# %% The formula on records of what is seen
sizes = [300, 1000, 3000, 10_000, 30_000, 100_000]
errors = []
for size in sizes:
    records = world.sample(size, 1).drop(columns="gene")
    found = formula.evaluate(records)
    errors.append(found.p(smoke="yes", cancer="yes") - found.p(smoke="no", cancer="yes"))
print(f"the true effect is {truth[1] - truth[0]:.3f}, the formula finds {errors[-1]:.3f}")
print(f"smokers and others differ by {seen[1] - seen[0]:.3f}")

# %% Without the tar there is no formula, and two models prove it
try:
    Graph("smoke -> cancer; smoke <-> cancer").identify("P(cancer | do(smoke))")
except NotIdentifiable as refusal:
    witness = refusal.witness()
    print(f"two models, equal on all that is seen, have effects {witness.effect_difference} apart")

# %% The picture
plt.figure(figsize=(6, 3.4))
plt.semilogx(sizes, errors, "o-", label="the formula")
plt.axhline(truth[1] - truth[0], color="black", label="truth")
plt.axhline(seen[1] - seen[0], color="C3", linestyle="--", label="smokers less others")
plt.ylim(0, np.ceil(10 * (seen[1] - seen[0])) / 10)
plt.xlabel("records")
plt.ylabel("effect")
plt.legend(loc="center right")
save("causal")
