"""Rounds of measurements as a Markdown table: medians, and how many times as good the first column is."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

Cell = dict[str, float]
# By what was measured, then by the column's title. In one round all of them took their turn.
Round = dict[str, dict[str, Cell]]

UNITS = {"rate": "a second", "p50": "p50, ms", "p99": "p99, ms"}


def markdown(rounds: list[Round], rows: dict[str, str]) -> str:
    """The table. `rows` names what was measured, in the order of the lines."""
    columns = list(dict.fromkeys(column for one in rounds for cells in one.values() for column in cells))
    lines = [f"| | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
    for task, words in rows.items():
        measured = [one[task] for one in rounds if task in one]
        for measure, unit in UNITS.items():
            if any(measure in cell for cells in measured for cell in cells.values()):
                lines.append(f"| {words}, {unit} | {' | '.join(_cells(measured, measure, columns))} |")
    return "\n".join(lines)


def _cells(measured: list[dict[str, Cell]], measure: str, columns: list[str]) -> Iterator[str]:
    """Each column's median and ratio; nothing where the queue has no such thing."""
    ours = columns[0]
    for column in columns:
        both = [
            (cells[ours][measure], cells[column][measure]) for cells in measured if measure in cells.get(column, {})
        ]
        if not both:
            yield "–"
            continue
        median = _number(statistics.median(other for _, other in both))
        # Of each round by itself: a machine that others use is faster in one than in the next.
        ratio = statistics.median(mine / other if measure == "rate" else other / mine for mine, other in both)
        yield median if column == ours else f"{median} ({_number(ratio)} ×)"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"
