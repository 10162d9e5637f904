"""Tagging words: a chain sees what a word by itself does not show."""

# %% Sentences of a small grammar; "can" and "fish" have two tags
import matplotlib.pyplot as plt
import numpy as np
from _picture import save

from fenchel.crf import CRF

rng = np.random.default_rng(0)
WORDS = {
    "D": ["the", "a", "this"],
    "N": ["dog", "can", "fish", "boat"],
    "V": ["sees", "fish", "can", "eats"],
}


def sentence():
    tags = ["D", "N", "V", "D", "N"] if rng.random() < 0.7 else ["D", "N", "V", "V"]
    return [(rng.choice(WORDS[tag]), tag) for tag in tags]


corpus = [sentence() for _ in range(300)]
X = [[{"word": word} for word, _ in each] for each in corpus]
y = [[tag for _, tag in each] for each in corpus]

# %% A training with its certificate
model = CRF(c2=0.1).fit(X, y)
print(model.report_)
print("transitions:", {pair: round(w, 1) for pair, w in model.transition_features_.items()})

# %% The same word twice
words = "the can can fish".split()
marginals = model.predict_marginals_single([{"word": word} for word in words])
print(list(zip(words, model.predict_single([{"word": word} for word in words]), strict=True)))

# %% The picture
tags = sorted(model.classes_)
plt.figure(figsize=(5, 2.6))
plt.imshow([[row[tag] for row in marginals] for tag in tags], cmap="Blues", vmin=0, vmax=1)
plt.xticks(range(len(words)), words)
plt.yticks(range(len(tags)), tags)
for i, row in enumerate(marginals):
    for k, tag in enumerate(tags):
        color = "white" if row[tag] > 0.5 else "black"
        plt.text(i, k, f"{row[tag]:.2f}", ha="center", va="center", color=color)
plt.title("probability of each tag")
save("crf")
