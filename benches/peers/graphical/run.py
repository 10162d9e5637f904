"""Fenchel's junction tree against pyAgrum (aGrUM, C++), on one thread.

    cargo xtask peers graphical [-- --quick]      (about 3 minutes; with --quick seconds)

The work is "all posteriors": make the engine, triangulate, calibrate, read the marginal of every variable. Networks are
the `bif/*.bif.gz` of the folder of real data. All sides work on the numbers that our reader reads: the peers' networks are
built from them, outside of what is timed. Rounds alternate between the sides in random order.
"""

import os

# Before numpy is imported, which reads them once.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"):
    os.environ[name] = "1"

import argparse
import json
import pathlib
import random
import statistics
import subprocess

import peers
import report

NETWORKS = "alarm insurance win95pts hailfinder andes pigs pathfinder water mildew barley".split()
SMALL = "alarm insurance win95pts hailfinder".split()
SLOW = 2.0
# How many variables are observed, one after the other, for the time of one more calibration.
AGAIN = 20


class Runner:
    """Our side: one process a network."""

    def __init__(self, program, path):
        command = [program, "serve", "--file", path]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, request):
        self.process.stdin.write(request + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def arguments():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runner", required=True, type=pathlib.Path, help="the program peer-graphical")
    parser.add_argument("--out", required=True, type=pathlib.Path, help="folder for results")
    parser.add_argument("--data", type=pathlib.Path, help="folder of real data")
    parser.add_argument("--quick", action="store_true", help="small networks, 3 rounds")
    parser.add_argument("--rounds", type=int, default=7, help="timings of each cell (7)")
    parser.add_argument("--only", action="append", help="a network; may be repeated")
    options = parser.parse_args()
    if options.quick:
        options.only, options.rounds = SMALL, 3
    return options


def distance(ours, theirs):
    """The largest difference of two lists of marginals."""
    return max(abs(a - b) for p, q in zip(ours, theirs) for a, b in zip(p, q))


def measure(runner, name, rounds):
    """Seconds of every side."""
    network = runner.ask("network")
    work = {"fenchel": lambda k: runner.ask("posteriors")["seconds"]}
    net = peers.agrum_network(network)
    engines = {"pyagrum lazy": peers.lazy, "pyagrum shafer-shenoy": peers.shafer_shenoy}
    for label, engine in engines.items():
        work[label] = lambda k, engine=engine: engine(net)[0]
    first = runner.ask("posteriors")
    work["fenchel again"] = lambda k: runner.ask(f"again {AGAIN}")["seconds"]
    _, theirs = peers.shafer_shenoy(net)
    error = distance(runner.ask("marginals")["marginals"], theirs)
    seconds = {label: [] for label in work}
    order = random.Random(0)
    for k in range(rounds):
        for label in order.sample(list(work), len(work)):
            done = seconds[label]
            if len(done) < 2 or statistics.median(done) < SLOW / 2:
                # What is over in no time is done several times a round; the quickest counts.
                repeats = 1 if done and done[0] > 0.05 else 5
                done.append(min(work[label](k) for _ in range(repeats)))
    return report.Row(name, network["cards"], first, peers.cells(net, network["cards"]), error, seconds)


def main():
    """Measures every network and writes the tables."""
    options = arguments()
    folder = (options.data or pathlib.Path()) / "bif"
    print(report.machine(), flush=True)
    rows = []
    for name in options.only or NETWORKS:
        path = folder / f"{name}.bif.gz"
        if not path.is_file():
            print(f"left out: {path} is not there")
            continue
        runner = Runner(options.runner, path)
        rows.append(measure(runner, name, options.rounds))
        runner.close()
        print(report.line(rows[-1]), flush=True)
    if not rows:
        return
    text = report.markdown(rows)
    print("\n" + text)
    (options.out / "results.md").write_text(text)
    report.write_csv(options.out / "results.csv", rows)


if __name__ == "__main__":
    main()
