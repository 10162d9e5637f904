"""Fenchel's finite sums against scikit-learn, liblinear, Cyanure, lightning and skglm, on one thread.

    cargo xtask peers finite-sum [-- --quick]      (15 to 25 minutes; with --quick one or two)
    cargo xtask peers finite-sum -- --ground test  (generated problems that nothing was set by)

For every problem the optimum is found first, certified. Then for every solver the smallest budget of
iterations whose result is good enough is looked for, the objective always being computed here, from
the coefficients returned. Last, the solvers are timed at these budgets in turn, several rounds.
"""

import os

# Before numpy is imported, which reads them once.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "RAYON_NUM_THREADS"):
    os.environ[name] = "1"

import argparse
import pathlib
import subprocess
import sys
import warnings


def arguments():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runner", required=True, type=pathlib.Path, help="the program peer-finite-sum")
    parser.add_argument("--out", required=True, type=pathlib.Path, help="folder for data and results")
    parser.add_argument("--data", type=pathlib.Path, help="folder of real data")
    parser.add_argument("--quick", action="store_true", help="generated data only, small, 2 rounds")
    parser.add_argument("--ground", choices=["validation", "test", "fresh", "second", "third"], help="generated problems that nothing was set by")
    parser.add_argument("--rounds", type=int, default=5, help="timings of each cell (5)")
    parser.add_argument("--cap", type=float, default=5.0, help="seconds after which a solver gives up (5)")
    parser.add_argument("--only", action="append", help="a data set; may be repeated")
    parser.add_argument("--no-optional", action="store_true", help="do not install the optional peers")
    options = parser.parse_args()
    if options.quick:
        options.rounds, options.cap = 2, 1.0
    return options


def install_optional():
    """Installs each optional peer that can be; one that cannot be is left out with a message."""
    listed = pathlib.Path(__file__).with_name("requirements-optional.txt").read_text().splitlines()
    for line in listed:
        if not line or line.startswith("#"):
            continue
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        done = subprocess.run(
            command + ["--no-build-isolation", line], capture_output=True, text=True
        )
        if done.returncode != 0:
            reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
            print(f"left out: {line} does not install here ({reason})")


def silence_others():
    """Keeps standard output and error to this script: some peers write warnings there from C++."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    sys.stdout, sys.stderr = os.fdopen(os.dup(1), "w"), os.fdopen(os.dup(2), "w")
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    os.close(nowhere)


def main():
    """Exports the data, runs every comparison, writes the tables."""
    options = arguments()
    silence_others()
    warnings.simplefilter("ignore")  # "did not converge" is what a budget means
    if not options.no_optional:
        install_optional()

    import compare
    import peers
    import problems
    import report

    folder = options.out / "data"
    export = [options.runner, "export", "--out", folder]
    if options.data:
        export += ["--data", options.data]
    if options.quick:
        export += ["--size", "quick"]
    if options.ground:
        export += ["--ground", options.ground]
    printed = subprocess.run(
        export, check=True, stdout=subprocess.PIPE, stderr=sys.stderr, text=True
    ).stdout
    names = printed.split()
    names = [name for name in names if not options.only or name in options.only]

    found = peers.every()
    for peer in found:
        if peer.name == "skglm":
            peers.warm_up(peer, problems.Store)
    machine = report.machine()
    print(machine, flush=True)
    tables = []
    for name in names:
        for table in compare.data_set(options.runner, folder / name, found, options):
            print("\n" + report.text(table), flush=True)
            tables.append(table)
    print("\n" + report.summary(tables))
    report.write_csv(options.out / "results.csv", tables)
    (options.out / "results.md").write_text(report.markdown(machine, tables))


if __name__ == "__main__":
    main()
