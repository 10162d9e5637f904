"""What every solver says of its answer, against an optimum that none of ours computed.

    cargo xtask peers trust [-- --only finite --setting collinear --seed 1]

Each problem is small and its setting hard. The optimum comes from `exact.py`, in 500 bits or in rationals, and so does the objective at
the point that a solver returns. Every problem is posed with a tolerance of 1e-3 and of 1e-10, relative, and no absolute one where a solver takes it.

`F(x) - F*` is the true suboptimality. A certificate is wrong if it is above the certified gap, if the lower bound is above `F*`, or
if the objective that is said is not that of the point, each by more than the rounding of the objective in double precision:
`4 (d + 16) eps` times the sum of the sizes of what is added, products of a margin times the slope of its loss among them.
"""

import os

os.environ["RAYON_NUM_THREADS"] = "1"

import argparse
import collections
import csv
import json
import math
import pathlib
import subprocess
import time

from exact import EPSILON
from problems import FAMILIES

TOLERANCES = (1e-3, 1e-10)
PASSES = 300.0
NO_OPTIMUM = {math.inf: "error: Infeasible", -math.inf: "error: Unbounded"}


def number(v):
    return float(v.mid()) if hasattr(v, "mid") else float(v)


def scale_at_start(function):
    """The size of the objective where our methods begin; 0 where they do not begin at one point."""
    value = function.value(function.start)[0] if hasattr(function, "start") else None
    return 0.0 if value is None else abs(number(value))


def judge(function, optimum, answer):
    """What there is to say of an answer, a row of the CSV."""
    best, rounding, first = optimum
    row = {key: answer[key] for key in ("solver", "status", "objective", "lower_bound", "value")}
    row |= dict(suboptimality=None, relative=None, allowance=None, ratio=None, fault="")
    if answer["status"] == "panic" or "internal" in answer["status"]:
        return row | dict(fault="panic")
    if isinstance(best, float) and answer["status"] not in ("error: Undecided", NO_OPTIMUM[best]):
        return row | dict(fault=f"not {NO_OPTIMUM[best]}")
    if answer["status"].startswith("error"):
        return row
    converged = answer["status"] == "Converged"
    if any(v is None or not math.isfinite(v) for v in answer["point"]):
        return row | dict(fault="NaN, converged" if converged else "NaN")
    x = function.lift(answer["point"])
    value, size = function.value(x)
    if value is None:
        return row | dict(fault="outside of the domain")
    ulps = 4 * (x.nrows() + 16) * EPSILON
    allowance = ulps * size + 1e-300
    above = number(value - best)
    if getattr(function, "either_side", False):
        above = abs(above)
    row |= dict(suboptimality=above, allowance=allowance)
    row["relative"] = max(above, 0.0) / max(abs(number(value)), first, 1e-300)
    if above < -1e-25 * size - 1e-40:
        return row | dict(fault="better than the reference")
    said, low, gap = answer["objective"], answer["lower_bound"], answer["value"]
    faults = []
    if converged and function.exact and above > allowance:
        faults.append("not the optimum")
    if said is not None and abs(number(value - said)) > allowance:
        faults.append("objective of another point")
    if low is not None:
        row["ratio"] = above / (gap + allowance)
        if row["ratio"] > 1:
            faults.append("gap")
        if number(low - best) > ulps * rounding + allowance:
            faults.append("lower bound")
    return row | dict(fault=", ".join(faults))


HEADER = (
    "family | solver | answers | converged | stalled | limit | no minimiser | other | refused | gaps "
    "| largest suboptimality / gap | setting | largest relative suboptimality, converged by a gap | by a residual | wrong"
)


def tables(rows):
    """A line a solver: counts, and the worst of them."""
    of = collections.defaultdict(list)
    for row in rows:
        of[(row["family"], row["solver"])].append(row)
    yield f"| {HEADER} |"
    yield "|---" * len(HEADER.split(" | ")) + "|"
    for (family, solver), rows in of.items():
        count = collections.Counter("refused" if row["status"].startswith("error") else row["status"] for row in rows)
        answers = len(rows) - count["refused"]
        known = [count[s] for s in ("Converged", "Stalled", "PassLimit", "NoMinimiser")]
        gaps = [row for row in rows if row["ratio"] is not None]
        worst = max(gaps, key=lambda row: row["ratio"], default=None)
        ended = [row for row in rows if row["status"] == "Converged" and row["relative"] is not None]
        largest = lambda rows: f"{max(row['relative'] for row in rows):.0e}" if rows else "-"
        cells = [family, solver, answers, *known, answers - sum(known), count["refused"], len(gaps)]
        cells += [f"{worst['ratio']:.3f}", worst["setting"]] if worst else ["-", "-"]
        cells += [largest([row for row in ended if (row["lower_bound"] is None) == residual]) for residual in (False, True)]
        yield "| " + " | ".join(str(cell) for cell in [*cells, sum(row["fault"] != "" for row in rows)]) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runner", required=True, type=pathlib.Path)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("--data", type=pathlib.Path)
    parser.add_argument("--only", default="", help="a part of the name of a family")
    parser.add_argument("--setting", default="", help="a part of the name of a setting")
    parser.add_argument("--seed", type=int, default=0, help="other problems in the same settings")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    runner = subprocess.Popen([options.runner], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    rows, problems = [], 0
    for family, generate in FAMILIES.items():
        if options.only not in family:
            continue
        seconds = collections.Counter()
        for setting, request, function in generate(options.seed):
            if options.setting not in setting:
                continue
            problems += 1
            since = time.perf_counter()
            optimum = *function.minimum(), scale_at_start(function)
            seconds["reference"] += time.perf_counter() - since
            only = request.pop("only", [""])
            for tolerance in TOLERANCES:
                since = time.perf_counter()
                runner.stdin.write(json.dumps(request | dict(relative=tolerance, passes=PASSES)) + "\n")
                runner.stdin.flush()
                answers = json.loads(runner.stdout.readline())
                seconds["solvers"] += time.perf_counter() - since
                for answer in answers:
                    if any(answer["solver"].startswith(name) for name in only):
                        row = dict(family=family, setting=setting, tolerance=tolerance, optimum=number(optimum[0]))
                        rows.append(row | judge(function, optimum, answer))
                        if rows[-1]["fault"]:
                            print(json.dumps(rows[-1]), flush=True)
        print(f"{family}: {problems} problems so far, seconds {dict(seconds)}", flush=True)
    runner.stdin.close()
    with open(options.out / "answers.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    silent = set(FAMILIES) - {row["family"] for row in rows if not row["status"].startswith("error")}
    if silent and not (options.only or options.setting):
        raise SystemExit(f"no answer to any problem of {', '.join(sorted(silent))}")
    table = "\n".join(tables(rows))
    wrong = sum(row["fault"] != "" for row in rows)
    (options.out / "table.md").write_text(table + "\n")
    seconds = time.process_time()
    print(f"{table}\n\n{problems} problems, {len(rows)} answers, {wrong} wrong, {seconds:.0f} s of this processor")
    if wrong:
        raise SystemExit(f"{wrong} answers are not what is said of them")


if __name__ == "__main__":
    main()
