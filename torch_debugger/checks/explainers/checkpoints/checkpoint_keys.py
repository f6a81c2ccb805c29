"""A state dict that holds the model's tensors under other names, or inside another dictionary."""

from __future__ import annotations

from torch_debugger.checks.explainers.blame import Blame, line_text
from torch_debugger.checks.explainers.checkpoints.state_loads import (
    counted,
    give_instead,
    given_text,
    load_given_path,
    load_statement,
    nothing_given,
    receive_instead,
    some_names,
)
from torch_debugger.checks.explainers.checkpoints.state_names import Fit, fit_of
from torch_debugger.checks.explainers.statements import Change
from torch_debugger.records import CrashFact
from torch_debugger.records.evidence.checkpoints import InnerState, ModelLoad

_ORIGINS = {
    "module.": "It was saved from a model inside DataParallel or DistributedDataParallel, which keeps it under "
    "the name `module`.",
    "_orig_mod.": "It was saved from a model that torch.compile had wrapped: the wrapper keeps it under the "
    "name "
    "`_orig_mod`.",
    "model.": "It was saved by something that keeps the model as its attribute `model`, as a LightningModule "
    "does.",
}
_WRAPPERS = {"module": "DataParallel or DistributedDataParallel", "_orig_mod": "torch.compile"}


def explain_prefix(crash: CrashFact) -> Blame | None:
    """All names would fit, if it were not for a prefix."""
    load = _load(crash)
    fit = fit_of(load.saved, load.wanted) if load is not None and load.strict else None
    if load is None or fit is None or fit == Fit():
        return None
    return _under_part(crash, load, fit) if fit.submodule else _with_prefix(crash, load, fit)


def _load(crash: CrashFact) -> ModelLoad | None:
    evidence = crash.evidence.checkpoints
    return evidence.model if evidence is not None and crash.kind == "RuntimeError" else None


def _with_prefix(crash: CrashFact, load: ModelLoad, fit: Fit) -> Blame:
    change = give_instead(load_statement(crash), _stripping(fit))
    count = len(load.saved) - fit.leftover
    others = f"; {counted(fit.leftover, 'other entry')} would be left out" if fit.leftover else ""
    return Blame(
        message=(
            f"The checkpoint's names start with `{fit.strip}` and those of `{load.name}` do not; without it "
            "all "
            f"names and shapes fit ({counted(count, 'tensor')}){others}."
        ),
        why=_origin(fit.strip),
        fix=f"Take the prefix off: {change.text}.{_better_saving(fit.strip)}",
        where=change.where,
        evidence=_evidence(crash, load),
        confidence=0.98,
        edit=change.edit,
    )


def _stripping(fit: Fit, inner: str = "{}") -> str:
    only = f' if k.startswith("{fit.strip}")' if fit.leftover else ""
    return f'{{{{k.removeprefix("{fit.strip}"): v for k, v in {inner}.items(){only}}}}}'


def _origin(prefix: str) -> str:
    last = _ORIGINS.get(prefix[prefix.rstrip(".").rfind(".") + 1 :], "")
    known = _ORIGINS.get(prefix) or last
    return known or f"It was saved from something that keeps this model as its part `{prefix[:-1]}`."


def _better_saving(prefix: str) -> str:
    part = prefix.rstrip(".")
    known = part in ("module", "_orig_mod")
    return f" When saving, `model.{part}.state_dict()` writes plain names." if known else ""


def _under_part(crash: CrashFact, load: ModelLoad, fit: Fit) -> Blame:
    change = receive_instead(load_statement(crash), fit.submodule)
    wrapper = _WRAPPERS.get(fit.submodule)
    reason = (
        f"{wrapper} keeps the model under the name `{fit.submodule}`"
        if wrapper
        else "It was saved from that part"
    )
    return Blame(
        message=(
            f"The checkpoint's names lack the `{fit.submodule}.` that those of `{load.name}` start with; all "
            "of them "
            f"fit `{load.name}.{fit.submodule}` ({counted(len(load.saved), 'tensor')})."
        ),
        why=f"{reason}, so the state is not that of `{load.name}` as a whole.",
        fix=f"Load it there: {change.text}.",
        where=change.where,
        evidence=_evidence(crash, load),
        confidence=0.98,
        edit=change.edit,
    )


