"""A user's autograd.Function that is called or built in a way that cannot work."""

from __future__ import annotations

import re

from torch_debugger.checks.explainers.blame import Blame, line_text, place_text, user_frame
from torch_debugger.checks.explainers.calls import one_line, rewritten
from torch_debugger.records import CrashFact, Edit, Place
from torch_debugger.records.evidence.autograd import CustomFunction

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
        f"`{function.name}` is called as `{called[0]}...` at {place_text(place)} and not through "
        f"`apply`{given}.",
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
    saved = (
        f"saves {len(function.saves)} at {place_text(function.saved)}" if function.saved.file else "saves none"
    )
    wanted = f"{told[2] if told else 'ctx'}.save_for_backward({', '.join(names)})"
    code, edit = function.saved.code or "", None
    fix = f"Save them in forward: `{wanted}`."
    if function.saved.file and set(names) <= set(function.inputs):
        edit = rewritten(function.saved, code, wanted)
        fix = (
            f"Save what backward takes out: write `{wanted}` instead of `{code}` at "
            f"{place_text(function.saved)}."
        )
    return Blame(
        f"`{function.name}.backward` takes {len(names)} saved tensors at {place_text(place)}, but "
        f"forward {saved}.",
        "`ctx.saved_tensors` gives what `ctx.save_for_backward(...)` was given, in that order.",
        fix,
        function.saved if function.saved.file else function.forward,
        _evidence(crash, function),
        0.97,
        edit,
    )


def _no_attribute(crash: CrashFact, function: CustomFunction) -> Blame | None:
    told = re.fullmatch(
        rf"'{re.escape(function.name)}Backward' object has no attribute '(\w+)'.*", crash.message
    )
    if crash.kind != "AttributeError" or told is None:
        return None
    name, code = told[1], function.forward.code or ""
    line = f"ctx.{name} = {name}"
    plain = name in function.inputs and code.endswith(":") and "\n" not in code
    edit = (
        Edit(function.forward.file or "", function.forward.line or 0, code, f"{code}\n    {line}")
        if plain
        else None
    )
    return Blame(
        f"`{function.name}.backward` reads `ctx.{name}` at {place_text(crash.place)}, but forward never "
        f"sets it.",
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
    after = (
        re.sub(r"\)\s*(->.*)?:$", lambda end: f", {extra}{end[0]}", code)
        if grown > 0 and function.takes
        else code
    )
    return Blame(
        f"`{function.name}.backward` at {place_text(place)} takes {len(function.takes)} gradients beside "
        f"ctx, but "
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
        f"Write `@staticmethod def backward(ctx, grad_output)` for it, which returns {count} gradients, "
        f"one for each "
        f"of {', '.join(f'`{name}`' for name in function.inputs)}.",
        function.forward,
        _evidence(crash, function),
        0.96,
    )


def _saved_number(crash: CrashFact, function: CustomFunction) -> Blame | None:
    told = re.match(
        r"save_for_backward can only save variables, but argument (\d+) is of type (\w+)", crash.message
    )
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
    told: dict[str, float | str] = {"forward": line_text(function.forward)}
    if function.backward.file:
        told["backward"] = line_text(function.backward)
    return told | {"line": line_text(crash.place)}
