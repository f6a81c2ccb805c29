"""A pre-flight as the user reads it: one line a trial, and what to do about those that failed."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from torch_debugger.records import CaseFact, StepRehearsal, TrialResult
from torch_debugger.records.run import CONTEXT_BYTES
from torch_debugger.records.units import bytes_text
from torch_debugger.report.tables import Trimmed, plain_text, render_curve
from torch_debugger.report.text import one_line, short_paths, shown_path

_WIDEST = 100
_STYLES = {"passed": "green", "failed": "bold red", "untried": "dim"}
_WORDS = {"passed": "passed", "failed": "failed", "untried": "not tried"}
_WIDTH, _HEIGHT = 48, 4  # of a curve, in characters


def render_checkup(
    case: CaseFact | None,
    results: Sequence[TrialResult],
    console: Console,
    *,
    folder: str = "",
    picture: str = "",
) -> None:
    """Print it on this console; `picture` is where the learning-rate range was drawn."""
    console.print(Trimmed(_checkup(case, results, folder, picture), min(console.width, _WIDEST)), end="")


def checkup_text(case: CaseFact | None, results: Sequence[TrialResult]) -> str:
    return plain_text(_checkup(case, results, "", ""))


def _checkup(case: CaseFact | None, results: Sequence[TrialResult], folder: str, picture: str) -> RenderableType:
    blocks: list[RenderableType] = []
    if case is not None:
        place = f", computed at {shown_path(case.place.file, folder)}:{case.place.line}" if case.place.file else ""
        sentence = (
            f"Tried on copies: {case.model} ({case.parameters:,} parameters to learn), one batch of {case.inputs}, "
            f"{case.optimizer or 'no optimizer'}; the loss is {case.loss:.4g}{place}."
        )
        blocks += [Text(one_line(sentence)), Text()]
    blocks += [_trial(result, folder) for result in results]
    blocks += [Text(), Text(summary(results), style="bold")]
    if picture:
        blocks.append(Text(f"The learning-rate range as a picture: {one_line(picture)}", style="dim"))
    return Group(*blocks)


def summary(results: Sequence[TrialResult]) -> str:
    counts = [(sum(each.outcome == outcome for each in results), word) for outcome, word in _WORDS.items()]
    outcomes = ", ".join(f"{count} {word}" for count, word in counts if count)
    return f"{len(results)} trials: {outcomes}." if results else "Nothing could be tried."


def _trial(result: TrialResult, folder: str) -> RenderableType:
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(width=9, no_wrap=True)
    grid.add_column(ratio=1)
    grid.add_row(Text(_WORDS[result.outcome], style=_STYLES[result.outcome]), Text(result.name, style="bold"))
    body = [_prose(result.message, folder)]
    if result.advice and result.outcome == "failed":
        body.append(_prose(f"Do: {result.advice}", folder))
    if result.curve and not result.rates:
        width = min(_WIDTH, -(-len(result.curve) // 2))  # two points a character
        body.append(Text(render_curve(result.curve, width, _HEIGHT), style="dim", no_wrap=True))
    return Group(grid, *(Padding(each, (0, 2, 0, 11)) for each in body))


def _prose(sentence: str, folder: str) -> Text:
    text = Text(one_line(short_paths(sentence, folder)))
    text.highlight_regex(r"`[^`]+`", "cyan")
    return text


# The learning-rate range as a picture: loss over rate, with the rate in use and the range to try.
def draw_rates(result: TrialResult, path: Path) -> None:
    """A PNG; no window system is asked for, and no setting of pyplot's is touched."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.semilogx(result.rates, result.curve, color="#1f4e79")
    axes.axvspan(result.numbers["low"], result.numbers["high"], color="#2e8b57", alpha=0.18, label="range to try")
    axes.axvline(result.numbers["lr"], color="#b03a2e", linestyle="--", label=f"in use: {result.numbers['lr']:g}")
    # The fall fills the picture; where the loss runs away, the curve may leave it.
    losses = result.curve
    fall = losses[0] - min(losses)
    axes.set_ylim(*(min(losses) - 0.15 * fall, losses[0] + 0.6 * fall))
    axes.set_xlabel("learning rate")
    axes.set_ylabel("loss of one batch")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=120)


