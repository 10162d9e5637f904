"""Fenchel, through the runner's lines of JSON."""

import json
import subprocess
import sys

import numpy as np

# The estimator of the task, which chooses its method.
DEFAULT = "auto"
L2 = [DEFAULT, "sdca-constant", "catalyst-constant", "lbfgs", "newton", "subsampled-newton"]
# SDCA needs l2 > 0, L-BFGS a smooth objective.
L1 = [DEFAULT, "catalyst-constant", "newton"]
COUNTS = [DEFAULT, "newton"]
NET = [DEFAULT, "catalyst-exact", "newton"]


def methods(problem):
    """What there is for a problem; without l1 Newton's methods have a dense Hessian, for few features only."""
    if problem.task == "counts":
        return COUNTS if problem.a.shape[1] <= 1000 else COUNTS[:-1]
    if problem.task == "squared" and problem.l1:
        return NET
    if problem.l1:
        return L1
    return L2 if problem.a.shape[1] <= 1000 else L2[:-2]


class Runner:
    """The server with one data set loaded; ends with the `with` block."""

    def __init__(self, program, stem):
        self.weights = stem.with_suffix(".weights")
        command = [program, "serve", "--file", stem]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=sys.stderr, text=True
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()

    def ask(self, problem, method, **until):
        """One request, one reply; the weights lie in `self.weights`."""
        request = {"method": method, "l2": problem.l2, "l1": problem.l1}
        request.update(until, weights=str(self.weights))
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        reply = json.loads(self.process.stdout.readline())
        if "error" in reply:
            raise RuntimeError(f"{method} on {problem.title}: {reply['error']}")
        return reply

    def point(self):
        """The weights of the last reply."""
        return np.fromfile(self.weights, dtype="<f8")

    def proof(self, problem, method, relative, cap):
        """Seconds until the certificate proves the relative suboptimality; None beyond the cap."""
        until = {"until": "proof", "relative": relative, "max_seconds": cap}
        reply = self.ask(problem, method, **until)
        return reply["seconds"] if reply["status"] == "Converged" else None
