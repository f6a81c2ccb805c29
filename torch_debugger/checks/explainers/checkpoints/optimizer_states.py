"""An optimizer's load_state_dict that was given another optimizer's state, a model's, or a whole checkpoint."""

from __future__ import annotations

from torch_debugger.checks.explainers.blame import Blame, line_text, place_text
from torch_debugger.checks.explainers.checkpoints.state_loads import (
    counted,
    give_instead,
    given_text,
    load_given_path,
    load_statement,
    nothing_given,
    some_names,
)
from torch_debugger.checks.explainers.statements import Change, Statement
from torch_debugger.records import CrashFact
from torch_debugger.records.evidence.checkpoints import OptimizerLoad


def explain_optimizer_state(crash: CrashFact) -> Blame | None:
    evidence = crash.evidence.checkpoints
    load = evidence.optimizer if evidence is not None else None
    if load is None:
        return None
    statement = load_statement(crash)
    if load.saved_groups:
        return _other_groups(load, statement) if load.saved_groups != load.groups else None
    told, why, change = _what_it_is(load, statement)
    return _blame(load, statement, told, why, change) if told else None


def _what_it_is(load: OptimizerLoad, statement: Statement) -> tuple[str, str, Change]:
    why = "An optimizer's state dict has the keys `state` and `param_groups`; this has neither."
    if len(load.inside) == 1:
        told = f"a whole checkpoint, with {some_names(list(load.keys), 4)}; the optimizer's state is in "
        change = give_instead(statement, f'{{}}["{load.inside[0]}"]')
        return f"{told}`{load.inside[0]}`", why, change
    if load.of_model:
        told = f"a model's state: {some_names(list(load.keys))}"
        fix = f"save `{load.name}.state_dict()` beside the model's state and pass that entry"
        return told, why, Change(fix, None, statement.line)
    if load.given == "str":
        why = "load_state_dict takes the dictionary itself; torch.load reads it from the file."
        return "a path and no state dict", why, load_given_path(statement)
    if load.given == "NoneType":
        return "None", "load_state_dict takes a dictionary.", nothing_given(statement)
    if load.given.startswith("torch.optim."):
        why = "load_state_dict takes a dictionary, not the optimizer it is of."
        return "an optimizer", why, give_instead(statement, "{}.state_dict()")
    return "", "", Change("", None, statement.line)


def _blame(load: OptimizerLoad, statement: Statement, told: str, why: str, change: Change) -> Blame:
    return Blame(
        message=f"`{load.name}.load_state_dict` was given {given_text(statement)}, which is {told}.",
        why=why,
        fix=f"{change.text[0].upper()}{change.text[1:]}.",
        where=change.where,
        evidence={"line": line_text(statement.line), "given": load.given, "optimizer": load.kind},
        confidence=0.97,
        edit=change.edit,
    )


def _other_groups(load: OptimizerLoad, statement: Statement) -> Blame:
    saved, now = _groups_text(load.saved_groups), _groups_text(load.groups)
    return Blame(
        message=f"The saved optimizer state is of {saved}, but `{load.name}` has {now}.",
        why="An optimizer's state is matched to its parameters by their order alone, so the groups and the "
        "number "
        "of parameters in each must be those of the run that saved it.",
        fix=(
            f"Build `{load.name}` over the same parameters and groups as in the run that saved the state"
            f"{_hint(load)}; or skip {place_text(statement.line)} and start with fresh optimizer state."
        ),
        where=statement.line,
        evidence={"line": line_text(statement.line), "saved": saved, "now": now},
        confidence=0.97,
    )


def _groups_text(groups: tuple[int, ...]) -> str:
    total = counted(sum(groups), "parameter")
    if len(groups) == 1:
        return f"{total} in one group"
    return f"{total} in {len(groups)} groups ({', '.join(map(str, groups))})"


def _hint(load: OptimizerLoad) -> str:
    """Where only the number in one group differs, parameters were frozen or layers added."""
    if len(load.groups) != len(load.saved_groups):
        return ""
    more, fewer = sum(load.groups), sum(load.saved_groups)
    if more < fewer:
        return f" ({fewer - more} fewer now: frozen, left out, or of a smaller model)"
    return f" ({more - fewer} more now: of new layers, or not frozen this time)"
