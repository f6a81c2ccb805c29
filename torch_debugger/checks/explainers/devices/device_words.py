"""How findings about devices speak of tensors, devices and lines."""

from __future__ import annotations

from torch_debugger.checks.explainers.blame import place_text, user_frame
from torch_debugger.checks.explainers.statements import statement_of
from torch_debugger.records import CrashFact, Place
from torch_debugger.records.evidence.devices import MetTensor


def raised_by_the_user(crash: CrashFact) -> bool:
    """Whether the innermost line is a raise or assert of the user's own."""
    last = crash.frames[-1] if crash.frames else None
    return last is None or (last.user and last.code.startswith(("raise", "assert")))


def tensor_words(each: MetTensor, crash: CrashFact) -> str:
    """the weights of `net.fc`, `labels`, the input of `criterion`"""
    name = each.tensor.name
    if each.role == "weights":
        return f"the weights of `{each.module}`" if each.module else "the parameter"
    if each.role == "buffer":
        return f"the `{name}` of `{each.module}`"
    if each.role == "state":
        return f"the optimizer's `{name}`"
    if each.role != "nameless":
        return f"`{name}`"
    taker = crash.layer.path if crash.layer is not None else None
    return f"the {name} of `{taker}`" if taker else f"the {name} it meets"


def verb(*tensors: MetTensor) -> str:
    return "are" if len(tensors) > 1 or (tensors[0].role == "weights" and tensors[0].module) else "is"


def origin_words(each: MetTensor) -> str:
    """; `y` comes from `for x, y in loader` at train.py:8"""
    if not each.made.file:
        return ""
    code = (each.made.code or "").split("\n")[0].rstrip(":")
    return f"; `{each.tensor.name}` comes from `{code}` at {place_text(each.made)}"


def device_literal(device: str) -> str:
    """The first device of its kind as one writes it: "cuda" """
    return f'"{device.removesuffix(":0")}"'


def written_at(place: Place) -> str:
    return f" at {place_text(place)}" if place.file else ""


def line_of_use(crash: CrashFact) -> Place:
    frame = user_frame(crash)
    return statement_of(frame, crash.place.module).line if frame is not None else crash.place
