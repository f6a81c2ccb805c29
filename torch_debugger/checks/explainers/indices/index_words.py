"""The words about values out of range: how many, which, where they stand, and what is allowed."""

from __future__ import annotations

from torch_debugger.checks.explainers.blame import shape_text
from torch_debugger.records.evidence import IndexEvidence

_SURE = 5  # labels each class would have in the batch, if they were spread evenly


def wrong_text(found: IndexEvidence, name: str = "") -> str:
    """3 of the 24 indices in `x` are out of range: 10 at row 2, column 3; 12 at row 3, column 1; and 1 more"""
    held = name or found.indices.name
    named = f" in `{held}`" if held else ""
    if found.count == found.total:
        counted = f"all {found.total} {_plural(found)}" if found.total > 1 else f"the {_noun(found)}"
    else:
        counted = f"{found.count} of the {found.total} {_plural(found)}"
    verb = "is" if found.count == 1 else "are"
    return f"{counted}{named} {verb} out of range: {offenders_text(found)}"


def offenders_text(found: IndexEvidence) -> str:
    told = [
        f"{value}{_position(place)}" for value, place in zip(found.values[:3], found.positions, strict=False)
    ]
    more = found.count - len(told)
    return "; ".join([*told, *([f"and {more} more"] if more > 0 else [])])


def allowed_text(found: IndexEvidence) -> str:
    """0 to 9"""
    return f"0 to {found.size - 1}" if found.size > 1 else "0"


def index_evidence(found: IndexEvidence, name: str = "") -> dict[str, float | str]:
    spread = f"{found.lowest} to {found.highest}" if found.lowest != found.highest else f"{found.lowest}"
    return {
        name or found.indices.name or _plural(found): f"{spread} {shape_text(found.indices.shape)}",
        "allowed": allowed_text(found),
        "out of range": f"{found.count} of {found.total}: {offenders_text(found)}",
    }


def counts_from_one(found: IndexEvidence) -> bool:
    """1 to size, and enough of them that a missing 0 is no chance."""
    return (found.lowest, found.highest) == (1, found.size) and found.total >= _SURE * (found.size + 1)


def may_count_from_one(found: IndexEvidence) -> bool:
    return found.lowest >= 1 and found.highest == found.size and not counts_from_one(found)


def is_marked(found: IndexEvidence) -> bool:
    """Whether one value, which is no number of anything, marks what does not count: -1, 255."""
    mark = found.values[0]
    negative = mark == found.lowest < 0 and found.highest < found.size
    beyond = mark == found.highest >= 2 * found.size and found.lowest >= 0 and mark in (255, 65535)
    return (negative or beyond) and set(found.values) == {mark}


def is_another_numbering(found: IndexEvidence) -> bool:
    """Few different values that reach far beyond the size: numbers of something else, not yet mapped."""
    return found.highest >= 10 * found.size or (
        found.highest >= 2 * found.size and found.distinct <= found.size and found.total > found.distinct
    )


def _noun(found: IndexEvidence) -> str:
    return (
        "label" if found.operation in ("cross_entropy", "nll_loss", "multi_margin_loss", "one_hot") else "index"
    )


def _position(place: tuple[int, ...]) -> str:
    if len(place) == 1:
        return f" at position {place[0]}"
    if len(place) == 2:
        return f" at row {place[0]}, column {place[1]}"
    return f" at {shape_text(place)}" if place else ""


def _plural(found: IndexEvidence) -> str:
    return "labels" if _noun(found) == "label" else "indices"
