"""Tables as text, Markdown and CSV."""

import csv
import dataclasses
import importlib.metadata
import os
import platform
import statistics

# How many variables are observed, one after the other, for the time of one more calibration.
AGAIN = 20

HEADER = [
    "network", "variables", "cells", "peer's cells", "Fenchel, ms", "lazy, ms", "Shafer-Shenoy, ms",
    "peer / ours", "again, ms", "build / again", "difference",
]
PGMPY_HEADER = ["network", "Fenchel, ms", "pgmpy elimination, ms", "pgmpy junction tree, ms", "pgmpy's best / ours"]


@dataclasses.dataclass
class Row:
    """A network: seconds by side."""

    name: str
    cards: list
    ours: dict
    peer_cells: int
    error: float
    seconds: dict
    failures: dict = dataclasses.field(default_factory=dict)

    def least(self, side):
        """Its quickest round in milliseconds."""
        return 1e3 * min(self.seconds[side]) if side in self.seconds else None

    def ratio(self):
        """pyAgrum's better engine over ours, quickest rounds."""
        return min(self.least("pyagrum lazy"), self.least("pyagrum shafer-shenoy")) / self.least("fenchel")


def machine():
    """One line: processor, system, versions."""
    model = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            model = next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    parts = [f"{model}, {os.cpu_count()} cores, one used", f"Python {platform.python_version()}"]
    parts += [f"{name} {importlib.metadata.version(name)}" for name in ("pyagrum", "pgmpy-no-torch")]
    return "; ".join(parts)


def cells(row):
    """A row as text: quickest rounds."""
    def number(value):
        return "-" if value is None else f"{value:.3g}"

    again = row.least("fenchel again")
    sides = ("fenchel", "pyagrum lazy", "pyagrum shafer-shenoy")
    return [
        row.name, str(len(row.cards)), number(row.ours["cells"]), number(row.peer_cells),
        *(number(row.least(side)) for side in sides),
        f"{row.ratio():.1f}", number(again), f"{row.least('fenchel') / again:.1f}", f"{row.error:.0e}",
    ]


def pgmpy_cells(row):
    """A row of the table beside pgmpy."""
    ours = row.least("fenchel")
    sides = ("pgmpy elimination", "pgmpy tree")
    shown = [row.failures.get(side) or f"{row.least(side):.3g}" for side in sides]
    done = [row.least(side) for side in sides if side in row.seconds]
    ratio = f"{min(done) / ours:.0f}" if done else "-"
    return [row.name, f"{ours:.3g}", *shown, ratio]


def line(row):
    """One line while it runs."""
    medians = ", ".join(f"{side} {1e3 * statistics.median(s):.3g}" for side, s in row.seconds.items())
    return f"{row.name}: medians in ms: {medians}; ratio of the quickest {row.ratio():.1f}"


def table(header, rows):
    """A table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(parts) + " |" for parts in lines)


def markdown(rows):
    """The tables."""
    ratios = [row.ratio() for row in rows]
    median = f"Median ratio {statistics.median(ratios):.1f}, least {min(ratios):.1f}."
    again = (
        f"\"Again\": evidence on a compiled tree changed, every marginal read; the mean over at most {AGAIN} variables in turn."
    )
    parts = ["# All posteriors against peers", machine(), table(HEADER, map(cells, rows)), median, again]
    beside = [row for row in rows if row.failures or "pgmpy tree" in row.seconds]
    if beside:
        parts += ["## Beside pgmpy", table(PGMPY_HEADER, map(pgmpy_cells, beside))]
    return "\n\n".join(parts) + "\n"


def write_csv(path, rows):
    """A line a network and side."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow("network side median min max rounds".split())
        for row in rows:
            for side, s in row.seconds.items():
                out.writerow([row.name, side, statistics.median(s), min(s), max(s), len(s)])