# A rehearsal as the user reads it: in a terminal, and as a table in a notebook.
_BAR = 24  # characters
_COLOUR = "#1f6feb"


def render_rehearsal(result: StepRehearsal, console: Console, folder: str | None = None) -> None:
    console.print(Trimmed(Group(*_blocks(result, folder)), min(console.width, _WIDEST)), end="")


def rehearsal_text(result: StepRehearsal, folder: str | None = None) -> str:
    return plain_text(Group(*_blocks(result, folder)))


def _blocks(result: StepRehearsal, folder: str | None) -> list[RenderableType]:
    blocks: list[RenderableType] = [Text(f"{subject(result)}, rehearsed without a GPU."), Text()]
    for bug in result.device_bugs:
        lines = [Text(f"device bug: {one_line(short_paths(bug.message, folder))}", style="bold red")]
        lines.append(Text(f"  fix: {one_line(short_paths(bug.fix, folder))}"))
        blocks += [Group(*lines), Text()]
    table = Table.grid(padding=(0, 2, 0, 0))
    for column in ({"no_wrap": True}, {"no_wrap": True}, {"justify": "right"}, {"justify": "right"}, {}):
        table.add_column(**column)
    for name, meaning, size, share in parts(result):
        bar = Text("█" * max(round(_BAR * share), 0) or "▏", style="blue")
        table.add_row(name, bar, bytes_text(size), f"{100 * share:.0f} %", Text(meaning, style="dim"))
    blocks += [Text(peak_sentence(result, folder), style="bold"), Padding(table, (0, 0, 0, 2)), Text()]
    if result.by_module:
        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column(no_wrap=True, overflow="ellipsis", max_width=60)
        table.add_column(justify="right", no_wrap=True)
        for name, size in result.by_module.items():
            table.add_row(one_line(name), bytes_text(size))
        heading = Text("Activations by the module whose backward pass needs them")
        blocks += [heading, Padding(table, (0, 0, 0, 2)), Text()]
    blocks.append(Text(need_sentence(result)))
    if fit := fit_sentence(result):
        blocks.append(Text(fit, style="bold green" if result.fits else "bold red"))
    if devices := device_sentence(result):
        blocks.append(Text(devices))
    return [*blocks, *(Text(note, style="dim") for note in notes(result))]


def rehearsal_html(result: StepRehearsal) -> str:
    """A table with a bar for each category, and the same sentences."""
    rows = ""
    for name, meaning, size, share in parts(result):
        bar = f"<div style='background:{_COLOUR};height:0.8em;width:{max(200 * share, 1):.0f}px'></div>"
        cells = (html.escape(name), bar, bytes_text(size), f"{100 * share:.0f} %", html.escape(meaning))
        rows += "<tr>" + "".join(f"<td style='text-align:left'>{cell}</td>" for cell in cells) + "</tr>"
    modules = "".join(
        f"<tr><td>{html.escape(one_line(name))}</td><td align='right'>{bytes_text(size)}</td></tr>"
        for name, size in result.by_module.items()
    )
    sentences = [need_sentence(result), fit_sentence(result), device_sentence(result)]
    sentences = [*(f"{bug.message} {bug.fix}" for bug in result.device_bugs), *sentences, *notes(result)]
    prose = "".join(f"<p>{html.escape(one_line(sentence))}</p>" for sentence in sentences if sentence)
    kept = f"<details><summary>activations by module</summary><table>{modules}</table></details>" if modules else ""
    return (
        f"<div><p>{html.escape(subject(result))}</p><p><b>{html.escape(peak_sentence(result))}</b></p>"
        f"<table>{rows}</table>{kept}{prose}</div>"
    )


# The sentences of a rehearsal: what was rehearsed, where its peak is, whether it fits.
_ORDER = (
    "parameters", "buffers", "weight copies", "gradients", "optimizer state", "activations", "inputs",
    "temporaries", "workspace",
)  # fmt: skip
_MEANINGS = {
    "weight copies": "for autocast",
    "activations": "for backward",
    "temporaries": "within the step",
    "workspace": "a guess",
}


