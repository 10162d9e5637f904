"""Fenchel's junction tree against pyAgrum (aGrUM, C++) and pgmpy (Python, numpy), on one thread.

    cargo xtask peers graphical [-- --quick]      (about 4 minutes; with --quick one)

The work is "all posteriors": make the engine, triangulate, calibrate, read the marginal of every variable. Networks are
the `bif/*.bif.gz` of the folder of real data. All sides work on the numbers that our reader reads: the peers' networks are
built from them, outside of what is timed. Rounds of ours and of pyAgrum alternate in random order. pgmpy is there for scale:
each of its two methods is timed once for each small network, in a process that is ended after `--pgmpy-limit` seconds.

With `-- --structure` the work is to learn a graph from records that are drawn from asia and alarm: hill climbing and PC, ours and
pgmpy's, on the same records. Both graphs are judged by our code.
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
import sys

import peers
import report
import structure

TINY = "cancer asia child".split()
NETWORKS = TINY + "alarm insurance win95pts hailfinder andes pigs pathfinder water mildew barley".split()
SMALL = TINY + "alarm insurance win95pts hailfinder".split()
PGMPY_METHODS = ("elimination", "tree")
SLOW = 2.0


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
    parser.add_argument("--pgmpy-limit", type=float, default=20.0, help="seconds for each method and network of pgmpy (20)")
    parser.add_argument("--only", action="append", help="a network; may be repeated")
    parser.add_argument("--structure", action="store_true", help="structure learning instead, beside pgmpy")
    parser.add_argument("--learn-limit", type=float, default=300.0, help="seconds for each run of pgmpy's learning (300)")
    options = parser.parse_args()
    if options.quick:
        options.only = options.only or SMALL
        options.rounds, options.pgmpy_limit = 3, min(options.pgmpy_limit, 5.0)
    return options


def distance(ours, theirs):
    """The largest difference of two lists of marginals."""
    return max(abs(a - b) for p, q in zip(ours, theirs) for a, b in zip(p, q))


def pgmpy(side, question, method, limit):
    """What one of pgmpy's methods answers: seconds and results, or why it failed."""
    process = subprocess.Popen(
        [sys.executable, side, method], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    process.stdin.write(json.dumps(question) + "\n")
    process.stdin.flush()
    # The limit is for what is timed, not for importing.
    if not any(line == "ready\n" for line in iter(process.stdout.readline, "")):
        raise RuntimeError(f"pgmpy did not start: {method} ended with {process.wait()}")
    try:
        out, _ = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return {"failed": f"> {limit:.0f} s"}
    if process.returncode != 0:
        raise RuntimeError(f"pgmpy, {method}, ended with {process.returncode}")
    return json.loads(out.splitlines()[-1])


def measure_pgmpy(runner, row, limit):
    """Adds pgmpy's seconds to a row, or why there are none."""
    network = runner.ask("network")
    ours = runner.ask("marginals")["marginals"]
    side = pathlib.Path(__file__).with_name("pgmpy_side.py")
    for method in PGMPY_METHODS:
        done = pgmpy(side, network, method, limit)
        if "failed" in done:
            row.failures[f"pgmpy {method}"] = done["failed"]
        else:
            row.error = max(row.error, distance(ours, done["marginals"]))
            row.seconds[f"pgmpy {method}"] = [done["seconds"]]


def measure(runner, name, rounds):
    """Seconds of every side."""
    network = runner.ask("network")
    work = {"fenchel": lambda k: runner.ask("posteriors")["seconds"]}
    net = peers.agrum_network(network)
    engines = {"pyagrum lazy": peers.lazy, "pyagrum shafer-shenoy": peers.shafer_shenoy}
    for label, engine in engines.items():
        work[label] = lambda k, engine=engine: engine(net)[0]
    first = runner.ask("posteriors")
    work["fenchel again"] = lambda k: runner.ask(f"again {report.AGAIN}")["seconds"]
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


def learn(options, folder):
    """Structure learning: a table of its own."""
    rows = []
    for name in options.only or structure.NETWORKS:
        runner = Runner(options.runner, folder / f"{name}.bif.gz")
        rows += structure.measure(runner, name, pgmpy, options.learn_limit, options.rounds)
        runner.close()
    text = report.table(structure.HEADER, rows) + "\n"
    print("\n" + text)
    (options.out / "structure.md").write_text(text)


def main():
    """Measures every network and writes the tables."""
    options = arguments()
    folder = (options.data or pathlib.Path()) / "bif"
    print(report.machine(), flush=True)
    if options.structure:
        learn(options, folder)
        return
    rows = []
    for name in options.only or NETWORKS:
        path = folder / f"{name}.bif.gz"
        if not path.is_file():
            print(f"left out: {path} is not there")
            continue
        runner = Runner(options.runner, path)
        rows.append(measure(runner, name, options.rounds))
        if name in SMALL:
            measure_pgmpy(runner, rows[-1], options.pgmpy_limit)
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
