"""Tables as text, Markdown and CSV."""

import csv
import importlib.metadata
import os
import platform
import statistics

import ours
import search

HEADER = ["solver", "reached 1e-6", "proved 1e-6", "x auto"]
SECONDS = (
    "Seconds: median (min-max) of the rounds; `x auto` compares medians, ours proved and theirs reached."
)


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
    for name in ("numpy", "scipy", "scikit-learn", "cyanure", "sklearn-contrib-lightning", "skglm"):
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
        return f"> {cap:.2g}"
    return "stalls" if cell.budget == search.STALLS else "-"


def cells(table):
    """The rows of a table as text."""
    usual = default(table)
    for row in table.rows:
        name = ("Fenchel " if row.own else "") + row.solver
        times = [seconds(cell, table.cap) for cell in (row.reached, row.proved)]
        yield [name, *times, ratio(row.counted.median, usual)]


def default(table):
    """Median seconds of our default, proof included."""
    row = next(row for row in table.rows if row.solver == ours.DEFAULT)
    return row.proved.median


def text(table):
    """Aligned columns, in seconds."""
    lines = [HEADER, *cells(table)]
    widths = [max(len(line[k]) for line in lines) for k in range(len(HEADER))]
    aligned = ["  ".join(part.ljust(width) for part, width in zip(line, widths)) for line in lines]
    return "\n".join([table.problem.title, table.optimum, *(line.rstrip() for line in aligned)])


def markdown(machine_line, tables):
    """All tables."""
    parts = ["# Finite sums against peers", machine_line, SECONDS]
    for table in tables:
        rows = [HEADER, ["---"] * len(HEADER), *cells(table)]
        lines = ["| " + " | ".join(row) + " |" for row in rows]
        parts += [f"## {table.problem.title}", table.optimum, "\n".join(lines)]
    summary_rows = summary_cells(tables)
    summary_rows.insert(1, ["---"] * len(summary_rows[0]))
    parts.append("## Summary\n\n" + "\n".join("| " + " | ".join(row) + " |" for row in summary_rows))
    parts.append(median_line(tables))
    return "\n\n".join(parts) + "\n"


def summary(tables):
    """Our default and our best against the best peer, a line a problem: medians."""
    lines = summary_cells(tables)
    widths = [max(len(line[k]) for line in lines) for k in range(len(lines[0]))]
    text_lines = [
        "  ".join(part.ljust(width) for part, width in zip(line, widths)).rstrip() for line in lines
    ]
    return "\n".join([*text_lines, median_line(tables)])


def summary_cells(tables):
    """The summary as rows of text."""
    lines = [["problem", "auto", "our best", "", "best peer", "", "peer / auto", "peer / best"]]
    for table in tables:
        best, name = quickest(table, True)
        peer, peer_name = quickest(table, False)
        usual = default(table)
        lines.append(
            [f"{table.problem.data}, {table.problem.label}"]
            + [number(usual, table.cap), number(best, table.cap), name]
            + [number(peer, table.cap), peer_name, ratio(peer, usual, table.cap), ratio(peer, best, table.cap)]
        )
    return lines


def median_line(tables):
    """The ratio of the median cell, and the cells that we lose."""
    ratios = []
    for table in tables:
        usual, (peer, _) = default(table), quickest(table, False)
        ratios.append((peer or table.cap) / usual if usual else 0.0)
    lost = sum(r < 1.0 for r in ratios)
    return (
        f"best peer / auto over {len(ratios)} cells: median {statistics.median(ratios):.2f}, "
        f"least {min(ratios):.2f}, {lost} below 1"
    )


def quickest(table, own):
    """Median seconds and name of the quickest solver of one side."""
    rows = [row for row in table.rows if row.own == own and row.counted.seconds]
    best = min(rows, key=lambda row: row.counted.median, default=None)
    return (best.counted.median, best.solver) if best else (None, "")


def number(seconds_or_none, cap):
    """Four decimals, or beyond the cap."""
    return f"> {cap:.2g}" if seconds_or_none is None else f"{seconds_or_none:.4f}"


def ratio(peer, own, cap=None):
    """Above 1 where ours is faster."""
    if not own:
        return "-"
    if not peer:
        return f"> {cap / own:.1f}" if cap else "-"
    return f"{peer / own:.2f}"


def write_csv(path, tables):
    """A line a cell."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow("data problem solver kind budget median min max rounds".split())
        for table in tables:
            for row in table.rows:
                for kind, cell in (("reached", row.reached), ("proved", row.proved)):
                    times = cell.seconds
                    numbers = [cell.median, min(times), max(times)] if times else ["", "", ""]
                    name = ("fenchel " if row.own else "") + row.solver
                    problem = [table.problem.data, table.problem.label, name, kind]
                    out.writerow([*problem, cell.budget, *numbers, len(times)])
