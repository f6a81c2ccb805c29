"""TD940: a state dict whose names are not those of what it is loaded into."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch_debugger.checks.crash_check import CrashCheck
from torch_debugger.checks.crashes.explanation import Blame, as_sentence, line_text, place_text, shape_text, user_frame
from torch_debugger.checks.crashes.user_code import Change, Statement, one_line, statement_of, write_instead
from torch_debugger.records import CrashFact, Place
from torch_debugger.records.crash_modules import ModelLoad, OptimizerLoad, StateEntry

# A state dict that holds the model's tensors under other names, or inside another dictionary.
_ORIGINS = {
    "module.": "It was saved from a model inside DataParallel or DistributedDataParallel, which keeps it under "
    "the name `module`.",
    "_orig_mod.": "It was saved from a model that torch.compile had wrapped: the wrapper keeps it under the name "
    "`_orig_mod`.",
    "model.": "It was saved by something that keeps the model as its attribute `model`, as a LightningModule does.",
}
_TAKES_NO_PATH = "load_state_dict takes the dictionary itself; torch.load reads it from the file."
_WRAPPERS = {"module": "DataParallel or DistributedDataParallel", "_orig_mod": "torch.compile"}


def explain_prefix(crash: CrashFact) -> Blame | None:
    """All names would fit, if it were not for a prefix."""
    load = _load(crash)
    fit = fit_of(load.saved, load.wanted) if load is not None else None
    if load is None or fit is None or fit == Fit():
        return None
    statement = load_statement(crash)
    if fit.submodule:
        change = receive_instead(statement, fit.submodule)
        message = (
            f"The checkpoint's names lack the `{fit.submodule}.` that those of `{load.name}` start with; all of them "
            f"fit `{load.name}.{fit.submodule}` ({counted(len(load.saved), 'tensor')})."
        )
        wrapper = _WRAPPERS.get(fit.submodule)
        reason = (
            f"{wrapper} keeps the model under the name `{fit.submodule}`" if wrapper else "It was saved from that part"
        )
        why = f"{reason}, so the state is not that of `{load.name}` as a whole."
        fix = f"Load it there: {change.text}."
    else:
        change, part = give_instead(statement, _stripping(fit)), fit.strip.rstrip(".")
        others = f"; {counted(fit.leftover, 'other entry')} would be left out" if fit.leftover else ""
        message = (
            f"The checkpoint's names start with `{fit.strip}` and those of `{load.name}` do not; without it all names "
            f"and shapes fit ({counted(len(load.saved) - fit.leftover, 'tensor')}){others}."
        )
        why = _ORIGINS.get(fit.strip) or _ORIGINS.get(fit.strip[part.rfind(".") + 1 :], "")
        why = why or f"It was saved from something that keeps this model as its part `{fit.strip[:-1]}`."
        fix = f"Take the prefix off: {change.text}."
        if part in _WRAPPERS:
            fix += f" When saving, `model.{part}.state_dict()` writes plain names."
    return Blame(message, why, fix, change.where, _evidence(crash, load), 0.98, change.edit)


def _load(crash: CrashFact) -> ModelLoad | None:
    """A load that torch refused for the names, which `strict` asks for."""
    load = crash.evidence.checkpoints.model if crash.evidence.checkpoints is not None else None
    return load if load is not None and load.strict and crash.kind == "RuntimeError" else None


def _stripping(fit: Fit, inner: str = "{}") -> str:
    only = f' if k.startswith("{fit.strip}")' if fit.leftover else ""
    return f'{{{{k.removeprefix("{fit.strip}"): v for k, v in {inner}.items(){only}}}}}'


def explain_inner_state(crash: CrashFact) -> Blame | None:
    """A whole checkpoint was passed whose entry holds the model's state."""
    load = _load(crash)
    if load is None:
        return None
    fitting = [(inner, fit) for inner in load.inside if (fit := fit_of(inner.entries, load.wanted)) is not None]
    if not fitting:
        return None
    inner, fit = min(fitting, key=lambda pair: pair[1] != Fit())
    entry = f'{{}}["{inner.key}"]'
    change = give_instead(load_statement(crash), _stripping(fit, entry) if fit.strip else entry)
    if fit.submodule:
        change = Change(f"{change.text}, and call `{fit.submodule}.load_state_dict`", None, change.where)
    prefix = f", under names that start with `{fit.strip}`" if fit.strip else ""
    return Blame(
        message=f"`{load.name}` was given a whole checkpoint, with {some_names(_keys(load), 4)}; its own "
        f"{counted(len(load.wanted), 'tensor')} are in the entry `{inner.key}`{prefix}.",
        why="load_state_dict takes the names of tensors as keys; the checkpoint keeps those one level deeper.",
        fix=f"Pass that entry: {change.text}.",
        where=change.where,
        evidence=_evidence(crash, load),
        confidence=0.98,
        edit=change.edit,
    )


