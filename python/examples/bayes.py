"""The alarm of a patient's monitor: what the readings say about the causes, and what an action changes."""

# %% A published network with 37 variables
import matplotlib.pyplot as plt
from _picture import save

from fenchel.bayes import BayesianNetwork

net = BayesianNetwork.example("alarm")
print(net)

# %% What is known at the bedside
evidence = {"HRBP": "HIGH", "BP": "LOW", "EXPCO2": "LOW"}
evidence = {name: state for name, state in evidence.items() if name in net.variables}
causes = [name for name in net.variables if not any(child == name for _, child in net.arcs)]
before, after = net.posteriors(), net.posteriors(evidence)


def probability(table, name):
    """Of the first state."""
    return table[name].p(**{name: net.states[name][0]})


causes.sort(key=lambda name: -abs(probability(after, name) - probability(before, name)))
for name in causes[:5]:
    change = f"{probability(before, name):.3f} to {probability(after, name):.3f}"
    print(f"  P({name} = {net.states[name][0]}): {change}")

# %% The most probable explanation
(best, log_probability), *_ = net.most_probable(1, evidence)
print({name: best[name] for name in causes[:5]}, f"log P = {log_probability:.2f}")

# %% Learning it again from records
records = net.sample(20_000, 1)
learned = BayesianNetwork.learn(records)
both = {frozenset(arc) for arc in learned.arcs} & {frozenset(arc) for arc in net.arcs}
print(f"{len(both)} of {len(net.arcs)} adjacencies are found from 20,000 records")

# %% The picture
plt.figure(figsize=(7, 3.4))
shown = causes[:8]
for place, (table, label) in enumerate(((before, "before"), (after, "after the readings"))):
    heights = [probability(table, name) for name in shown]
    plt.bar([k + 0.4 * place for k in range(len(shown))], heights, 0.4, label=label)
plt.xticks([k + 0.2 for k in range(len(shown))], shown, rotation=30, ha="right")
plt.ylabel("probability of the first state")
plt.legend()
save("bayes")
