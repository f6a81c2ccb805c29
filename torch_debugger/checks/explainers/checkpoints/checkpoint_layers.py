"""A state dict of a model with other layers: renamed, added, left out, or another model altogether."""

from __future__ import annotations

from torch_debugger.checks.explainers.blame import Blame, line_text, shape_text
from torch_debugger.checks.explainers.checkpoints.state_loads import (
    counted,
    give_instead,
    load_statement,
    some_names,
)
from torch_debugger.checks.explainers.checkpoints.state_names import (
    fit_of,
    missing_and_unexpected,
    renamed_layers,
    renaming_code,
)
from torch_debugger.checks.explainers.statements import Change
from torch_debugger.records import CrashFact
from torch_debugger.records.evidence.checkpoints import ModelLoad, StateEntry

_PAIRS_SHOWN = 4


def explain_other_layers(crash: CrashFact) -> Blame | None:
    """Missing and unexpected names that no prefix and no inner dictionary explains."""
    evidence = crash.evidence.checkpoints
    load = evidence.model if evidence is not None and crash.kind == "RuntimeError" else None
    if load is None or not load.strict or load.of_optimizer or not load.saved or not load.wanted:
        return None
    if fit_of(load.saved, load.wanted) is not None or any(_has_fit(load)):
        return None
    missing, unexpected = missing_and_unexpected(load.saved, load.wanted)
    if not missing and not unexpected:
        return None
    pairs = renamed_layers(missing, unexpected)
    return _renamed(crash, load, pairs) if pairs else _different(crash, load, missing, unexpected)


def _has_fit(load: ModelLoad) -> list[bool]:
    return [fit_of(inner.entries, load.wanted) is not None for inner in load.inside]


def _renamed(crash: CrashFact, load: ModelLoad, pairs: list[tuple[str, str]]) -> Blame:
    pairs = list(dict.fromkeys(pairs))
    told = ", ".join(f"`{old}` -> `{new}`" for old, new in pairs[:_PAIRS_SHOWN])
    more = f" and {len(pairs) - _PAIRS_SHOWN} more" if len(pairs) > _PAIRS_SHOWN else ""
    change = _renaming(crash, load, pairs)
    return Blame(
        message=(
            f"The checkpoint has other names for parts of `{load.name}`: {told}{more}; their order and shapes "
            "agree."
        ),
        why="A state dict knows tensors by the names of the attributes that hold them; those were renamed "
        "since.",
        fix=f"Rename them while loading: {change.text}; or give the layers their old names.",
        where=change.where,
        evidence=_evidence(crash, load, *missing_and_unexpected(load.saved, load.wanted)),
        confidence=0.93,
        edit=change.edit,
    )


def _renaming(crash: CrashFact, load: ModelLoad, pairs: list[tuple[str, str]]) -> Change:
    statement, code = load_statement(crash), renaming_code(pairs, load.saved, load.wanted)
    if not code:
        told = f'map each old name to its new one, as in `k.replace("{pairs[0][0]}.", "{pairs[0][1]}.")`'
        return Change(told, None, statement.line)
    return give_instead(statement, f"{{{{{code}: v for k, v in {{}}.items()}}}}")


def _different(
    crash: CrashFact, load: ModelLoad, missing: list[StateEntry], unexpected: list[StateEntry]
) -> Blame | None:
    common = len(load.wanted) - len(missing)
    if missing and unexpected and not common:
        return _another_model(crash, load)
    told, fix = _told(load, missing, unexpected)
    statement = load_statement(crash)
    return Blame(
        message=f"{told}; the other {counted(common, 'name')} agree.",
        why="With strict=True, the default, every name must be on both sides: the checkpoint is of a model "
        "that was built differently.",
        fix=fix,
        where=statement.line,
        evidence=_evidence(crash, load, missing, unexpected),
        confidence=0.9,
    )


def _told(load: ModelLoad, missing: list[StateEntry], unexpected: list[StateEntry]) -> tuple[str, str]:
    lacks, holds = (
        some_names([entry.name for entry in missing]),
        some_names([entry.name for entry in unexpected]),
    )
    loose = "load with `strict=False`"
    if not unexpected:
        told = f"`{load.name}` has {counted(len(missing), 'tensor')} that the checkpoint lacks: {lacks}"
        return told, (
            f"Build `{load.name}` as it was when the checkpoint was saved, without {_layers_text(missing)}; "
            "or, to "
            f"add them on purpose, {loose}: they keep their initial values."
        )
    if not missing:
        told = (
            f"The checkpoint has {counted(len(unexpected), 'tensor')} that `{load.name}` has no place for: "
            f"{holds}"
        )
        return told, (
            f"Build `{load.name}` as it was when the checkpoint was saved, with {_layers_text(unexpected)}; "
            "or, to "
            f"leave them out on purpose, {loose}: they are then ignored."
        )
    told = f"The checkpoint has {holds} where `{load.name}` has {lacks}"
    return told, (
        f"If {_layers_text(missing)} are new on purpose, load the checkpoint before you put them in, or "
        f"{loose}: "
        f"they keep their initial values. Else build `{load.name}` with {_layers_text(unexpected)}, as it was "
        "when "
        "the checkpoint was saved."
    )


def _layers_text(entries: list[StateEntry]) -> str:
    return some_names(list(dict.fromkeys(entry.name.rpartition(".")[0] or entry.name for entry in entries)), 2)


def _another_model(crash: CrashFact, load: ModelLoad) -> Blame:
    saved, wanted = load.saved[0], load.wanted[0]
    return Blame(
        message=(
            f"The checkpoint is of another model than `{load.name}` ({load.kind}): none of its "
            f"{counted(len(load.saved), 'name')} is among the {len(load.wanted)} wanted."
        ),
        why=(
            f"It begins with `{saved.name}` {shape_text(saved.shape)}, the model with `{wanted.name}` "
            f"{shape_text(wanted.shape)}; no common prefix and no renaming in order makes them meet."
        ),
        fix=f"Load a file that was saved from this model ({load.kind}), or build the model that this one is "
        "of.",
        where=load_statement(crash).line,
        evidence=_evidence(crash, load, list(load.wanted), list(load.saved)),
        confidence=0.88,
    )


def _evidence(
    crash: CrashFact, load: ModelLoad, missing: list[StateEntry], unexpected: list[StateEntry]
) -> dict[str, float | str]:
    return {
        "line": line_text(load_statement(crash).line),
        "missing": some_names([entry.name for entry in missing]).replace("`", "") or "none",
        "unexpected": some_names([entry.name for entry in unexpected]).replace("`", "") or "none",
        "agreeing": float(len(load.wanted) - len(missing_and_unexpected(load.saved, load.wanted)[0])),
    }