def explain_inner_state(crash: CrashFact) -> Blame | None:
    """A whole checkpoint was passed whose entry holds the model's state."""
    load = _load(crash)
    if load is None or not load.strict:
        return None
    fitting = [(inner, fit) for inner in load.inside if (fit := fit_of(inner.entries, load.wanted)) is not None]
    if not fitting:
        return None
    inner, fit = min(fitting, key=lambda pair: pair[1] != Fit())
    change = _taking(crash, inner, fit)
    prefix = f", under names that start with `{fit.strip}`" if fit.strip else ""
    return Blame(
        message=(
            f"`{load.name}` was given a whole checkpoint, with {some_names(_keys(load), 4)}; its own "
            f"{counted(len(load.wanted), 'tensor')} are in the entry `{inner.key}`{prefix}."
        ),
        why="load_state_dict takes the names of tensors as keys; the checkpoint keeps those one level deeper.",
        fix=f"Pass that entry: {change.text}.",
        where=change.where,
        evidence=_evidence(crash, load),
        confidence=0.98,
        edit=change.edit,
    )


def _taking(crash: CrashFact, inner: InnerState, fit: Fit) -> Change:
    statement, entry = load_statement(crash), f'{{}}["{inner.key}"]'
    if fit.submodule:
        change = give_instead(statement, entry)
        return Change(f"{change.text}, and call `{fit.submodule}.load_state_dict`", None, change.where)
    return give_instead(statement, _stripping(fit, entry) if fit.strip else entry)


def _keys(load: ModelLoad) -> list[str]:
    return [*load.others, *(entry.name for entry in load.saved)]


def _evidence(crash: CrashFact, load: ModelLoad) -> dict[str, float | str]:
    keys, wanted = _keys(load), [entry.name for entry in load.wanted]
    return {
        "line": line_text(load_statement(crash).line),
        "checkpoint": some_names(keys).replace("`", ""),
        "model": some_names(wanted).replace("`", ""),
    }


def explain_wrong_object(crash: CrashFact) -> Blame | None:
    """No dictionary at all: a path, None, the model; or the state of an optimizer."""
    evidence = crash.evidence.checkpoints
    load = evidence.model if evidence is not None else None
    if load is None or (load.given not in ("str", "NoneType") and load.wanted and not load.of_optimizer):
        return None
    statement = load_statement(crash)
    told, why, change = _what_it_is(crash, load)
    return Blame(
        message=f"`{load.name}.load_state_dict` was given {given_text(statement)}, {told}.",
        why=why,
        fix=f"{change.text[0].upper()}{change.text[1:]}.",
        where=change.where,
        evidence={"line": line_text(statement.line), "given": load.given, "model": load.kind},
        confidence=0.97,
        edit=change.edit,
    )


def _what_it_is(crash: CrashFact, load: ModelLoad) -> tuple[str, str, Change]:
    statement = load_statement(crash)
    if load.of_optimizer:
        told = f"give it the state that `{load.name}.state_dict()` made when the checkpoint was saved"
        why = "The keys `state` and `param_groups` are those of an optimizer; a model's keys name its tensors."
        return "an optimizer's state", why, Change(told, None, statement.line)
    if load.given in ("str", "pathlib.PosixPath", "pathlib.WindowsPath"):
        why = "load_state_dict takes the dictionary itself; torch.load reads it from the file."
        return "a path and no state dict", why, load_given_path(statement)
    why = "load_state_dict takes a dictionary of tensors by their names."
    if load.given == "NoneType":
        return "which is None", why, nothing_given(statement)
    if load.given in ("builtin_function_or_method", "function", "method"):
        return "a function that was not called", why, give_instead(statement, "{}()")
    kind = load.given.rpartition(".")[2]
    return f"which is of class {kind} and no state dict", why, give_instead(statement, "{}.state_dict()")
