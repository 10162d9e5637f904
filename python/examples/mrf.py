"""Which letters of aligned sequences change together: contacts of a molecule."""

# %% Sequences in which five pairs of columns depend on each other
import matplotlib.pyplot as plt
import numpy as np
from _picture import save

from fenchel.mrf import PottsModel

rng = np.random.default_rng(0)
letters = np.array(list("ACDEFGHIKLMNPQRSTVWY"))
length, count = 40, 1500
codes = rng.integers(20, size=(count, length))
contacts = [(2, 30), (5, 27), (8, 24), (11, 21), (15, 37)]
for i, j in contacts:
    follow = rng.random(count) < 0.6
    codes[follow, j] = (codes[follow, i] + 7) % 20
# A chain through other columns: 2 and 31 are related by 30 alone.
follow = rng.random(count) < 0.6
codes[follow, 31] = (codes[follow, 30] + 3) % 20
sequences = ["".join(letters[row]) for row in codes]

# %% The model, and its contacts
model = PottsModel().fit(sequences)
found = model.contacts(top=5)
print(model.report_)
print([(i, j, round(score, 2)) for i, j, score in found])
print(f"{len({pair[:2] for pair in found} & set(contacts))} of 5 contacts")

# %% The picture
plt.figure(figsize=(4.6, 4))
plt.imshow(model.scores_, cmap="Greys", vmin=0)
for i, j in contacts:
    plt.plot([j, i], [i, j], "o", mfc="none", color="C3")
plt.colorbar(label="score")
plt.xlabel("column")
plt.ylabel("column (circles: true contacts)")
save("mrf")
