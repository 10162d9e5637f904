"""pgmpy's structure learning, in a process of its own so that it can be ended: `pgmpy_learn.py climb` or `pgmpy_learn.py pc`.

A line of standard input is JSON: records, and the number of states of each variable. Prints `ready` once everything is imported
and the table is made, which is not timed; then, as JSON, the seconds of one run, the arcs and the undirected edges.
"""

import json
import logging
import sys
import time
import warnings

logging.disable(logging.WARNING)
warnings.filterwarnings("ignore")

import pandas
from pgmpy.estimators import PC, HillClimbSearch

# As on our side: at most 8 parents, the last 10 changes are not undone; 3 given variables, the level 0.01.
PARENTS, TABU, GIVEN, LEVEL = 8, 10, 3, 0.01


def climb(data):
    """Hill climbing with a tabu list by BIC."""
    search = HillClimbSearch(data)
    found = search.estimate(
        scoring_method="bic-d", max_indegree=PARENTS, tabu_length=TABU, show_progress=False
    )
    return list(found.edges()), []


def pc(data):
    """The stable PC algorithm with Pearson's chi-squared test, in one process."""
    found = PC(data).estimate(
        variant="stable", ci_test="chi_square", significance_level=LEVEL, max_cond_vars=GIVEN,
        return_type="cpdag", n_jobs=1, show_progress=False,
    )
    return list(found.directed_edges), list(found.undirected_edges)


def main():
    """Runs what the command line asks for."""
    method = {"climb": climb, "pc": pc}[sys.argv[1]]
    records, cards = json.loads(sys.stdin.readline())
    data = pandas.DataFrame(records, columns=[str(v) for v in range(len(cards))])
    # The states are those of the network, also where none was drawn.
    for name, card in zip(data.columns, cards):
        data[name] = pandas.Categorical(data[name], categories=range(card))
    print("\nready", flush=True)
    start = time.perf_counter()
    arcs, edges = method(data)
    seconds = time.perf_counter() - start
    numbers = [[[int(a), int(b)] for a, b in pairs] for pairs in (arcs, edges)]
    print()
    print(json.dumps({"seconds": seconds, "graph": numbers}))


if __name__ == "__main__":
    main()
