"""An exception of the checked function, in plain words: what it means for a gradient, and what to do."""

from __future__ import annotations

import re

from torch_debugger.anatomy.sources import is_user_file
from torch_debugger.trials.gradcheck.result import Problem

_COUNT = re.compile(r"returned an incorrect number of gradients \(expected (\d+), got (\d+)\)")
_SHAPE = re.compile(
    r"returned an invalid gradient at index (\d+) - got (\[.*?\]) but expected shape compatible with (\[.*?\])"
)
_UNKNOWN = re.compile(r"derivative for '?(?:aten::)?(\w+)'? is not implemented")
_LONGEST = 300


def forward_raised(error: BaseException, nones: list[str]) -> Problem:
    """`nones`: inputs that were given as None, a likely reason."""
    given = f" {_listed(nones)} was given as None." if nones and "None" in str(error) else ""
    advice = "Call it once by hand with the same inputs, and make that work first."
    if given:
        advice = f"Handle None in `forward`: `if {nones[0]} is not None: ...`, or give a tensor."
    return Problem("forward-raised", f"the forward raised {_told(error)}.{given}", advice)


def backward_raised(error: BaseException, names: list[str]) -> Problem:
    """`names`: the inputs of forward in order, to say which one a gradient was for."""
    text = str(error)
    if match := _COUNT.search(text):
        wanted, got = match.groups()
        return Problem(
            "wrong-count",
            f"backward returns {got} gradient{'s' * (got != '1')}, but forward takes {wanted} inputs.",
            "Return one value for each input of `forward`, in its order; None for an input without a gradient.",
        )
    if match := _SHAPE.search(text):
        index, got, wanted = match.groups()
        who = names[int(index)] if int(index) < len(names) else f"input {index}"
        return Problem(
            "wrong-shape",
            f"backward returns a gradient of shape {got} for `{who}`, which has shape {wanted}.",
            f"Return a gradient of the shape of `{who}`: sum over the dimensions that forward broadcast, or "
            "transpose.",
        )
    if match := _UNKNOWN.search(text):
        return Problem(
            "not-differentiable-twice",
            f"torch has no second derivative of `{match.group(1)}`.",
            "Write that part with other operations where second gradients are needed.",
        )
    if "once_differentiable" in text:
        return not_twice()
    return Problem(
        "backward-raised", f"backward raised {_told(error)}.", "Make `backward` run for these inputs first."
    )


def not_twice() -> Problem:
    return Problem(
        "not-differentiable-twice",
        "backward cannot be differentiated again.",
        "Write `backward` with torch operations on `ctx.saved_tensors` and `grad_output`, without "
        "`once_differentiable`, `.detach()`, `.data` or numpy; then it has a gradient of its own.",
    )


def _told(error: BaseException) -> str:
    first = (str(error).strip().splitlines() or [""])[0][:_LONGEST].rstrip(".")
    return f"{type(error).__name__}{f': {first}' if first else ''}{_place(error)}"


def _place(error: BaseException) -> str:
    """The innermost line of the user's own code."""
    place, entry = "", error.__traceback__
    while entry is not None:
        file = entry.tb_frame.f_code.co_filename
        if is_user_file(file):
            place = f" at {file.rsplit('/', 1)[-1]}:{entry.tb_lineno}"
        entry = entry.tb_next
    return place


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