def _keys(load: ModelLoad) -> list[str]:
    return [*load.others, *(entry.name for entry in load.saved)]


def _evidence(crash: CrashFact, load: ModelLoad) -> dict[str, float | str]:
    return {
        "line": line_text(load_statement(crash).line),
        "checkpoint": some_names(_keys(load)).replace("`", ""),
        "model": some_names([entry.name for entry in load.wanted]).replace("`", ""),
    }


def explain_wrong_object(crash: CrashFact) -> Blame | None:
    """No dictionary at all: a path, None, the model; or the state of an optimizer."""
    evidence = crash.evidence.checkpoints
    load = evidence.model if evidence is not None else None
    if load is None or (load.given not in ("str", "NoneType") and load.wanted and not load.of_optimizer):
        return None
    statement, why = load_statement(crash), "load_state_dict takes a dictionary of tensors by their names."
    if load.of_optimizer:
        told = "an optimizer's state"
        why = "The keys `state` and `param_groups` are those of an optimizer; a model's keys name its tensors."
        text = f"give it the state that `{load.name}.state_dict()` made when the checkpoint was saved"
        change = Change(text, None, statement.line)
    elif load.given in ("str", "pathlib.PosixPath", "pathlib.WindowsPath"):
        told, why, change = "a path and no state dict", _TAKES_NO_PATH, load_given_path(statement)
    elif load.given == "NoneType":
        told, change = "which is None", nothing_given(statement)
    elif load.given in ("builtin_function_or_method", "function", "method"):
        told, change = "a function that was not called", give_instead(statement, "{}()")
    else:
        told = f"which is of class {load.given.rpartition('.')[2]} and no state dict"
        change = give_instead(statement, "{}.state_dict()")
    return Blame(
        message=f"`{load.name}.load_state_dict` was given {given_text(statement)}, {told}.",
        why=why,
        fix=as_sentence(change.text),
        where=change.where,
        evidence={"line": line_text(statement.line), "given": load.given, "model": load.kind},
        edit=change.edit,
    )


# A state dict of a model with other layers: renamed, added, left out, or another model altogether.
_PAIRS_SHOWN = 4


