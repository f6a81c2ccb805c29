"""A comparison of two runs, to print, to keep as text, or to show in a notebook."""

from __future__ import annotations

import dataclasses
import io
import math
from collections.abc import Iterable, Iterator, Sequence

from rich.cells import chop_cells
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from torch_debugger.records.findings import Difference, Gap, Noise, Parting, RunsComparison, Suspect
from torch_debugger.report.tables import Trimmed, plain_text
from torch_debugger.report.text import one_line, printable

_WIDEST = 100
_MOST_ROWS = 12  # of one heading; --json has them all
_MOST_LINES = 60  # of a diff
_HTML = '<pre style="font-family:monospace;line-height:1.3;white-space:pre">{code}</pre>'


class ComparisonReport:
    """What `torch_debugger.diff(a, b)` returns; its str() is the whole text."""

    def __init__(self, comparison: RunsComparison) -> None:
        self.comparison = comparison

    @property
    def answer(self) -> str:
        return answer(self.comparison)

    def print(self, console: Console | None = None) -> None:
        on = console or Console()
        on.print(Trimmed(self._content(), min(on.width, _WIDEST)), end="")

    def to_json(self) -> dict[str, object]:
        plain = _finite(dataclasses.asdict(self.comparison))
        assert isinstance(plain, dict)
        return {"format": 1, "answer": self.answer, **plain}

    def __str__(self) -> str:
        return plain_text(self._content(), _WIDEST)

    def __repr__(self) -> str:
        return f"<{self.answer}>"

    def _repr_html_(self) -> str:
        paper = Console(file=io.StringIO(), width=_WIDEST, force_jupyter=False, record=True, force_terminal=True)
        self.print(paper)
        return paper.export_html(inline_styles=True, code_format=_HTML)

    def _content(self) -> RenderableType:
        return Group(*[part for block in _blocks(self.comparison) for part in (Text(), block)][1:])


def _blocks(comparison: RunsComparison) -> Iterator[RenderableType]:
    yield Text(answer(comparison), style="bold")
    unsure = precision(comparison.parting)
    if unsure and not comparison.unwatched:
        yield Text(unsure)
    if comparison.suspect is not None:
        yield Text(suspect_sentence(comparison.suspect))
    cause = comparison.cause
    if cause is not None:
        words = " ".join(part for part in (cause.sentence, cause.check if not cause.points else "") if part)
        yield Text(one_line(words))
        if cause.points:
            yield _rows(cause.points, comparison)
    # What the runs were made of, as opposed to what became of them.
    is_settled = any(topic.differences for topic in comparison.topics if topic.name != "outcome")
    if comparison.parting.verdict in ("same", "rounding") and is_settled:
        where = " in the steps that both have" if is_partial(comparison.parting) else ""
        yield Text(f"What differs below has no effect beyond that{where}.")
    if comparison.groups or comparison.parting.verdict == "parted":
        noise = [noise_sentence(each) for each in comparison.noise if comparison.groups or each.difference]
        if noise:
            yield Group(*map(Text, [*noise, *([] if comparison.groups else [UNKNOWN_NOISE])]))
    if comparison.verdicts:
        yield Group(*map(Text, verdict_sentences(comparison)))
    shown = {each.name for each in cause.points} if cause else set()
    for topic in comparison.topics:
        rest = [each for each in topic.differences if each.name not in shown]
        parts: list[RenderableType] = [_rows(rest, comparison)] if rest else []
        parts += [FoldedCode(topic.lines[:_MOST_LINES])] if topic.lines else []
        if (hidden := len(topic.lines) - _MOST_LINES) > 0:
            parts.append(Text(f"  {hidden} more lines; --json FILE writes them all.", style="dim"))
        if parts:
            yield Group(Text(f"What differs in the {topic.name}", style="bold"), *parts)
    yield from _small_print(comparison)


def _rows(differences: Sequence[Difference], comparison: RunsComparison) -> RenderableType:
    grid = Table.grid(padding=(0, 3, 0, 0))
    grid.add_row(*(Text(one_line(word), style="dim") for word in ("", comparison.first, comparison.second)))
    for each in differences[:_MOST_ROWS]:
        cells = (each.name, each.first or "none", each.second or "none")
        grid.add_row(*(Text(one_line(cell), overflow="fold") for cell in cells))
    hidden = len(differences) - _MOST_ROWS
    more = [Text(f"{hidden} more; --json FILE writes them all.", style="dim")] if hidden > 0 else []
    return Padding(Group(grid, *more), (0, 0, 0, 2))


