"""Words along the axes of attention maps: which list belongs to which axis, and how a word is written."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from torch_debugger.errors import UsageError

Tokens = Sequence[Any] | None
_LONGEST = 14
_BREAKS = re.compile(r"[\x00-\x1f\x7f]")
_CROSSING = re.compile(r"cross|enc(oder)?_?attn|enc_?dec|multihead_attn|attention2|src_attn", re.IGNORECASE)


class AxisTokens(NamedTuple):
    out: Tokens
    looked_at: Tokens


def tokens_of_axes(
    shapes: dict[str, tuple[int, int]], inputs: Tokens, outputs: Tokens, by_name: bool
) -> dict[str, AxisTokens]:
    """For each layer of [out, in]; a list that fits no axis of any layer is refused.

    `by_name`: the layers are those of a model, and where both lists are of the same length, the name tells
    whether a layer looks from one to the other or stays within one of them.
    """
    inputs, outputs = (None if each is None else list(each) for each in (inputs, outputs))  # told apart below
    found = {
        name: _of_layer(name if by_name else None, shape, inputs, outputs) for name, shape in shapes.items()
    }
    for given, what in ((inputs, "input tokens"), (outputs, "output tokens")):
        if given is not None and not any(given is each for pair in found.values() for each in pair):
            name, (out, looked_at) = next(iter(shapes.items()))
            raise UsageError(
                f"there are {len(given)} {what}, but in `{name}` {out} outputs look at {looked_at} inputs: "
                "give one token for each of them."
            )
    return found


def _of_layer(name: str | None, shape: tuple[int, int], inputs: Tokens, outputs: Tokens) -> AxisTokens:
    out, looked_at = shape
    if outputs is None:
        return AxisTokens(_fitting(out, inputs), _fitting(looked_at, inputs))
    if name is None:
        return AxisTokens(_fitting(out, outputs), _fitting(looked_at, inputs))
    if out == looked_at and not _CROSSING.search(name):
        within = (outputs, inputs) if "decoder" in name.lower() else (inputs, outputs)
        return AxisTokens(_fitting(out, *within), _fitting(looked_at, *within))
    return AxisTokens(_fitting(out, outputs, inputs), _fitting(looked_at, inputs, outputs))


def _fitting(size: int, *lists: Tokens) -> Tokens:
    return next((each for each in lists if each is not None and len(each) == size), None)


def written(token: Any) -> str:
    """On one line, and cut where it is long."""
    text = _BREAKS.sub(lambda found: repr(found[0])[1:-1], str(token))
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
