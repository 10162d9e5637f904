"""Fenchel's CRF against CRFsuite's L-BFGS on the same attribute files, features and penalty (c2 = 0.5).

    cargo xtask peers crf [-- --quick]      (about 10 minutes on an idle machine; with --quick one)

The optimum comes from SDCA in double precision, certified to 1e-7. Then the sides are trained in turn, and every side is asked
how long it took to come within 1e-2, 1e-3 and 1e-4 of it. Times are processor seconds on one thread: other programs on
the machine do not count. Two threads are measured by the clock.
"""

import argparse
import csv
import json
import os
import pathlib
import platform
import subprocess
import sys

LEVELS = (1e-2, 1e-3, 1e-4)


def arguments():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runner", required=True, type=pathlib.Path, help="the program peer-crf")
    parser.add_argument("--out", required=True, type=pathlib.Path, help="folder for data and results")
    parser.add_argument("--data", type=pathlib.Path, help="folder of real data")
    parser.add_argument("--quick", action="store_true", help="1000 sentences of each set")
    parser.add_argument("--rounds", type=int, default=1, help="times that each side is trained (1)")
    parser.add_argument("--only", action="append", help="a data set; may be repeated")
    options = parser.parse_args()
    if not options.data:
        parser.error("the comparison needs the real data sets: --data DIR or FENCHEL_DATA")
    return options


def lines(command, threads=1):
    """The JSON that a program prints, line by line; what is no JSON is skipped."""
    environment = dict(os.environ, RAYON_NUM_THREADS=str(threads))
    done = subprocess.run(
        [str(part) for part in command], check=True, stdout=subprocess.PIPE, text=True, env=environment
    )
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def ours(options, files, threads, *flags):
    """A training of ours: sizes, curve, tagging. Objectives are means; the curve has sums."""
    size, *rest = lines([options.runner, files[0], "--json", "--test", files[1], *flags], threads)
    curve = [row for row in rest if "objective" in row]
    end = {key: value for row in rest if "objective" not in row for key, value in row.items()}
    # `seconds` leaves the certificates of the curve out, processor time does not: on one thread the share of the clock that
    # the process had turns one into the other.
    share = min(1.0, end["cpu"] / end["wall"]) if threads == 1 and end["cpu"] else 1.0
    for row in curve:
        row["loss"], row["gap"] = (size["sequences"] * row[key] for key in ("objective", "gap"))
        row["seconds"] *= share
    return size, curve, end


def theirs(options, files, iterations, folder):
    """A training of CRFsuite."""
    script = pathlib.Path(__file__).with_name("crfsuite.py")
    found = lines([sys.executable, script, *files, iterations, folder])
    end = found.pop()
    end["f1"] = lines([options.runner, "score", folder / "tagged.txt"])[0]["f1"]
    return found, end


def reached(curve, optimum, level):
    """Seconds and passes until the objective is within a fraction of the optimum; None if never."""
    for row in curve:
        if row["loss"] - optimum <= level * optimum:
            return row["seconds"], row["passes"]
    return None


def compare(options, name, folder):
    """All sides on one data set: rows of a table."""
    files = [folder / f"{name}.{part}.crfsuite" for part in ("train", "test")]
    size, curve, _ = ours(
        options, files, 2, "--store", "f64", "--newton", "--relative", "1e-7", "--passes", "300", "--every", "5"
    )
    optimum, gap = curve[-1]["loss"], curve[-1]["gap"]
    print(f"{name}: {size}, optimum {optimum:.4f} up to {gap:.1e}", flush=True)
    # On the entities CRFsuite's L-BFGS is at 1e-2 after 177 passes only.
    iterations = 60 if options.quick else 200 if name == "conll2000" else 500
    sides = {
        "CRFsuite lbfgs": lambda: theirs(options, files, iterations, folder),
        "ours sdca": lambda: ours(options, files, 1, "--passes", "30")[1:],
        "ours sdca, batches of 8": lambda: ours(options, files, 1, "--passes", "30", "--batch", "8")[1:],
        "ours sdca, 2 threads": lambda: ours(options, files, 2, "--passes", "30")[1:],
        "ours sdca, batches of 8, 2 threads": lambda: ours(options, files, 2, "--passes", "30", "--batch", "8")[1:],
        "ours lbfgs": lambda: ours(options, files, 1, "--method", "lbfgs", "--passes", str(iterations))[1:],
        "ours lbfgs, 2 threads": lambda: ours(
            options, files, 2, "--method", "lbfgs", "--passes", str(iterations))[1:],
    }
    rows = {}
    for _ in range(options.rounds):
        for side, run in sides.items():
            curve, end = run()
            row = {"data": name, "side": side, "tokens": size["tokens"], "weights": size["weights"]}
            for level in LEVELS:
                found = reached(curve, optimum, level)
                row[f"s to {level:g}"] = found and found[0]
                row[f"passes to {level:g}"] = found and found[1]
            last = curve[-1]
            row["pass tokens/s"] = last["passes"] * size["tokens"] / last["seconds"]
            tagging = end["tag_seconds"] if "2 threads" in side else end.get("tag_cpu") or end["tag_seconds"]
            row["tag tokens/s"] = end["tag_tokens"] / tagging
            numbers = end.get("tag_numbers_seconds" if "2 threads" in side else "tag_numbers_cpu")
            row["tag tokens/s from numbers"] = end["tag_tokens"] / numbers if numbers else None
            row["load s"], row["peak MiB"] = end["load_seconds"], (end.get("peak") or 0) / 2**20
            row["F1"] = 100 * end["f1"]
            print(f"  {row}", flush=True)
            best = rows.get(side)
            if best is None or (row["s to 0.0001"] or 1e9) < (best["s to 0.0001"] or 1e9):
                rows[side] = row
    return list(rows.values())


def machine():
    """One line: processor, system, versions."""
    model = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as text:
            model = next(line.split(":")[1].strip() for line in text if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return f"{model}, {os.cpu_count()} cores; Python {platform.python_version()}; python-crfsuite 0.9.12"


def markdown(rows):
    """One table a data set."""
    def show(value):
        if value is None:
            return "-"
        return value if isinstance(value, str) else f"{value:.4g}" if value < 1e5 else f"{value / 1e3:.0f}k"

    keys = [key for key in rows[0] if key not in ("data", "tokens", "weights")]
    text = ""
    for name in dict.fromkeys(row["data"] for row in rows):
        part = [row for row in rows if row["data"] == name]
        text += f"\n{name}: {part[0]['tokens']} tokens, {part[0]['weights']} weights\n\n"
        text += "| " + " | ".join(keys) + " |\n" + "|---" * len(keys) + "|\n"
        text += "".join("| " + " | ".join(show(row[key]) for key in keys) + " |\n" for row in part)
    return text


def main():
    """Exports the data, runs every side, writes the tables."""
    options = arguments()
    folder = options.out / "data"
    export = [options.runner, "export", "--data", options.data, "--out", folder] + ["--quick"] * options.quick
    printed = subprocess.run(export, check=True, stdout=subprocess.PIPE, text=True).stdout
    names = [name for name in printed.split() if not options.only or name in options.only]
    if not names:
        raise SystemExit("none of the data sets is there")
    print(machine(), flush=True)
    rows = [row for name in names for row in compare(options, name, folder)]
    text = machine() + "\n" + markdown(rows)
    print("\n" + text)
    (options.out / "results.md").write_text(text)
    with open(options.out / "results.csv", "w", newline="", encoding="utf-8") as to:
        table = csv.DictWriter(to, rows[0])
        table.writeheader()
        table.writerows(rows)


if __name__ == "__main__":
    main()
