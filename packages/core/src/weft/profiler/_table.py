"""The table that a profile prints."""

from __future__ import annotations

from typing import Any

__all__ = ["formatted_memory", "formatted_time", "table"]

UNITS = {"s": 1e6, "ms": 1e3, "us": 1.0}


def formatted_time(microseconds: float, unit: str | None = None) -> str:
    """A time with the unit that suits it, or the one that is asked for.

    >>> formatted_time(1459.4)
    '1.459ms'
    """
    if unit is None:
        unit = "s" if microseconds >= 1e6 else "ms" if microseconds >= 1e3 else "us"
    return f"{microseconds / UNITS[unit]:.3f}{unit}"


def formatted_memory(size: int) -> str:
    """A number of bytes with the unit that suits it.

    >>> formatted_memory(-1536)
    '-1.50 KB'
    """
    for unit, bytes_in_it in (("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)):
        if abs(size) >= bytes_in_it:
            return f"{size / bytes_in_it:.2f} {unit}"
    return f"{size} B"


def shortened(text: str, width: int, end: bool = False) -> str:
    """A text of at most so many characters: its beginning, or its end."""
    if width <= 0 or len(text) <= width:
        return text
    return f"...{text[3 - width :]}" if end else f"{text[: width - 3]}..."


def percent(part: float, whole: float) -> str:
    return f"{100 * part / whole:.2f}%" if whole else "NaN"


def table(
    rows: list[Any],
    shown: dict[str, bool],
    sort_by: str | None,
    row_limit: int,
    widths: dict[str, int],
    header: str | None,
    time_unit: str | None,
    total: float,
) -> str:
    """See `EventList.table`."""
    if sort_by is not None:
        key = sort_by.replace("cuda", "device")
        if rows and not hasattr(rows[0], key):
            raise AttributeError(f"table: there is no column {sort_by!r} to sort by")
        rows = sorted(rows, key=lambda row: getattr(row, key), reverse=True)
    if row_limit >= 0:
        rows = rows[:row_limit]
    columns = columns_of(rows, shown, widths, time_unit, total)
    width = {title: max([12, len(title), *map(len, texts)]) for title, texts in columns.items()}
    line = "  ".join("-" * each for each in width.values()) + "  "
    lines = [line, "  ".join(title.rjust(each) for title, each in width.items()) + "  ", line]
    for texts in zip(*columns.values()):
        lines.append("  ".join(text.rjust(each) for text, each in zip(texts, width.values())) + "  ")  # noqa: PERF401
    lines += [line, f"Self CPU time total: {formatted_time(total, time_unit)}", ""]
    if header is not None:
        lines[:0] = ["=" * len(line), header]
    return "\n".join(lines)


def columns_of(
    rows: list[Any], shown: dict[str, bool], widths: dict[str, int], unit: str | None, total: float
) -> dict[str, list[str]]:
    """The columns' titles and texts."""
    columns = {
        "Name": [shortened(row.key, widths["name"]) for row in rows],
        "Self CPU %": [percent(row.self_cpu_time_total, total) for row in rows],
        "Self CPU": [formatted_time(row.self_cpu_time_total, unit) for row in rows],
        "CPU total %": [percent(row.cpu_time_total, total) for row in rows],
        "CPU total": [formatted_time(row.cpu_time_total, unit) for row in rows],
        "CPU time avg": [formatted_time(row.cpu_time, unit) for row in rows],
    }
    if shown.get("memory"):
        columns["CPU Mem"] = [formatted_memory(row.cpu_memory_usage) for row in rows]
        columns["Self CPU Mem"] = [formatted_memory(row.self_cpu_memory_usage) for row in rows]
    columns["# of Calls"] = [str(row.count) for row in rows]
    if shown.get("input_shapes"):
        columns["Input Shapes"] = [shortened(str(row.input_shapes), widths["shapes"]) for row in rows]
    if shown.get("stack"):
        places = [row.stack[0] if row.stack else "" for row in rows]
        columns["Source Location"] = [shortened(place, widths["source"], end=True) for place in places]
    if shown.get("flops"):
        columns |= flops_column([row.flops for row in rows])
    if any(row.copies for row in rows):
        columns["Copies"] = [str(row.copies) if row.copies else "--" for row in rows]
    return columns


def flops_column(counts: list[int]) -> dict[str, list[str]]:
    """The column of floating-point operations, in the unit that suits the largest."""
    power = max(0, (len(str(max(counts, default=0))) - 1) // 3)
    power = min(power, 4)
    unit = ("FLOPs", "KFLOPs", "MFLOPs", "GFLOPs", "TFLOPs")[power]
    return {f"Total {unit}": [f"{count / 1000**power:.3f}" if count else "--" for count in counts]}