def explain_other_layers(crash: CrashFact) -> Blame | None:
    """Missing and unexpected names that no prefix and no inner dictionary explains."""
    load = _load(crash)
    if load is None or load.of_optimizer or not load.saved or not load.wanted:
        return None
    if any(fit_of(entries, load.wanted) for entries in (load.saved, *(inner.entries for inner in load.inside))):
        return None
    missing, unexpected = missing_and_unexpected(load.saved, load.wanted)
    pairs = list(dict.fromkeys(renamed_layers(missing, unexpected)))
    statement = load_statement(crash)
    evidence: dict[str, float | str] = {
        "line": line_text(statement.line),
        "missing": some_names([entry.name for entry in missing]).replace("`", "") or "none",
        "unexpected": some_names([entry.name for entry in unexpected]).replace("`", "") or "none",
        "agreeing": float(len(load.wanted) - len(missing)),
    }
    if pairs:
        told = ", ".join(f"`{old}` -> `{new}`" for old, new in pairs[:_PAIRS_SHOWN])
        more = f" and {len(pairs) - _PAIRS_SHOWN} more" if len(pairs) > _PAIRS_SHOWN else ""
        code = renaming_code(pairs, load.saved, load.wanted)
        text = f'map each old name to its new one, as in `k.replace("{pairs[0][0]}.", "{pairs[0][1]}.")`'
        change = Change(text, None, statement.line)
        if code:
            change = give_instead(statement, f"{{{{{code}: v for k, v in {{}}.items()}}}}")
        message = (
            f"The checkpoint has other names for parts of `{load.name}`: {told}{more}; their order and shapes agree."
        )
        why = "A state dict knows tensors by the names of the attributes that hold them; those were renamed since."
        fix = f"Rename them while loading: {change.text}; or give the layers their old names."
        return Blame(message, why, fix, change.where, evidence, 0.93, change.edit)
    common = len(load.wanted) - len(missing)
    if missing and unexpected and not common:
        saved, wanted = load.saved[0], load.wanted[0]
        return Blame(
            message=f"The checkpoint is of another model than `{load.name}` ({load.kind}): none of its "
            f"{counted(len(load.saved), 'name')} is among the {len(load.wanted)} wanted.",
            why=f"It begins with `{saved.name}` {shape_text(saved.shape)}, the model with `{wanted.name}` "
            f"{shape_text(wanted.shape)}; no common prefix and no renaming in order makes them meet.",
            fix=f"Load a file that was saved from this model ({load.kind}), or build the model that this one is of.",
            where=statement.line,
            evidence=evidence,
            confidence=0.88,
        )
    if not missing and not unexpected:
        return None
    told, fix = _other_names(load, missing, unexpected)
    return Blame(
        message=f"{told}; the other {counted(common, 'name')} agree.",
        why="With strict=True, the default, every name must be on both sides: the checkpoint is of a model "
        "that was built differently.",
        fix=fix,
        where=statement.line,
        evidence=evidence,
        confidence=0.9,
    )


def _other_names(load: ModelLoad, missing: list[StateEntry], unexpected: list[StateEntry]) -> tuple[str, str]:
    lacks, holds = some_names([entry.name for entry in missing]), some_names([entry.name for entry in unexpected])
    new, gone = (
        some_names(list(dict.fromkeys(entry.name.rpartition(".")[0] or entry.name for entry in entries)), 2)
        for entries in (missing, unexpected)
    )
    loose, build = "load with `strict=False`", f"Build `{load.name}` as it was when the checkpoint was saved"
    if not unexpected:
        return (
            f"`{load.name}` has {counted(len(missing), 'tensor')} that the checkpoint lacks: {lacks}",
            f"{build}, without {new}; or, to add them on purpose, {loose}: they keep their initial values.",
        )
    if not missing:
        return (
            f"The checkpoint has {counted(len(unexpected), 'tensor')} that `{load.name}` has no place for: {holds}",
            f"{build}, with {gone}; or, to leave them out on purpose, {loose}: they are then ignored.",
        )
    return (
        f"The checkpoint has {holds} where `{load.name}` has {lacks}",
        f"If {new} are new on purpose, load the checkpoint before you put them in, or {loose}: they keep their initial "
        f"values. Else build `{load.name}` with {gone}, as it was when the checkpoint was saved.",
    )