def _small_print(comparison: RunsComparison) -> Iterator[RenderableType]:
    unmatched = {which: [name for name, of in comparison.unmatched if of == which] for which in ("first", "second")}
    notes = [f"Only in the {which} run: {_some(names)}." for which, names in unmatched.items() if names]
    if comparison.renamed:
        pairs = [f"{ours} = {theirs}" for ours, theirs in comparison.renamed]
        notes.append(f"Matched by order and shape: {_some(pairs)}.")
    for name, whose in comparison.groups:
        like = "both runs, which it resembles alike" if whose == "both" else f"the {whose} run"
        notes.append(f"{name} counts as a replicate of {like}.")
    notes += [*not_compared(comparison), *comparison.missing]
    if comparison.advice:
        notes.append(f"To see the place exactly, run both with closer looks: {comparison.advice}")
    if notes:
        yield Group(*(Text(one_line(note), style="dim") for note in notes))


def _some(names: Sequence[str], most: int = 6) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _finite(plain: object) -> object:
    """JSON has no NaN: null for what is not known, text for what is not finite."""
    if isinstance(plain, dict):
        return {key: _finite(value) for key, value in plain.items()}
    if isinstance(plain, (list, tuple)):
        return [_finite(value) for value in plain]
    if isinstance(plain, float) and not math.isfinite(plain):
        return None if math.isnan(plain) else str(plain)
    return plain


# The sentences of a comparison of two runs.
_PLACES = {
    "weights": "in the weights of {}",
    "batch": "in the data, {}",
    "input": "in the input of {}",
    "forward": "in the output of {}",
    "loss": "in the loss {}",
    "backward": "in the gradient at the output of {}",
    "gradients": "in the gradient of {}",
    "rate": "in the learning rate, {}",
    "update": "in the update of {}",
    "evaluation": "in {}",
}
_PHASES = {
    "weights": "the weights",
    "batch": "the batch",
    "input": "the input",
    "forward": "the forward pass",
    "loss": "the loss",
    "backward": "the gradients at the modules' outputs",
    "gradients": "the gradients",
    "rate": "the learning rate",
    "update": "the update",
}
_NUMBERS = {"weight_norm": "norm", "grad_norm": "norm", "change": "norm of the change"}
_MUCH = 0.01  # of a tensor's size: rounding that has grown this far is seen in the curves
_MANY = 4
_GROWN = "It has grown slowly, as rounding does, and no step stands out."


def answer(comparison: RunsComparison) -> str:
    """The one sentence to read."""
    sentences = {"same": _same, "rounding": _rounding, "parted": _parted}.get(comparison.parting.verdict)
    if sentences is None:
        return "The runs cannot be compared step by step: there is no number that both have at the same step."
    return one_line(sentences(comparison.parting))


def _same(parting: Parting) -> str:
    same = "are the same" if parting.harmless is None else "compute the same"
    extent = f" over {_common_steps(parting)}:" if is_partial(parting) else f": {_steps(parting)},"
    numbers = "1 number" if parting.numbers == 1 else f"{parting.numbers:,} numbers"
    equal = ", bit-equal" if parting.numbers == 1 else ", every one of them bit-equal"
    if parting.harmless is not None:
        equal = f". {_harmless(parting.harmless)}; all else is bit-equal"
    return " ".join([f"The runs {same}{extent} {numbers} compared{equal}.", *_further(parting)])


def _harmless(gap: Gap) -> str:
    return f"The loaders deliver other numbers ({gap.name}, {_change(gap)}), of which the model is given the same"