def subject(result: StepRehearsal) -> str:
    """A training step of net (4,170 parameters), batch of 64, AdamW, bf16 autocast."""
    batch = f"batch of {result.batch:,}" if result.batch else "the batch as it is"
    more = f", {result.accumulate} backwards a step" if result.accumulate > 1 else ""
    precision = f", {result.dtype}" if result.dtype else ""
    optimizer = result.optimizer or "no optimizer"
    return one_line(
        f"A step of {result.model} ({result.parameters:,} parameters), {batch}, {optimizer}{precision}{more}"
    )


def peak_sentence(result: StepRehearsal, folder: str | None = None) -> str:
    """Peak 5.91 GB, in the backward pass of blocks.13 (net.py:38)."""
    place = result.place
    phase = {
        "forward": "the forward pass",
        "backward": "the backward pass",
        "optimizer step": "the optimizer's step",
    }
    at = f", in {phase[result.phase]}" if result.phase in phase else ""
    module = f" of {place.module}" if place.module and result.phase != "optimizer step" else ""
    line = f" ({shown_path(place.file, folder)}:{place.line})" if place.file else ""
    return one_line(f"Peak {bytes_text(result.peak_bytes)}{at}{module}{line}.")


def parts(result: StepRehearsal) -> Iterator[tuple[str, str, int, float]]:
    """Each category with its meaning, its bytes and its share of the peak."""
    known = [name for name in _ORDER if result.by_category.get(name)]
    others = [name for name in result.by_category if name not in _ORDER]
    for name in [*known, *others]:
        size = result.by_category[name]
        yield name, _MEANINGS.get(name, ""), size, size / max(result.peak_bytes, 1)


def need_sentence(result: StepRehearsal) -> str:
    return (
        f"With what torch keeps in reserve that is {bytes_text(result.reserved_bytes)}, and CUDA itself takes "
        f"about {bytes_text(CONTEXT_BYTES)}."
    )


def fit_sentence(result: StepRehearsal) -> str:
    """Empty where no GPU was named."""
    if not result.gpu_bytes:
        return ""
    is_size = result.gpu[:1].isdigit() and result.gpu[-1:].isalpha()
    has = one_line(result.gpu) + ("" if is_size else f" ({bytes_text(result.gpu_bytes)})")
    if result.fits:
        return f"It fits into {has}.{_largest(result)}"
    return f"It does not fit into {has}: {bytes_text(result.needed_bytes)} are needed.{_largest(result)}"


def _largest(result: StepRehearsal) -> str:
    if result.no_largest_batch:
        return f" The largest batch that fits is not known: {_lower(result.no_largest_batch)}"
    if result.largest_batch == 0:
        return " Not even a batch of 1 fits."
    guess = " about" if result.on_real_data else ""
    return f" The largest batch that fits is{guess} {result.largest_batch:,}." if result.largest_batch else ""


def notes(result: StepRehearsal) -> list[str]:
    found = []
    if result.on_real_data:
        found.append("The step needs numbers, not shapes alone: it was made twice on the CPU, in a process of its own.")
    if not result.optimizer:
        found.append("No optimizer was rehearsed: gradients are counted, an optimizer's state is not.")
    if result.others:
        several = " and ".join(f"`{name}`" for name in result.others)
        found.append(f"The script trains {several} as well: what that takes is not counted.")
    forward = result.forward
    if forward is not None and forward.outcome in ("failed", "timeout"):
        needs_numbers = forward.error.startswith(("DataDependent", "DynamicOutput"))
        why = "the forward needs numbers, not shapes alone" if needs_numbers else forward.error or "it did not end"
        found.append(f"Device bugs were not looked for: {_lower(why)}")
    return [one_line(f"{each.rstrip('.')}.") for each in found]


def device_sentence(result: StepRehearsal) -> str:
    """Empty where the forward was not rehearsed to its end, or has a bug."""
    passed = result.forward is not None and result.forward.outcome == "passed"
    return "The forward pass meets tensors of one device only." if passed else ""


def _lower(sentence: str) -> str:
    """As it goes on after a colon; the name of an exception stays as it is."""
    first = sentence.split(":")[0]
    named = " " not in first and first.endswith(("Error", "Exception"))
    return sentence if named else sentence[:1].lower() + sentence[1:]