# An optimizer's load_state_dict that was given another optimizer's state, a model's, or a whole checkpoint.
def explain_optimizer_state(crash: CrashFact) -> Blame | None:
    evidence = crash.evidence.checkpoints
    load = evidence.optimizer if evidence is not None else None
    if load is None:
        return None
    statement = load_statement(crash)
    if load.saved_groups:
        return _other_groups(load, statement) if load.saved_groups != load.groups else None
    why = "An optimizer's state dict has the keys `state` and `param_groups`; this has neither."
    if len(load.inside) == 1:
        told = (
            f"a whole checkpoint, with {some_names(list(load.keys), 4)}; the optimizer's state is in `{load.inside[0]}`"
        )
        change = give_instead(statement, f'{{}}["{load.inside[0]}"]')
    elif load.of_model:
        told = f"a model's state: {some_names(list(load.keys))}"
        text = f"save `{load.name}.state_dict()` beside the model's state and pass that entry"
        change = Change(text, None, statement.line)
    elif load.given == "str":
        told, why, change = "a path and no state dict", _TAKES_NO_PATH, load_given_path(statement)
    elif load.given == "NoneType":
        told, why, change = "None", "load_state_dict takes a dictionary.", nothing_given(statement)
    elif load.given.startswith("torch.optim."):
        told, why = "an optimizer", "load_state_dict takes a dictionary, not the optimizer it is of."
        change = give_instead(statement, "{}.state_dict()")
    else:
        return None
    return Blame(
        message=f"`{load.name}.load_state_dict` was given {given_text(statement)}, which is {told}.",
        why=why,
        fix=as_sentence(change.text),
        where=change.where,
        evidence={"line": line_text(statement.line), "given": load.given, "optimizer": load.kind},
        edit=change.edit,
    )


def _other_groups(load: OptimizerLoad, statement: Statement) -> Blame:
    saved, now = _groups_text(load.saved_groups), _groups_text(load.groups)
    more, fewer, hint = sum(load.groups), sum(load.saved_groups), ""
    if len(load.groups) == len(load.saved_groups):
        # Where only the number in one group differs, parameters were frozen or layers added.
        hint = f" ({more - fewer} more now: of new layers, or not frozen this time)"
        if more < fewer:
            hint = f" ({fewer - more} fewer now: frozen, left out, or of a smaller model)"
    return Blame(
        message=f"The saved optimizer state is of {saved}, but `{load.name}` has {now}.",
        why="An optimizer's state is matched to its parameters by their order alone, so the groups and the number of "
        "parameters in each must be those of the run that saved it.",
        fix=f"Build `{load.name}` over the same parameters and groups as in the run that saved the state{hint}; or "
        f"skip {place_text(statement.line)} and start with fresh optimizer state.",
        where=statement.line,
        evidence={"line": line_text(statement.line), "saved": saved, "now": now},
    )


def _groups_text(groups: tuple[int, ...]) -> str:
    total = counted(sum(groups), "parameter")
    if len(groups) == 1:
        return f"{total} in one group"
    return f"{total} in {len(groups)} groups ({', '.join(map(str, groups))})"


class CheckpointKeys(CrashCheck):
    """A state dict's names do not meet those of the model or optimizer it was loaded into.

    Symptom:
        load_state_dict stops with "Missing key(s) in state_dict", "Unexpected key(s) in state_dict",
        "doesn't match the size of optimizer's group", or "Expected state_dict to be dict-like".
    Evidence:
        The names and shapes that were given, those the model wants, and whether a prefix, an entry of the
        checkpoint or a renaming in order makes them meet. For an optimizer, the parameters in each group.
    Fix:
        Pass the entry that holds the state, take the prefix off, or load into the wrapped part, as the
        finding says; the expression is filled in.
    Known limits:
        Renamed layers are paired by order, leaf names and shapes. Where layers were added, left out or
        replaced, which side is right is for you to say, and no edit is offered.
    """

    id = "TD940"
    name = "checkpoint-keys"
    title = "a state dict's names are not those of its model or optimizer"
    explainers = (
        explain_wrong_object,
        explain_prefix,
        explain_inner_state,
        explain_other_layers,
        explain_optimizer_state,
    )


# The names of a state dict against those a model wants: the same under a prefix, renamed, or others.
@dataclass(frozen=True, slots=True)
class Fit:
    """How the saved names become the wanted ones."""

    strip: str = ""  # off every saved name
    submodule: str = ""  # the part of the model that the saved names are of
    leftover: int = 0  # saved entries that do not carry the prefix