def _rounding(parting: Parting) -> str:
    steps = _common_steps(parting) if is_partial(parting) else _steps(parting)
    compared = f"over {steps} no number differs by more than rounding explains"
    if parting.idle is not None:
        gap = parting.idle
        compared += (
            f", but {_place(gap)} at step {gap.step} ({_change(gap)}), without a trace in what the model computes"
        )
    sentences = [f"The runs compute the same: {compared}."]
    if parting.harmless is not None:
        sentences.append(f"{_harmless(parting.harmless)}.")
    if (first := parting.unequal) is not None:
        where = _place(first).removeprefix("in ")
        by = f"{first.size:.1g} of its size"
        sentences.append(f"The first that is not bit-equal is {where} at step {first.step}, by {by}.")
    if (most := parting.largest) is not None:
        sentences.append(f"The largest difference is {most.size:.1g} of its size, {_place(most)} at step {most.step}.")
        sentences += [_GROWN] if most.size > _MUCH else []
    return " ".join([*sentences, *_further(parting)])


def _parted(parting: Parting) -> str:
    gap = parting.gap
    assert gap is not None
    at_start = gap.phase == "weights" and gap.step == parting.first_step
    moment = "differ before the first update" if at_start else f"part at step {gap.step}"
    equal = [_PHASES[phase] for phase in parting.equal_phases if phase in _PHASES]
    manner = "bit-equal" if parting.unequal is None else "equal up to rounding"
    until_then = ""
    if len(equal) > _MANY:
        until_then = f"; everything before it in that step, {equal[0]} to {equal[-1]}, was {manner}"
    elif equal:
        verb = "was" if len(equal) == 1 and equal[0] != "the weights" else "were"
        until_then = f"; {_joined(equal)} {verb} {manner} until then"
    kept = f" The weights that step {parting.kept_step} begins with are equal all the same, up to rounding."
    return f"The runs {moment}, first {_place(gap)} ({_change(gap)}){until_then}.{kept if parting.kept_step else ''}"


def precision(parting: Parting) -> str:
    """How exactly the place of a parting is known; empty where it is."""
    gap = parting.gap
    if gap is None or parting.exact:
        return ""
    seen = f"the last that was is step {parting.near_step}" if parting.near_step else "none before it was"
    began = (
        "where in this step it begins is not known"
        if "weights" in parting.equal_phases
        else f"it came in after what was seen of step {parting.calm_step}, which is equal, and before this"
    )
    return f"Step {gap.step} was not looked at closely in both runs ({seen}): {began}."


def _place(gap: Gap) -> str:
    name = gap.name if gap.name == gap.other_name else f"{gap.name} ({gap.other_name} in the second run)"
    is_plain_loss = gap.phase == "loss" and name == "loss"
    return "in the loss" if is_plain_loss else _PLACES[gap.phase].format(name)


def _change(gap: Gap) -> str:
    number = _NUMBERS.get(gap.number, gap.number)
    first, second = apart(gap.first, gap.second)
    return f"{number} {first} -> {second}".strip()


def apart(first: float, second: float) -> tuple[str, str]:
    """Two numbers with as many digits as it takes to tell them apart."""
    for digits in range(4, 10):
        shown = f"{first:.{digits}g}", f"{second:.{digits}g}"
        if shown[0] != shown[1]:
            return shown
    return f"{first:.9g}", f"{second:.9g}"


def _steps(parting: Parting) -> str:
    return f"{parting.steps:,} step{'' if parting.steps == 1 else 's'}"


def not_compared(comparison: RunsComparison) -> list[str]:
    """What could not be compared besides the steps, and why: once where it is all for one reason."""
    unseen = [topic for topic in comparison.topics if topic.unseen]
    if not comparison.unwatched:
        return [f"Not compared in the {topic.name}: {topic.unseen}." for topic in unseen]
    names, several = _joined(comparison.unwatched), len(comparison.unwatched) > 1
    what, whose = ("are not logs", "their") if several else ("is not the log", "its")
    rest = f"; {_joined([topic.name for topic in unseen])} cannot be" if unseen else ""
    watched = f"of a watched training (torch-debugger run, or Debugger): {whose} scalars are compared, by tag"
    return [f"{names} {what} {watched}{rest}."]


def is_partial(parting: Parting) -> bool:
    """Has one of the runs steps that the other has not?"""
    return any(extent.steps > parting.steps for extent in parting.extents)


