"""A profile as the user reads it in a terminal: the dearest lines, modules and ops, and the host's waits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from torch_debugger.records import Place, ProfileFact, SampledStacks
from torch_debugger.records.units import bytes_text
from torch_debugger.report.tables import cut_beginning, plain_text
from torch_debugger.report.text import one_line, shown_path

_MOST = 8
_WIDEST = 100
_BAR, _NAME = 10, 30  # characters
_NUMBERS = 24  # the columns of numbers, and what lies between columns
_LEAST_SHARE = 0.01  # of the window: less is not worth a line


def profile_blocks(
    fact: ProfileFact,
    folder: str | None,
    width: int,
    sampled: Sequence[SampledStacks] = (),
    *,
    with_ops: bool = True,
) -> list[RenderableType]:
    blocks: list[RenderableType] = [Text(opening(fact), style="bold")]
    tables = (
        ("by line", _lines(fact, folder)),
        ("by module, forward and backward", _modules(fact)),
        ("by op, without what it calls", _ops(fact) if with_ops else []),
        ("the host waited for the device", _syncs(fact, folder)),
        ("copies", _copies(fact, folder)),
        *sampled_tables(sampled, folder),
    )
    blocks += [Group(Text(title), _table(rows, width)) for title, rows in tables if rows]
    return blocks


def profile_text(fact: ProfileFact, folder: str | None = None) -> str:
    return plain_text(Group(*profile_blocks(fact, folder, _WIDEST)))


def opening(fact: ProfileFact) -> str:
    """Where the time went: 5 steps from step 13 on, 107 ms each (98 ms before). Reading it took 0.4 s."""
    each_s = fact.wall_s / max(fact.steps, 1)
    plain = f" ({time_text(fact.plain_s)} before)" if fact.plain_s else ""
    steps = "1 step" if fact.steps == 1 else f"{fact.steps} steps"
    window = f"{steps} from step {fact.first_step} on, {time_text(each_s)} each{plain}"
    window = f"Where the time went: {window}. Reading it took {time_text(fact.cost_s)}."
    if not fact.on_device:
        return window
    busy = f"{100 * fact.device_busy_s / max(fact.wall_s, 1e-12):.0f} %"
    kernels = f"{fact.kernels // max(fact.steps, 1):,} kernels"
    return f"{window} The GPU was busy for {busy} of it, with {kernels} a step."


def time_text(seconds: float) -> str:
    """1.2 s, 107 ms, 35 us"""
    for limit, factor, unit in ((1.0, 1.0, "s"), (1e-3, 1e3, "ms")):
        if seconds >= limit:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e6:.3g} us"


def _lines(fact: ProfileFact, folder: str | None) -> list[Row]:
    found = [
        (line.device_s if fact.on_device else line.host_s + line.backward_s, _spot(line.place, folder),
         one_line(line.place.code or ""))
        for line in fact.lines
    ]  # fmt: skip
    return _dearest(found, fact)


def _modules(fact: ProfileFact) -> list[Row]:
    found = []
    for each in fact.modules:
        host_s, device_s = each.forward_s + each.backward_s, each.device_forward_s + each.device_backward_s
        found.append((device_s if fact.on_device else host_s, one_line(each.module), one_line(each.kind)))
    return _dearest(found, fact)


def _ops(fact: ProfileFact) -> list[Row]:
    found = [
        (each.device_s if fact.on_device else each.host_s, one_line(each.op),
         f"{each.calls / max(fact.steps, 1):.4g} calls a step")
        for each in fact.ops
    ]  # fmt: skip
    return _dearest(found, fact)


def _syncs(fact: ProfileFact, folder: str | None) -> list[Row]:
    rows = []
    for each in sorted(fact.syncs, key=lambda each: -each.wait_s)[:_MOST]:
        called = ", ".join(one_line(part) for part in (each.op, each.place.code) if part)
        share = each.wait_s / max(fact.wall_s, 1e-12)
        rows.append((_spot(each.place, folder), called, share, _each(each.wait_s, fact)))
    return rows


def _copies(fact: ProfileFact, folder: str | None) -> list[Row]:
    rows = []
    for each in fact.copies[:_MOST]:
        memory = "pinned" if each.pinned else "pageable"
        size = f"{bytes_text(each.size_bytes // max(fact.steps, 1))} a step"
        share = each.device_s / max(fact.wall_s, 1e-12)
        way = f"{each.way}, {memory} memory, {size}"
        rows.append((_spot(each.place, folder), way, share, _each(each.device_s, fact)))
    return rows


def _dearest(found: Iterable[tuple[float, str, str]], fact: ProfileFact) -> list[Row]:
    """Of seconds, what took them, and what stands beside it; the device's seconds where there is one."""
    whole_s = max(fact.device_busy_s if fact.on_device else fact.wall_s, 1e-12)
    shown = [(seconds / whole_s, what, beside, seconds) for seconds, what, beside in found]
    shown = sorted((each for each in shown if each[0] >= _LEAST_SHARE), key=lambda each: -each[0])[:_MOST]
    return [(what, beside, share, _each(seconds, fact)) for share, what, beside, seconds in shown]


def _each(seconds: float, fact: ProfileFact) -> str:
    return time_text(seconds / max(fact.steps, 1))


def _spot(place: Place, folder: str | None) -> str:
    return one_line(f"{shown_path(place.file, folder)}:{place.line}") if place.file else "elsewhere"


def _table(rows: Sequence[Row], width: int) -> RenderableType:
    grid = Table.grid(padding=(0, 2, 0, 0))
    for justify in ("right", "right", "left", "left", "left"):
        grid.add_column(justify=justify, no_wrap=True)
    name = min(_NAME, max(len(row[0]) for row in rows))
    room = max(width - _NUMBERS - _BAR - name, 0)  # a column too many would push others out of sight
    for what, beside, share, took in rows:
        bar = Text("█" * round(_BAR * min(share, 1.0)) or "▏", style="blue")
        cells = Text(cut_beginning(what, _NAME)), Text(beside[:room], style="dim")
        grid.add_row(took, f"{100 * share:.0f} %", bar, *cells)
    return Padding(grid, (0, 0, 0, 2))


# The lines at which samples of Python found it most often, as rows of a table in the terminal.
Row = tuple[str, str, float, str]  # what, beside it, its share, its number

_LEAST_SAMPLES = 20  # fewer tell no shares
_LEAST_SAMPLED_SHARE = 0.02
_MOST_SAMPLED_LINES = 5


def sampled_tables(sampled: Sequence[SampledStacks], folder: str | None) -> list[tuple[str, list[Row]]]:
    """A title and its rows: of the training's thread, and of all workers of loaders together."""
    training = [each for each in sampled if each.who == "training"]
    workers = [each for each in sampled if each.who != "training"]
    names = "1 worker" if len(workers) == 1 else f"{len(workers)} workers"
    return [
        _rows_by_line("where Python was, by line", training, folder),
        _rows_by_line(f"where Python was in {names} of loaders", workers, folder),
    ]


def _rows_by_line(title: str, sampled: Sequence[SampledStacks], folder: str | None) -> tuple[str, list[Row]]:
    samples = sum(each.samples for each in sampled)
    if samples < _LEAST_SAMPLES:
        return title, []
    rows: list[Row] = [
        (
            one_line(f"{shown_path(place.file or '?', folder)}:{place.line}"),
            one_line(place.code or ""), number / samples, f"{number:,}",
        )
        for place, number in _by_line(sampled).most_common(_MOST_SAMPLED_LINES)
        if number >= _LEAST_SAMPLED_SHARE * samples
    ]  # fmt: skip
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
