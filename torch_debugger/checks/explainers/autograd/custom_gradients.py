"""What the backward of a user's autograd.Function returned, against what its forward took."""

from __future__ import annotations

import re

from torch_debugger.checks.explainers.blame import Blame, line_text, place_text, shape_text
from torch_debugger.checks.explainers.calls import rewritten
from torch_debugger.records import CrashFact, Edit, Place
from torch_debugger.records.evidence.autograd import CustomFunction

_COUNT = re.compile(r"returned an incorrect number of gradients \(expected (\d+), got (\d+)\)")
_SHAPE = re.compile(
    r"invalid gradient at index (\d+) - got \[([\d, ]*)\] but expected shape compatible with \[([\d, ]*)\]"
)
_NOT_NONE = re.compile(
    r"a gradient different than None at position (\d+), but the corresponding forward input was not"
)
_COUNT_WHY = (
    "Backward returns one gradient for each input of forward, in their order, and None for what needs none."
)


def explain_custom_gradients(crash: CrashFact) -> Blame | None:
    evidence = crash.evidence.autograd
    function = evidence.function if evidence is not None else None
    if function is None or crash.kind != "RuntimeError" or not function.returned.file:
        return None
    return (
        _count(crash, function)
        or _shape(crash, function)
        or _not_none(crash, function)
        or _number(crash, function)
    )


def _count(crash: CrashFact, function: CustomFunction) -> Blame | None:
    told = _COUNT.search(crash.message)
    if told is None:
        return None
    expected, got = int(told[1]), int(told[2])
    missing = function.inputs[got:expected]
    message = (
        f"`{function.name}.backward` returns {got} gradient{'s'[: got != 1]} at "
        f"{place_text(function.returned)}, but "
        f"`{function.name}.forward` takes {expected} inputs{_named(function, expected)}."
    )
    fix, edit = (
        f"Return {expected} values at {place_text(function.returned)}, in the order of forward's inputs.",
        None,
    )
    if (
        missing
        and not any(function.needed[got:expected])
        and function.needed
        and len(function.gradients) == got
    ):
        after = ", ".join([*function.gradients, *("None" for _ in missing)])
        names = " and ".join(f"`{name}`" for name in missing)
        fix = f"Return None for {names}, which {'need' if len(missing) > 1 else 'needs'} no gradient: write "
        fix, edit = _returning(function.returned, after, fix)
    elif missing:
        names = " and ".join(f"`{name}`" for name in missing)
        fix = (
            f"Return the gradient for {names} too at {place_text(function.returned)}, in the order of "
            f"the inputs."
        )
    elif len(function.gradients) == got > expected:
        fix, edit = _returning(
            function.returned, ", ".join(function.gradients[:expected]), "Drop the rest: write "
        )
    return _blame(crash, function, message, _COUNT_WHY, fix, edit)


def _named(function: CustomFunction, expected: int) -> str:
    if len(function.inputs) != expected:
        return ""
    return f" ({', '.join(f'`{name}`' for name in function.inputs)})"


def _returning(returned: Place, values: str, words: str) -> tuple[str, Edit | None]:
    code = returned.code or ""
    return f"{words}`return {values}` at {place_text(returned)}.", rewritten(returned, code, f"return {values}")


def _shape(crash: CrashFact, function: CustomFunction) -> Blame | None:
    told = _SHAPE.search(crash.message)
    if told is None:
        return None
    index, got, wanted = int(told[1]), _sizes(told[2]), _sizes(told[3])
    name = f"`{function.inputs[index]}`" if index < len(function.inputs) else f"input {index}"
    gradient = f" (`{function.gradients[index]}`)" if index < len(function.gradients) else ""
    message = (
        f"`{function.name}.backward` returns a gradient {shape_text(got)} for {name}{gradient} at "
        f"{place_text(function.returned)}, but {name} is {shape_text(wanted)}."
    )
    fix, edit = _reshaped(function, index, got, wanted)
    return _blame(crash, function, message, "A gradient has the shape of the input it belongs to.", fix, edit)


def _reshaped(
    function: CustomFunction, index: int, got: tuple[int, ...], wanted: tuple[int, ...]
) -> tuple[str, Edit | None]:
    if len(got) != 2 or got[::-1] != wanted or index >= len(function.gradients):
        return f"Bring that gradient to {shape_text(wanted)} before {place_text(function.returned)}.", None
    value = function.gradients[index]
    plain = value if re.fullmatch(r"[\w.]+(\(.*\))?", value) else f"({value})"
    after = [*function.gradients[:index], f"{plain}.t()", *function.gradients[index + 1 :]]
    return _returning(function.returned, ", ".join(after), "Turn it around: write ")


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(int(size) for size in re.findall(r"\d+", text))


def _not_none(crash: CrashFact, function: CustomFunction) -> Blame | None:
    told = _NOT_NONE.search(crash.message)
    index = int(told[1]) - 1 if told is not None else -1
    if not 0 <= index < min(len(function.inputs), len(function.gradients)):
        return None
    after = [*function.gradients[:index], "None", *function.gradients[index + 1 :]]
    fix, edit = _returning(function.returned, ", ".join(after), "Return None in its place: write ")
    message = (
        f"`{function.name}.backward` returns a gradient (`{function.gradients[index]}`) at "
        f"{place_text(function.returned)} for `{function.inputs[index]}`, which is no tensor."
    )
    return _blame(crash, function, message, _COUNT_WHY, fix, edit)


def _number(crash: CrashFact, function: CustomFunction) -> Blame | None:
    told = re.fullmatch(r"expected Variable or None \(got (\w+)\)", crash.message)
    if told is None:
        return None
    message = (
        f"`{function.name}.backward` returns a {told[1]} at {place_text(function.returned)} as a gradient."
    )
    fix = f"Return a tensor or None for each input at {place_text(function.returned)}."
    return _blame(
        crash, function, message, "A gradient is a tensor of the shape of its input, or None.", fix, None
    )


def _blame(
    crash: CrashFact, function: CustomFunction, message: str, why: str, fix: str, edit: Edit | None
) -> Blame:
    told: dict[str, float | str] = {
        "forward": line_text(function.forward),
        "return": line_text(function.returned),
        "backward": line_text(crash.place),
    }
    return Blame(message, why, fix, function.returned, told, 0.97, edit)
