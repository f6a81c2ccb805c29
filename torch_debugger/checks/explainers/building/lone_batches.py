"""Loops whose last batch holds one sample: the numbers, and how to leave that batch out."""

from __future__ import annotations

import ast

from torch_debugger.checks.explainers.blame import place_text
from torch_debugger.checks.explainers.calls import argument_of, calls_of, one_line, rewritten, with_argument
from torch_debugger.checks.explainers.statements import Change
from torch_debugger.records.evidence.building import BatchSource

Told = tuple[str, Change]


def from_loader(source: BatchSource) -> Told:
    place = source.place if source.place.file else source.loop
    calls = calls_of(source.place.code or "", "DataLoader")
    call = calls[0] if len(calls) == 1 else ""
    if source.batch_size == 1:
        return f"`{source.name}` gives one sample at a time", _larger(source, call)
    if not call:
        text = f"give the DataLoader `{source.name}` `drop_last=True`, which leaves that batch out"
        return _numbers(source), Change(text, None, place)
    changed = _dropping(call)
    text = (
        f"change `{one_line(call)}` to `{one_line(changed)}` at {place_text(place)}: it leaves that batch out"
    )
    return _numbers(source), Change(text, rewritten(source.place, call, changed), place)


def _numbers(source: BatchSource) -> str:
    whole = source.samples // source.batch_size
    sums = f"{source.samples} samples are {whole} x {source.batch_size} + {source.last}"
    return f"the last batch of `{source.name}` holds {source.last} sample ({sums})"


def _dropping(call: str) -> str:
    written = argument_of(call, 99, "drop_last")
    return written.replaced("True") if written is not None else with_argument(call, "drop_last=True")


def _larger(source: BatchSource, call: str) -> Change:
    place = source.place if source.place.file else source.loop
    size = argument_of(call, 1, "batch_size") if call else None
    written = f"`batch_size={size.text}`" if size is not None else "the batch size of one"
    text = (
        f"give the DataLoader at {place_text(place)} 2 samples or more instead of {written}, or build the "
        "model with GroupNorm or LayerNorm, which do without the rest of the batch"
    )
    return Change(text, None, place)


def from_range(source: BatchSource) -> Told:
    node = ast.parse(source.name, mode="eval").body
    assert isinstance(node, ast.Call)
    first, end, step = (ast.unparse(part) for part in node.args)
    changed = f"range({first}, {end} - 1, {step})"
    text = f"write `{changed}` at {place_text(source.loop)}: it leaves a batch of one out, and no other"
    because = f"the last round of `{source.name}` holds 1 sample"
    whole = source.samples // source.batch_size
    sums = f"{source.samples} = {whole} x {source.batch_size} + {source.last}"
    return f"{because} ({sums})", Change(text, rewritten(source.loop, source.name, changed), source.loop)
