"""CRFsuite's side: one training in a process of its own, so that its peak memory is its own.

    crfsuite.py TRAIN TEST ITERATIONS FOLDER       prints JSON, a line an iteration, then one for the tagging
"""

import json
import pathlib
import resource
import sys
import time

import pycrfsuite


def sequences(path):
    """Attribute lists and labels. Names come without escapes; every value is 1."""
    tokens, labels = [], []
    for line in path.read_text().splitlines():
        if line:
            label, *attributes = line.split("\t")
            labels.append(label)
            tokens.append([a.replace("\\:", ":").replace("\\\\", "\\") for a in attributes])
        elif tokens:
            yield tokens, labels
            tokens, labels = [], []
    if tokens:
        yield tokens, labels


class Trainer(pycrfsuite.Trainer):
    """Prints what each iteration reached."""

    def on_iteration(self, log, info):
        line = {
            "passes": self.passes(info), "loss": info["loss"],
            "seconds": time.process_time() - self.start,
        }
        print(json.dumps(line), flush=True)

    done = 0

    def passes(self, info):
        """Evaluations of the gradient so far."""
        self.done += info["linesearch_trials"]
        return self.done


def main():
    """Trains, tags."""
    train, test, folder = (pathlib.Path(sys.argv[k]) for k in (1, 2, 4))
    trainer = Trainer(algorithm="lbfgs", verbose=True)
    for tokens, labels in sequences(train):
        trainer.append(pycrfsuite.ItemSequence(tokens), labels)
    # Only the number of iterations ends the run.
    trainer.set_params({
        "c1": 0.0, "c2": 0.5, "max_iterations": int(sys.argv[3]), "epsilon": 1e-12, "delta": 1e-15, "period": 10,
    })
    trainer.start = time.process_time()
    model = str(folder / "crfsuite.model")
    trainer.train(model)
    peak = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    tagger = pycrfsuite.Tagger()
    start = time.process_time()
    tagger.open(model)
    load = time.process_time() - start
    truth = list(sequences(test))
    ready = [pycrfsuite.ItemSequence(tokens) for tokens, _ in truth]
    least = float("inf")
    for _ in range(5):
        start = time.process_time()
        found = [tagger.tag(items) for items in ready]
        least = min(least, time.process_time() - start)
    with open(folder / "tagged.txt", "w", encoding="utf-8") as to:
        for (_, labels), tags in zip(truth, found):
            to.writelines(f"{label} {tag}\n" for label, tag in zip(labels, tags))
            to.write("\n")
    count = sum(len(labels) for _, labels in truth)
    print(json.dumps({"tag_seconds": least, "tag_tokens": count, "load_seconds": load, "peak": peak}))


if __name__ == "__main__":
    main()