def _further(parting: Parting) -> list[str]:
    """What there is of each run besides the steps that were compared."""
    sentences = []
    for which, extent in zip(("first", "second"), parting.extents, strict=False):
        if extent.steps == parting.steps:
            continue
        if extent.last > parting.last_step:
            sentences.append(f"The {which} goes on to step {extent.last:,}.")
        elif extent.first < parting.first_step:
            sentences.append(f"The {which} begins earlier, at step {extent.first:,}.")
        else:
            sentences.append(f"The {which} has {extent.steps - parting.steps:,} more in between.")
    return sentences


def _common_steps(parting: Parting) -> str:
    return f"the {'one step' if parting.steps == 1 else _steps(parting)} that both have"


def _joined(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


# The sentences about what was found in two runs: their verdicts, and which finding may be why they part.
def suspect_sentence(suspect: Suspect) -> str:
    found = suspect.finding
    since = f"from step {found.first_step} on" if found.first_step > 1 else "from the start"
    whose = f"found in {suspect.run} {since} and not in {suspect.other}"
    return one_line(f"Likely cause: {found.name}, {whose}. {found.message}")


def verdict_sentences(comparison: RunsComparison) -> list[str]:
    found, suspect = comparison.verdicts, comparison.suspect
    if len(found) > 1 and all(finding is None for _, finding in found):
        return ["Nothing wrong was found in either run."]
    sentences = []
    for name, finding in found:
        is_suspect = suspect is not None and suspect.finding == finding
        verdict = "nothing wrong found." if finding is None else f"{finding.name}."
        message = "" if finding is None or is_suspect else f" {finding.message}"
        sentences.append(one_line(f"Verdict on {name}: {verdict}{message}"))
    return sentences


# The sentences about how the runs end, and whether seeds explain the difference.
_RARE = 0.05  # how seldom seeds alone may make a difference that is called real
_WIDE = 2.0  # spreads: beyond it, it is the number of runs that leaves a doubt
UNKNOWN_NOISE = "Whether another seed makes as much is not known: name runs with other seeds with --replicates."


def noise_sentence(noise: Noise) -> str:
    """What the runs end with, and whether seeds explain the difference."""
    first, second = apart(_mean(noise.first), _mean(noise.second))
    start, end = noise.steps
    when = f"step {end}" if start == end else f"the mean of steps {start} to {end}"
    ends = f"{noise.tag}, {when}: {first}{_count(noise.first)} and {second}{_count(noise.second)}."
    return one_line(f"{ends} {_judged(noise)}")


def _judged(noise: Noise) -> str:
    if math.isnan(noise.chance):
        return ""
    if noise.spread == 0.0:
        return "Runs of one kind do not differ at all, so the difference is real." if noise.difference else ""
    times = abs(noise.difference) / noise.spread
    size = f"The difference is {times:.2g} times the spread of runs of one kind ({noise.spread:.2g})"
    chance = "under 0.1 %" if noise.chance < 0.001 else f"{100 * noise.chance:.2g} %"
    seeds = f"seeds alone give it or more in {chance} of such comparisons"
    if noise.chance >= _RARE and times > _WIDE:
        runs = len(noise.first) + len(noise.second)
        return f"{size}, but {runs} runs are too few to be sure of it: {seeds}. More replicates would tell."
    return f"{size}: {'' if noise.chance < _RARE else 'no '}more than seeds explain ({seeds})."


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _count(values: Sequence[float]) -> str:
    if len(values) == 1:
        return ""
    low, high = apart(min(values), max(values))
    return f" ({len(values)} runs, {low} to {high})"


# The lines of a unified diff, each piece of a long one with its sign.
_MARGIN = "  "
_FURTHER = "    "  # before all pieces of a line but the first
_FEWEST_CELLS = 10
_STYLES = {"-": "red", "+": "green", "@": "cyan"}


class FoldedCode:
    """Folded at the width it is shown with: words would leave a sign alone before a long one."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterable[Text]:
        for line in map(printable, self._lines):
            sign, code = line[:1], line[1:]
            room = max(_FEWEST_CELLS, options.max_width - len(_MARGIN) - 1)
            first, *rest = chop_cells(code, room) or [""]
            pieces = chop_cells("".join(rest), room - len(_FURTHER)) if rest else []
            for piece in [f"{sign}{first}", *(f"{sign}{_FURTHER}{each}" for each in pieces)]:
                yield Text(f"{_MARGIN}{piece}", _STYLES.get(sign, ""), no_wrap=True, overflow="ignore")
