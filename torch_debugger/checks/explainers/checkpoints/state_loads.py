"""The user's call of load_state_dict, and how to give it something else."""

from __future__ import annotations

from torch_debugger.checks.explainers.blame import place_text, user_frame
from torch_debugger.checks.explainers.calls import one_line, rewritten
from torch_debugger.checks.explainers.statements import Change, Statement, statement_of
from torch_debugger.records import CrashFact, Place

_CALL = ["load_state_dict"]


def load_statement(crash: CrashFact) -> Statement:
    frame = user_frame(crash)
    return statement_of(frame, None) if frame is not None else Statement(Place(), Place())


def give_instead(statement: Statement, pattern: str) -> Change:
    """Write `pattern` ('{}["model"]') around what the call is given."""
    return statement.change(_CALL, pattern, 0, "state_dict")


def load_given_path(statement: Statement) -> Change:
    """Put torch.load around a path, however it is written."""
    argument = statement.argument(_CALL, 0, "state_dict")
    if argument is None:
        return Change(f"read the file with torch.load at {place_text(statement.line)}", None, statement.line)
    changed = argument.replaced(f'torch.load({argument.text}, map_location="cpu")')
    text = f"write `{one_line(changed)}` instead of `{one_line(argument.call)}` at {place_text(statement.line)}"
    return Change(text, rewritten(statement.whole, argument.call, changed), statement.line)


def receive_instead(statement: Statement, submodule: str) -> Change:
    """Call the load_state_dict of a part of the model: model.module.load_state_dict(...)"""
    call = statement.call(_CALL)
    if call is None or call.count(".load_state_dict(") != 1:
        told = f"call `{submodule}.load_state_dict` of the model at {place_text(statement.line)}"
        return Change(told, None, statement.line)
    changed = call.replace(".load_state_dict(", f".{submodule}.load_state_dict(")
    text = f"write `{one_line(changed)}` instead of `{one_line(call)}` at {place_text(statement.line)}"
    return Change(text, rewritten(statement.whole, call, changed), statement.line)


def given_text(statement: Statement) -> str:
    """`torch.load(path)`, or what can be said of it"""
    argument = statement.argument(_CALL, 0, "state_dict")
    return f"`{one_line(argument.text)}`" if argument is not None else "what it was given"


def counted(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def nothing_given(statement: Statement) -> Change:
    told = "make sure that it was loaded: a function without `return` and `.get` of an absent key give None"
    return Change(told, None, statement.line)


def some_names(names: list[str], shown: int = 3) -> str:
    """`fc.weight`, `fc.bias` and 4 more"""
    told = ", ".join(f"`{name}`" for name in names[:shown])
    return f"{told} and {len(names) - shown} more" if len(names) > shown else told
