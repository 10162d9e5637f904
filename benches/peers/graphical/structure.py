"""Structure learning beside pgmpy: the same records, judged by the same code."""

import json
import pathlib
import statistics

NETWORKS = ("asia", "alarm")
RECORDS = (1000, 10000)
METHODS = {"climb": "hill climbing, BIC", "pc": "PC, chi-squared"}
HEADER = [
    "network", "records", "method", "Fenchel, s", "pgmpy, s", "pgmpy / ours", "SHD", "pgmpy's SHD",
    "BIC below the truth's", "pgmpy's",
]


def cells(name, records, method, ours, theirs):
    """A row as text."""
    def below(found):
        return "-" if found.get("score") is None else f"{found['true score'] - found['score']:.1f}"

    seconds = statistics.median(one["seconds"] for one in ours)
    row = [name, str(records), METHODS[method], f"{seconds:.3g}"]
    if "failed" in theirs:
        return row + [theirs["failed"], "-", str(ours[0]["shd"]), "-", below(ours[0]), "-"]
    return row + [
        f"{theirs['seconds']:.3g}", f"{theirs['seconds'] / seconds:.0f}", str(ours[0]["shd"]), str(theirs["shd"]),
        below(ours[0]), below(theirs),
    ]


def measure(runner, name, ask, limit, rounds):
    """The rows of a network. `ask` sends records to a side of pgmpy."""
    cards = runner.ask("network")["cards"]
    rows = []
    for records in RECORDS:
        drawn = runner.ask(f"sample {records}")["records"]
        for method in METHODS:
            ours = [runner.ask(method) for _ in range(rounds)]
            theirs = ask(pathlib.Path(__file__).with_name("pgmpy_learn.py"), [drawn, cards], method, limit)
            if "failed" not in theirs:
                judged = runner.ask(f"judge {json.dumps(theirs['graph'])}")
                theirs = {**judged, "seconds": theirs["seconds"]}
            rows.append(cells(name, records, method, ours, theirs))
            print(" ".join(rows[-1]), flush=True)
    return rows
