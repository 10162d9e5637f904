"""pgmpy, in a process of its own so that it can be ended: `pgmpy_side.py METHOD`, a network as JSON on standard input.

METHOD is `elimination` (VariableElimination, one query a variable) or `tree` (BeliefPropagation: a junction tree,
calibrated, then one query a variable). Prints `ready` once everything is imported and the model is made, which is not timed;
then, as JSON, the seconds of the quickest of at most three runs and the marginals, or why there are none.
"""

import json
import logging
import sys
import time
import warnings

logging.disable(logging.WARNING)
warnings.filterwarnings("ignore")

import numpy
from pgmpy.factors.discrete import TabularCPD
from pgmpy.inference import BeliefPropagation, VariableElimination
from pgmpy.models import DiscreteBayesianNetwork

RUNS = 3
# No second run of what takes longer than this, in seconds.
LONG = 1.0


def model(network):
    """A `DiscreteBayesianNetwork` with variables `0`, `1`, ... as strings."""
    cards = network["cards"]
    net = DiscreteBayesianNetwork()
    net.add_nodes_from(str(v) for v in range(len(cards)))
    for scope, values in network["tables"]:
        *parents, child = scope
        net.add_edges_from((str(p), str(child)) for p in parents)
        # Ours has a row for every configuration of the parents; its has a column.
        table = numpy.array(values).reshape(-1, cards[child]).T
        names, sizes = [str(p) for p in parents], [cards[p] for p in parents]
        net.add_cpds(TabularCPD(str(child), cards[child], table, names or None, sizes or None))
    return net


def elimination(net):
    """One query a variable."""
    return VariableElimination(net)


def tree(net):
    """A junction tree, calibrated."""
    engine = BeliefPropagation(net)
    engine.calibrate()
    return engine


def main():
    """Runs what the command line asks for."""
    method = {"elimination": elimination, "tree": tree}[sys.argv[1]]
    network = json.loads(sys.stdin.readline())
    net = model(network)
    print("\nready", flush=True)
    best = float("inf")
    variables = range(len(network["cards"]))
    try:
        for _ in range(RUNS):
            start = time.perf_counter()
            engine = method(net)
            answers = [engine.query([str(v)], show_progress=False) for v in variables]
            best = min(best, time.perf_counter() - start)
            if best > LONG:
                break
    except MemoryError:
        print(json.dumps({"failed": "out of memory"}))
        return
    # It warns on the same stream; the answer is the last line.
    print()
    print(json.dumps({"seconds": best, "marginals": [answer.values.tolist() for answer in answers]}))


if __name__ == "__main__":
    main()
