"""Classes that torch.load will not import from a file unless it is told that they are safe."""

from __future__ import annotations

from torch_debugger.checks.explainers.blame import Blame, line_text, place_text, user_frame
from torch_debugger.checks.explainers.calls import is_simple_statement
from torch_debugger.checks.explainers.checkpoints.state_loads import counted, some_names
from torch_debugger.checks.explainers.statements import Statement, statement_of
from torch_debugger.records import CrashFact, Edit
from torch_debugger.records.evidence.checkpoints import RefusedGlobal

_LISTED = 6  # more than this is no list that anybody should write


def explain_refusal(crash: CrashFact) -> Blame | None:
    """weights_only, the default since torch 2.6, met a class that it does not know."""
    evidence, frame = crash.evidence.checkpoints, user_frame(crash)
    refused = evidence.refused if evidence is not None else ()
    if not refused or frame is None or crash.kind != "UnpicklingError":
        return None
    statement = statement_of(frame, None)
    edit = _edit(statement, refused) if evidence is not None and evidence.refused_all else None
    return Blame(
        message=f"torch.load refused {_what(refused)} in the file: "
        f"{some_names([item.name for item in refused])}.",
        why="Since torch 2.6 torch.load reads only tensors and plain values unless it is told otherwise "
        "(weights_only=True): importing and calling what a file names would let that file run any code.",
        fix=_fix(statement, refused),
        where=statement.line,
        evidence={"refused": ", ".join(item.name for item in refused), "line": line_text(statement.line)},
        confidence=0.97,
        edit=edit,
    )


def _what(refused: tuple[RefusedGlobal, ...]) -> str:
    if any(item.module_class for item in refused):
        return "a whole model, saved as an object"
    if all(item.name.startswith("numpy.") for item in refused):
        return "numpy values"
    if len(refused) == 1:
        owner = "your own" if refused[0].user_class else "a"
        return f"{owner} {'function' if refused[0].function else 'class'}"
    return counted(len(refused), "class").replace("classs", "classes")


def _fix(statement: Statement, refused: tuple[RefusedGlobal, ...]) -> str:
    allow = _allowing(statement, refused)
    trust = "Pass `weights_only=False` instead only for a file that you made or trust."
    if any(item.module_class for item in refused):
        better = "Better, save `model.state_dict()` and load it into a model that you build."
    elif all(item.name.startswith("numpy.") for item in refused):
        better = (
            "Better, save plain values: `float(x)` or `x.item()` for a number, `torch.from_numpy(x)` for "
            "an array."
        )
    else:
        better = "Better, save plain values (`vars(x)` of a settings object) beside the state dicts."
    return f"{allow} {better} {trust}"


def _allowing(statement: Statement, refused: tuple[RefusedGlobal, ...]) -> str:
    if len(refused) > _LISTED:
        return f"The file names {len(refused)} such classes, too many to allow one by one."
    imports = [f"`{_import(item.name)}`" for item in refused if not item.written]
    needed = f", after {' and '.join(imports)}" if imports else ""
    return f"To load this file as it is, put {place_text(statement.line)} inside `{_allowed(refused)}`{needed}."


def _import(name: str) -> str:
    home, _, last = name.rpartition(".")
    return f"from {home} import {last}"


def _allowed(refused: tuple[RefusedGlobal, ...]) -> str:
    names = [item.written or item.name.rpartition(".")[2] for item in refused]
    return f"with torch.serialization.safe_globals([{', '.join(names)}]):"


def _edit(statement: Statement, refused: tuple[RefusedGlobal, ...]) -> Edit | None:
    """The statement inside the context that allows the names; with an import where one is not in reach."""
    place, unknown = statement.whole, [item for item in refused if not item.written]
    if len(refused) > _LISTED or place.file is None or place.line is None or not place.code:
        return None
    if any(item.user_class for item in unknown) or not is_simple_statement(place.code):
        return None
    first = place.code.partition("\n")[0]
    lines = [*(_import(item.name) for item in unknown), _allowed(refused), f"    {first}"]
    return Edit(place.file, place.line, first, "\n".join(lines))
