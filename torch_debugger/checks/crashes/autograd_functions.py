"""TD915: a custom autograd.Function whose two halves do not fit."""

from __future__ import annotations

import re

from torch_debugger.checks.crash_check import CrashCheck
from torch_debugger.checks.crashes.explanation import Blame, line_text, place_text, shape_text, user_frame
from torch_debugger.checks.crashes.user_code import one_line, rewritten
from torch_debugger.records import CrashFact, Edit, Place
from torch_debugger.records.crash_autograd import CustomFunction

# What the backward of a user's autograd.Function returned, against what its forward took.
_COUNT = re.compile(r"returned an incorrect number of gradients \(expected (\d+), got (\d+)\)")
_SHAPE = re.compile(
    r"invalid gradient at index (\d+) - got \[([\d, ]*)\] but expected shape compatible with \[([\d, ]*)\]"
)
_NOT_NONE = re.compile(r"a gradient different than None at position (\d+), but the corresponding forward input was not")
_COUNT_WHY = "Backward returns one gradient for each input of forward, in their order, and None for what needs none."


def explain_custom_gradients(crash: CrashFact) -> Blame | None:
    evidence = crash.evidence.autograd
    function = evidence.function if evidence is not None else None
    if function is None or crash.kind != "RuntimeError" or not function.returned.file:
        return None
    return _count(crash, function) or _shape(crash, function) or _not_none(crash, function) or _number(crash, function)


def _count(crash: CrashFact, function: CustomFunction) -> Blame | None:
    told = _COUNT.search(crash.message)
    if told is None:
        return None
    expected, got = int(told[1]), int(told[2])
    missing = function.inputs[got:expected]
    names = " and ".join(f"`{name}`" for name in missing)
    inputs = f" ({', '.join(f'`{name}`' for name in function.inputs)})" if len(function.inputs) == expected else ""
    line, edit = place_text(function.returned), None
    message = (
        f"`{function.name}.backward` returns {got} gradient{'s'[: got != 1]} at {line}, but "
        f"`{function.name}.forward` takes {expected} inputs{inputs}."
    )
    fix = f"Return {expected} values at {line}, in the order of forward's inputs."
    if missing and not any(function.needed[got:expected]) and function.needed and len(function.gradients) == got:
        after = ", ".join([*function.gradients, *("None" for _ in missing)])
        need = "need" if len(missing) > 1 else "needs"
        fix, edit = _returning(function.returned, after, f"Return None for {names}, which {need} no gradient: write ")
    elif missing:
        fix = f"Return the gradient for {names} too at {line}, in the order of the inputs."
    elif len(function.gradients) == got > expected:
        fix, edit = _returning(function.returned, ", ".join(function.gradients[:expected]), "Drop the rest: write ")
    return _blame(crash, function, message, _COUNT_WHY, fix, edit)


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
    message = f"`{function.name}.backward` returns a {told[1]} at {place_text(function.returned)} as a gradient."
    fix = f"Return a tensor or None for each input at {place_text(function.returned)}."
    return _blame(crash, function, message, "A gradient is a tensor of the shape of its input, or None.", fix, None)


def _blame(crash: CrashFact, function: CustomFunction, message: str, why: str, fix: str, edit: Edit | None) -> Blame:
    evidence: dict[str, float | str] = {
        "forward": line_text(function.forward),
        "return": line_text(function.returned),
        "backward": line_text(crash.place),
    }
    return Blame(message, why, fix, function.returned, evidence, 0.97, edit)


# A user's autograd.Function that is called or built in a way that cannot work.
_APPLY_WHY = "A Function is never called itself: `apply` runs forward and records that backward belongs to it."
_UNPACK = re.compile(r"^(.+?)=\s*(\w+)\.saved_tensors\b")


def explain_custom_function(crash: CrashFact) -> Blame | None:
    evidence = crash.evidence.autograd
    function = evidence.function if evidence is not None else None
    if function is None:
        return None
    return (
        _not_applied(crash, function)
        or _unsaved(crash, function)
        or _no_attribute(crash, function)
        or _arguments(crash, function)
        or _no_backward(crash, function)
        or _saved_number(crash, function)
    )


def _whole(crash: CrashFact) -> Place:
    frame = user_frame(crash)
    return Place(frame.file, frame.code_line or frame.line, frame.module, frame.code) if frame else crash.place


def _not_applied(crash: CrashFact, function: CustomFunction) -> Blame | None:
    """Fn()(x), Fn.forward(x), or Fn(x) whose object is then used as if it were the result."""
    place = function.object_made if function.object_made.file else _whole(crash)
    code, name = place.code or "", re.escape(function.name)
    called = re.search(rf"\b{name}(?:\(\)\(|\.forward\(|\()", code)
    legacy = "Legacy autograd function" in crash.message and function.static
    direct = f"{function.name}.forward() missing" in crash.message and ".forward(" in code
    if called is None or not (legacy or direct or function.object):
        return None
    after = code[: called.start()] + f"{function.name}.apply(" + code[called.end() :]
    given = f"; `{function.object}` is a Function object and no tensor" if function.object else ""
    return Blame(
        f"`{function.name}` is called as `{called[0]}...` at {place_text(place)} and not through `apply`{given}.",
        _APPLY_WHY,
        f"Write `{one_line(after)}` instead of `{one_line(code)}` at {place_text(place)}.",
        place,
        _evidence(crash, function),
        0.96,
        rewritten(place, code, after),
    )


