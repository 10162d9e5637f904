"""Fenchel's identification beside y0, causaleffect, antecedent, dowhy and pgmpy; its adaptation beside numpy.

    cargo xtask peers causal [-- --quick]      (about 6 minutes; with --quick half of one)

Graphs: all with three and with four nodes up to names (with `--every N` each Nth of the 4,096 with four), for every pair of a
treatment and an outcome. Our side draws a model for each graph and sends its joint law and the true effects. A tool's formula is evaluated on
that law here, by numpy, and is wrong if it is off by more than 1e-9 anywhere. A "yes" is also wrong where there are two
models with one law and two effects, which our side has built. One thread; only the call that identifies is timed.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import datetime
import importlib.metadata
import json
import pathlib
import platform
import subprocess
import time

import numpy

import descent
import peers
from tables import Tables, error

WRONG = 1e-9


def arguments():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runner", required=True, type=pathlib.Path, help="the program peer-causal")
    parser.add_argument("--out", required=True, type=pathlib.Path, help="folder for results")
    parser.add_argument("--data", type=pathlib.Path, help="not used")
    parser.add_argument("--quick", action="store_true", help="each 61st graph with four nodes, 20 runs")
    parser.add_argument("--every", type=int, default=1, help="stride through the graphs with four nodes (1)")
    parser.add_argument("--only", action="append", choices=list(peers.ALL), help="a tool; may be repeated")
    options = parser.parse_args()
    if options.quick:
        options.every = 61
    return options


class Runner:
    """Our side."""

    def __init__(self, program):
        self.process = subprocess.Popen(
            [program, "serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, request):
        self.process.stdin.write(request + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


class Tally:
    """What one tool answered."""

    def __init__(self):
        self.queries = self.right = self.wrong_formula = self.wrong_yes = self.wrong_no = 0
        self.unread = self.silent = self.failed = 0
        self.seconds = 0.0
        self.example = ""

    def add(self, tool, graph, query, tables):
        """Asks, times, judges."""
        x, y, possible = query["x"], query["y"], query["error"] is not None
        self.queries += 1
        start = time.perf_counter()
        try:
            answer = tool.ask(x, y)
        except Exception as problem:  # Whatever a tool raises is its answer.
            self.failed += 1
            self.example = self.example or f"{show(graph)}: V{x} on V{y}: {type(problem).__name__}"
            return
        finally:
            self.seconds += time.perf_counter() - start
        says, found = tool.read(answer, x, y, tables)
        if says is None:
            self.silent += possible
            self.right += not possible
        elif not says:
            self.wrong_no += possible
            self.right += not possible
            if possible:
                self.example = self.example or f"{show(graph)}: V{x} on V{y}: no"
        elif not possible:
            self.wrong_yes += 1
            self.example = self.example or f"{show(graph)}: V{x} on V{y}: yes"
        elif not found:
            self.unread += 1
        elif max(error(table, query) for table in found) > WRONG:
            self.wrong_formula += 1
            self.example = self.example or f"{show(graph)}: V{x} on V{y}: formula"
        else:
            self.right += 1


def show(graph):
    """A graph as text."""
    edges = [f"V{a} -> V{b}" for a, b in graph["directed"]]
    return "; ".join(edges + [f"V{a} <-> V{b}" for a, b in graph["bidirected"]])


def identification(runner, options):
    """Every tool on every graph."""
    names = options.only or list(peers.ALL)
    tallies = {name: Tally() for name in names}
    ours = {"seconds": 0.0, "queries": 0, "no": 0, "error": 0.0}
    for nodes, every in ((3, 1), (4, options.every)):
        answer = runner.ask(f"graphs {nodes} {every}")
        ours["seconds"] += answer["seconds"]
        for graph in answer["graphs"]:
            tables = Tables(graph["joint"], nodes)
            for query in graph["queries"]:
                ours["queries"] += 1
                ours["no"] += query["error"] is None
                ours["error"] = max(ours["error"], query["error"] or 0.0)
            for name in names:
                tool = peers.ALL[name](graph, nodes)
                for query in graph["queries"]:
                    tallies[name].add(tool, graph, query, tables)
        print(f"{nodes} nodes: {len(answer['graphs'])} graphs done", flush=True)
    return ours, tallies


def adaptation(runner, quick):
    """Both directions from 100 references, in Rust and in numpy."""
    runs, samples, step = (20 if quick else 100), 400, 1.0
    answer = runner.ask(f"adapt 20 {runs} {samples} {step}")
    again = runner.ask(f"adapt 20 {runs} {samples} {step}")["seconds"]
    ours = min(answer["seconds"], again)
    cases = answer["runs"]
    targets = numpy.array([case["transfer"] for case in cases]).reshape(runs, 20, 20)
    draws = numpy.array([case["samples"] for case in cases])
    views = {"causal": (targets, draws), "anticausal": (targets.transpose(0, 2, 1), draws[:, :, ::-1])}
    worst, plain, together = 0.0, 0.0, 0.0
    for model, (name, (target, drawn)) in enumerate(views.items()):
        curves = numpy.array([case["curves"][model] for case in cases])
        lists = drawn.tolist()
        start = time.perf_counter()
        loop = [descent.one_run(case[name], lists[k], target[k], step) for k, case in enumerate(cases)]
        plain += time.perf_counter() - start
        start = time.perf_counter()
        all_at_once = descent.all_runs([case[name] for case in cases], drawn, target, step)
        together += time.perf_counter() - start
        worst = max(worst, numpy.abs(curves - loop).max(), numpy.abs(curves - all_at_once).max())
    whole = runner.ask(f"sweep 20 {runs}")["seconds"]
    return {"runs": runs, "ours": ours, "loop": plain, "at once": together, "worst": worst, "sweep": whole}


def report(ours, tallies, curves, every):
    """The page."""
    version = lambda name: importlib.metadata.version({"pgmpy": "pgmpy-no-torch"}.get(name, name))
    lines = [
        "# Identification and adaptation against peers",
        "",
        f"{datetime.date.today():%-d %B %Y}, {os.cpu_count()} cores, one used; Python {platform.python_version()}, numpy {numpy.__version__}; "
        + ", ".join(f"{name} {version(name)}" for name in tallies)
        + ".",
        "",
        f"All graphs with three nodes and {'all' if every == 1 else f'1 in {every} of the'} 4,096 with four, every pair of a treatment and an "
        f"outcome: {ours['queries']:,} queries, {ours['no']:,} of them without an answer. \"Wrong yes\": the effect is not identified, two models prove it. "
        "\"Wrong no\": it is. \"None found\": the tool searches adjustment and front-door sets only, or (causaleffect) takes no "
        "nodes without edges; it is counted right where there is no formula. \"Verdict only\": a right yes without a formula that could be evaluated.",
        "",
        "| tool | right | wrong formula | wrong yes | wrong no | none found | verdict only | exceptions | ms a query | x ours |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    us = ours["seconds"] / ours["queries"]
    lines.append(f"| Fenchel | {ours['queries']:,} | 0 | 0 | 0 | 0 | 0 | 0 | {1e3 * us:.4f} | 1 |")
    for name, t in tallies.items():
        each = t.seconds / t.queries
        cells = [t.right, t.wrong_formula, t.wrong_yes, t.wrong_no, t.silent, t.unread, t.failed]
        lines.append(f"| {name} | " + " | ".join(f"{c:,}" for c in cells) + f" | {1e3 * each:.3f} | {each / us:,.0f} |")
    lines += ["", f"The largest error of our formulas is {ours['error']:.1e}. First graph that each tool gets wrong:", ""]
    lines += [f"- {name}: `{t.example}`" for name, t in tallies.items() if t.example]
    lines += [
        "",
        "## Adaptation",
        "",
        f"K = 20, {curves['runs']} pairs, 400 samples, both directions, one step size, KL of the average after every ten samples; one thread. "
        f"Curves agree to {curves['worst']:.1e}.",
        "",
        "| | seconds | x ours |",
        "| --- | --- | --- |",
    ]
    for label, key in (("Fenchel", "ours"), ("numpy, one run after the other", "loop"), ("numpy, all runs at once", "at once")):
        lines.append(f"| {label} | {curves[key]:.3f} | {curves[key] / curves['ours']:.1f} |")
    lines += ["", f"The whole sweep of an experiment (three models, seven steps) on all cores: {curves['sweep']:.2f} s.", ""]
    return "\n".join(lines)


def main():
    """Measures and writes the page."""
    options = arguments()
    options.out.mkdir(parents=True, exist_ok=True)
    runner = Runner(options.runner)
    curves = adaptation(runner, options.quick)
    print(curves, flush=True)
    ours, tallies = identification(runner, options)
    text = report(ours, tallies, curves, options.every)
    print("\n" + text)
    (options.out / "results.md").write_text(text)


if __name__ == "__main__":
    main()
