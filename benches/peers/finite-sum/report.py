"""Tables as text, Markdown and CSV."""

import csv
import importlib.metadata
import os
import platform

import ours
import search

HEADER = ["solver", "to 1e-4", "to 1e-8", "x default", "x default", "proved 1e-4", "proved 1e-8"]
SECONDS = "Seconds: median (min-max) of the rounds; ratios are of the quickest rounds."


def machine():
    """One line: processor, system, versions."""
    model = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            model = next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    parts = [f"{model}, {os.cpu_count()} cores, one used", f"{platform.system()} {platform.machine()}"]
    parts.append(f"Python {platform.python_version()}")
    for name in ("numpy", "scipy", "scikit-learn", "cyanure", "sklearn-contrib-lightning"):
        try:
            parts.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            parts.append(f"no {name}")
    return "; ".join(parts)


def seconds(cell, cap):
    """`median (min-max)`, or why there is none."""
    if cell.seconds:
        low, high = min(cell.seconds), max(cell.seconds)
        return f"{cell.median:.3f} ({low:.3f}-{high:.3f})"
    if cell.budget == search.OVER:
        return f"> {cap:g}"
    return "stalls" if cell.budget == search.STALLS else "-"


def cells(table):
    """The rows of a table as text."""
    default = next(row for row in table.rows if row.solver == ours.DEFAULT)
    for row in table.rows:
        name = ("Fenchel " if row.own else "") + row.solver
        ratios = []
        for cell, base in zip(row.reached, default.reached):
            known = cell.seconds and base.seconds
            ratios.append(f"{cell.quickest / base.quickest:.2f}" if known else "-")
        times = [seconds(cell, table.cap) for cell in row.reached]
        yield [name, *times, *ratios, *(seconds(cell, table.cap) for cell in row.proved)]


def text(table):
    """Aligned columns, in seconds."""
    lines = [HEADER, *cells(table)]
    widths = [max(len(line[k]) for line in lines) for k in range(len(HEADER))]
    aligned = ["  ".join(part.ljust(width) for part, width in zip(line, widths)) for line in lines]
    return "\n".join([table.problem.title, table.optimum, *(line.rstrip() for line in aligned)])


def markdown(machine_line, tables, epochs):
    """All tables."""
    parts = ["# Finite sums against peers", machine_line, SECONDS]
    for table in tables:
        rows = [HEADER, ["---"] * len(HEADER), *cells(table)]
        lines = ["| " + " | ".join(row) + " |" for row in rows]
        parts += [f"## {table.problem.title}", table.optimum, "\n".join(lines)]
    if epochs:
        parts.append(epochs)
    parts.append("## Summary\n\n```text\n" + summary(tables) + "\n```")
    return "\n\n".join(parts) + "\n"


def summary(tables):
    """Our default and our best against the best peer, a line a problem and target: quickest rounds."""
    lines = ["problem|target|default|our best||best peer||peer/default|peer/best".split("|")]
    for table in tables:
        default = next(row for row in table.rows if row.solver == ours.DEFAULT)
        for k, target in enumerate(("1e-4", "1e-8")):
            best, name = quickest(table, k, True)
            peer, peer_name = quickest(table, k, False)
            usual = default.reached[k].quickest
            lines.append(
                [f"{table.problem.data}, {table.problem.label}", target]
                + [number(usual, table.cap), number(best, table.cap), name]
                + [number(peer, table.cap), peer_name, ratio(peer, usual), ratio(peer, best)]
            )
    widths = [max(len(line[k]) for line in lines) for k in range(len(lines[0]))]
    return "\n".join(
        "  ".join(part.ljust(width) for part, width in zip(line, widths)).rstrip() for line in lines
    )


def quickest(table, k, own):
    """Seconds and name of the quickest solver of one side."""
    rows = [row for row in table.rows if row.own == own and row.reached[k].seconds]
    best = min(rows, key=lambda row: row.reached[k].quickest, default=None)
    return (best.reached[k].quickest, best.solver) if best else (None, "")


def number(seconds_or_none, cap):
    """Three decimals, or beyond the cap."""
    return f"> {cap:g}" if seconds_or_none is None else f"{seconds_or_none:.3f}"


def ratio(peer, own):
    """Above 1 where ours is faster."""
    return f"{peer / own:.2f}" if peer and own else "-"


def write_csv(path, tables):
    """A line a cell."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow("data problem solver kind target budget median min max rounds".split())
        for table in tables:
            for row in table.rows:
                for kind, list_of_cells in (("reached", row.reached), ("proved", row.proved)):
                    for target, cell in zip(("1e-4", "1e-8"), list_of_cells):
                        times = cell.seconds
                        numbers = [cell.median, min(times), max(times)] if times else ["", "", ""]
                        name = ("fenchel " if row.own else "") + row.solver
                        problem = [table.problem.data, table.problem.label, name, kind, target]
                        out.writerow([*problem, cell.budget, *numbers, len(times)])