def _unsaved(crash: CrashFact, function: CustomFunction) -> Blame | None:
    """backward unpacks another number of tensors than forward saved."""
    place = _whole(crash)
    told = _UNPACK.match(place.code or "")
    names = [name.strip() for name in told[1].strip().strip("()").split(",") if name.strip()] if told else []
    if crash.kind != "ValueError" or "values to unpack" not in crash.message or not names:
        return None
    if len(names) == len(function.saves):
        return None
    saved = f"saves {len(function.saves)} at {place_text(function.saved)}" if function.saved.file else "saves none"
    wanted = f"{told[2] if told else 'ctx'}.save_for_backward({', '.join(names)})"
    code, edit = function.saved.code or "", None
    fix = f"Save them in forward: `{wanted}`."
    if function.saved.file and set(names) <= set(function.inputs):
        edit = rewritten(function.saved, code, wanted)
        fix = f"Save what backward takes out: write `{wanted}` instead of `{code}` at {place_text(function.saved)}."
    return Blame(
        f"`{function.name}.backward` takes {len(names)} saved tensors at {place_text(place)}, but forward {saved}.",
        "`ctx.saved_tensors` gives what `ctx.save_for_backward(...)` was given, in that order.",
        fix,
        function.saved if function.saved.file else function.forward,
        _evidence(crash, function),
        0.97,
        edit,
    )


def _no_attribute(crash: CrashFact, function: CustomFunction) -> Blame | None:
    told = re.fullmatch(rf"'{re.escape(function.name)}Backward' object has no attribute '(\w+)'.*", crash.message)
    if crash.kind != "AttributeError" or told is None:
        return None
    name, code = told[1], function.forward.code or ""
    line = f"ctx.{name} = {name}"
    plain = name in function.inputs and code.endswith(":") and "\n" not in code
    edit = Edit(function.forward.file or "", function.forward.line or 0, code, f"{code}\n    {line}") if plain else None
    return Blame(
        f"`{function.name}.backward` reads `ctx.{name}` at {place_text(crash.place)}, but forward never sets it.",
        "`ctx` is the only thing that forward hands to backward.",
        f"Keep it in forward, at {place_text(function.forward)}: `{line}`.",
        function.forward,
        _evidence(crash, function),
        0.96,
        edit,
    )


def _arguments(crash: CrashFact, function: CustomFunction) -> Blame | None:
    """backward takes ctx and one gradient for each output of forward."""
    told = re.match(rf"{re.escape(function.name)}\.backward\(\) (takes|missing) ", crash.message)
    if crash.kind != "TypeError" or told is None or len(function.takes) == function.outputs:
        return None
    place, grown = function.backward, function.outputs - len(function.takes)
    code = place.code or ""
    extra = ", ".join(f"grad_{index + 1}" for index in range(len(function.takes), function.outputs))
    after = re.sub(r"\)\s*(->.*)?:$", lambda end: f", {extra}{end[0]}", code) if grown > 0 and function.takes else code
    return Blame(
        f"`{function.name}.backward` at {place_text(place)} takes {len(function.takes)} gradients beside ctx, but "
        f"`{function.name}.forward` returns {function.outputs} outputs.",
        "Backward is given `ctx` and one gradient for each output of forward.",
        f"Give backward `ctx` and {function.outputs} gradients: write `{after}` at {place_text(place)}."
        if after != code
        else f"Let backward take `ctx` and {function.outputs} gradients at {place_text(place)}.",
        place,
        _evidence(crash, function),
        0.95,
        rewritten(place, code, after),
    )


def _no_backward(crash: CrashFact, function: CustomFunction) -> Blame | None:
    if crash.kind != "NotImplementedError" or function.backward.file:
        return None
    count = len(function.inputs)
    return Blame(
        f"`{function.name}` at {place_text(function.forward)} has a forward but no backward.",
        "A Function hides what its forward does from autograd, so it must say itself how gradients go back.",
        f"Write `@staticmethod def backward(ctx, grad_output)` for it, which returns {count} gradients, one for each "
        f"of {', '.join(f'`{name}`' for name in function.inputs)}.",
        function.forward,
        _evidence(crash, function),
        0.96,
    )


def _saved_number(crash: CrashFact, function: CustomFunction) -> Blame | None:
    told = re.match(r"save_for_backward can only save variables, but argument (\d+) is of type (\w+)", crash.message)
    index = int(told[1]) if told is not None else -1
    if told is None or not 0 <= index < len(function.saves):
        return None
    name = function.saves[index]
    return Blame(
        f"`{function.name}.forward` gives `{name}`, a {told[2]}, to `save_for_backward` at "
        f"{place_text(function.saved)}, which keeps tensors only.",
        "Only tensors are kept that way, so that autograd can watch over them.",
        f"Keep it as an attribute: `ctx.{name.split('.')[-1]} = {name}` in forward, and read that in backward.",
        function.saved,
        _evidence(crash, function),
        0.96,
    )


def _evidence(crash: CrashFact, function: CustomFunction) -> dict[str, float | str]:
    evidence: dict[str, float | str] = {"forward": line_text(function.forward)}
    if function.backward.file:
        evidence["backward"] = line_text(function.backward)
    return evidence | {"line": line_text(crash.place)}


class CustomFunctionGradients(CrashCheck):
    """The backward of your own autograd.Function does not fit its forward, or it is called the wrong way.

    Symptom:
        "function MyFnBackward returned an incorrect number of gradients", "an invalid gradient at index 0",
        "not enough values to unpack" in backward, or an error about a legacy function.
    Evidence:
        The class, found through the frames or through the graph behind the loss, and its source: what forward
        takes, saves and returns, and what backward takes and returns.
    Fix:
        One gradient for each input of forward, None for what is no tensor, each in the shape of its input; what
        backward reads must be saved in forward; call it through `apply`.
    Known limits:
        Values that backward returns through a variable or a helper are counted from torch's message.
    """

    id = "TD915"
    name = "custom-function-gradients"
    title = "a custom autograd.Function does not fit itself"
    explainers = explain_custom_gradients, explain_custom_function
