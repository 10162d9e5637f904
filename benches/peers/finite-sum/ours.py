"""Fenchel, through the runner's lines of JSON."""

import json
import subprocess
import sys

import numpy as np

DEFAULT = "logistic-regression"
L2 = [
    DEFAULT,
    "sdca-exact",
    "sdca-constant",
    "catalyst-exact",
    "catalyst-constant",
    "saga",
    "sag",
    "svrg",
    "lbfgs",
]
# SDCA needs l2 > 0, SAG has no proof with l1, L-BFGS needs a smooth objective.
L1 = [DEFAULT, "catalyst-exact", "catalyst-constant", "saga", "svrg", "newton"]


def methods(problem):
    """What there is for a problem; without l1 Newton has a dense Hessian, for few features only."""
    if problem.l1:
        return L1
    return [*L2, "newton"] if problem.a.shape[1] <= 1000 else L2


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

    def passes(self, problem, method, passes, relative):
        """Seconds and objective after so many passes of what aims at the relative suboptimality."""
        reply = self.ask(problem, method, until="passes", passes=passes, relative=relative)
        return reply["seconds"], problem.objective(self.point())

    def proof(self, problem, method, relative, cap):
        """Seconds until the certificate proves the relative suboptimality; None beyond the cap."""
        until = {"until": "proof", "relative": relative, "max_seconds": cap}
        reply = self.ask(problem, method, **until)
        return reply["seconds"] if reply["status"] == "Converged" else None

    def smallest_passes(self, problem, method, objective, relative, cap):
        """The first pass that reaches the objective, from a watched run; None for never."""
        until = {"until": "objective", "objective": objective, "relative": relative}
        return self.ask(problem, method, **until, max_seconds=3 * cap)["met"]
