"""The lines at which samples of Python found it most often, as rows of a table in the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from torch_debugger.records import Place, SampledStacks
from torch_debugger.report.printable import one_line
from torch_debugger.report.source import shown_path

Row = tuple[str, str, float, str]  # what, beside it, its share, its number

_LEAST_SAMPLES = 20  # fewer tell no shares
_LEAST_SHARE = 0.02
_MOST = 5


def sampled_tables(sampled: Sequence[SampledStacks], folder: str | None) -> list[tuple[str, list[Row]]]:
    """A title and its rows: of the training's thread, and of all workers of loaders together."""
    training = [each for each in sampled if each.who == "training"]
    workers = [each for each in sampled if each.who != "training"]
    names = "1 worker" if len(workers) == 1 else f"{len(workers)} workers"
    return [
        _table("where Python was, by line", training, folder),
        _table(f"where Python was in {names} of loaders", workers, folder),
    ]


def _table(title: str, sampled: Sequence[SampledStacks], folder: str | None) -> tuple[str, list[Row]]:
    samples = sum(each.samples for each in sampled)
    if samples < _LEAST_SAMPLES:
        return title, []
    rows: list[Row] = [
        (_spot(place, folder), one_line(place.code or ""), number / samples, f"{number:,}")
        for place, number in _by_line(sampled).most_common(_MOST)
        if number >= _LEAST_SHARE * samples
    ]
    return f"{title} ({samples:,} samples)", rows


def _by_line(sampled: Sequence[SampledStacks]) -> Counter[Place]:
    """With what libraries did below a line, as far as no other line of the user's ran there."""
    found: Counter[Place] = Counter()
    for stacks in sampled:
        for number, node in enumerate(stacks.nodes):
            owner = stacks.users_line(number)
            if owner is not None and node.samples:
                found[stacks.nodes[owner].place] += node.samples
    return found


def _spot(place: Place, folder: str | None) -> str:
    return one_line(f"{shown_path(place.file or '?', folder)}:{place.line}")