def fit_of(saved: Sequence[StateEntry], wanted: Sequence[StateEntry]) -> Fit | None:
    """A prefix, to take off or to look under, that makes all names meet, shapes included; else None."""
    have, want = _shapes(saved), _shapes(wanted)
    if not have or not want:
        return None
    if have == want:
        return Fit()
    first_wanted, first_saved = next(iter(want)), next(iter(have))
    for name in have:
        prefix = name.removesuffix(first_wanted)
        if name != prefix and prefix.endswith(".") and _under(have, prefix) == want:
            return Fit(strip=prefix, leftover=len(have) - len(want))
    for name in want:
        prefix = name.removesuffix(first_saved)
        if name != prefix and prefix.endswith(".") and _under(want, prefix) == have:
            return Fit(submodule=prefix[:-1])
    return None


def _shapes(entries: Sequence[StateEntry]) -> dict[str, tuple[int, ...]]:
    return {entry.name: entry.shape for entry in entries}


def _under(shapes: dict[str, tuple[int, ...]], prefix: str) -> dict[str, tuple[int, ...]]:
    return {name.removeprefix(prefix): shape for name, shape in shapes.items() if name.startswith(prefix)}


def missing_and_unexpected(
    saved: Sequence[StateEntry], wanted: Sequence[StateEntry]
) -> tuple[list[StateEntry], list[StateEntry]]:
    """What the model wants and the file lacks; what the file holds and the model has no place for."""
    have, want = _shapes(saved), _shapes(wanted)
    missing = [entry for entry in wanted if entry.name not in have]
    return missing, [entry for entry in saved if entry.name not in want]


def renamed_layers(missing: list[StateEntry], unexpected: list[StateEntry]) -> list[tuple[str, str]]:
    """Old and new layer names, paired by order, leaf names and shapes; empty where not all of them pair."""
    old, new = _layers(unexpected), _layers(missing)
    if not old or len(old) != len(new) or list(old.values()) != list(new.values()):
        return []
    pairs = []
    for before, after in zip(old, new, strict=True):
        # Without the end they share: encoder.0.conv, body.0.conv give encoder, body.
        left, right = before.split("."), after.split(".")
        while len(left) > 1 and len(right) > 1 and left[-1] == right[-1]:
            left, right = left[:-1], right[:-1]
        pairs.append((".".join(left), ".".join(right)))
    return pairs


def _layers(entries: list[StateEntry]) -> dict[str, dict[str, tuple[int, ...]]]:
    """fc -> {weight: [10, 5], bias: [10]}"""
    layers: dict[str, dict[str, tuple[int, ...]]] = {}
    for entry in entries:
        layer, _, leaf = entry.name.rpartition(".")
        layers.setdefault(layer, {})[leaf] = entry.shape
    return layers


def renaming_code(pairs: list[tuple[str, str]], saved: Sequence[StateEntry], wanted: Sequence[StateEntry]) -> str:
    """k.replace("fc.", "head.") that turns every saved name into a wanted one; empty where none is short."""
    steps = list(dict.fromkeys((f"{old}.", f"{new}.") for old, new in pairs))
    names = [entry.name for entry in saved]
    for old, new in steps:
        names = [name.replace(old, new) for name in names]
    if len(steps) > 3 or sorted(names) != sorted(entry.name for entry in wanted):
        return ""
    return "k" + "".join(f'.replace("{old}", "{new}")' for old, new in steps)


# The user's call of load_state_dict, and how to give it something else.
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
    return write_instead(statement.whole, argument.call, changed, statement.line)


def receive_instead(statement: Statement, submodule: str) -> Change:
    """Call the load_state_dict of a part of the model: model.module.load_state_dict(...)"""
    call = statement.call(_CALL)
    if call is None or call.count(".load_state_dict(") != 1:
        told = f"call `{submodule}.load_state_dict` of the model at {place_text(statement.line)}"
        return Change(told, None, statement.line)
    changed = call.replace(".load_state_dict(", f".{submodule}.load_state_dict(")
    return write_instead(statement.whole, call, changed, statement.line)


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
