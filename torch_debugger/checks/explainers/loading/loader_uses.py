"""A DataLoader, or what comes out of it, used as something else than it is."""

from __future__ import annotations

import re

from torch_debugger.checks.explainers.blame import Blame, line_text, place_text, user_frame
from torch_debugger.checks.explainers.calls import rewritten
from torch_debugger.checks.explainers.statements import statement_of
from torch_debugger.records import CrashFact, Edit, Place
from torch_debugger.records.evidence.loading import LoaderUse

_KEYS = 5  # of a dict that are named
_UNPACK = r"(too many|not enough) values to unpack \(expected (\d+)"


def explain_use(crash: CrashFact) -> Blame | None:
    loading = crash.evidence.loading
    if loading is None or loading.use is None or loading.loader is None:
        return None
    use = loading.use
    if not use.loop.file:
        return _as_iterator(crash, use) if crash.kind == "TypeError" else None
    unpacked = re.match(_UNPACK, crash.message) if crash.kind == "ValueError" and not use.variable else None
    if unpacked is not None and use.parts is not None:
        return _unpacked(crash, use, loading.loader.dataset, int(unpacked[2]))
    return _wrong_kind(crash, use, loading.loader.dataset) if use.variable and use.parts is not None else None


def _as_iterator(crash: CrashFact, use: LoaderUse) -> Blame | None:
    """next(loader) and loader[0]"""
    frame = user_frame(crash)
    if frame is None or ("iterator" not in crash.message and "subscriptable" not in crash.message):
        return None
    line, instead = statement_of(frame, None), f"next(iter({use.name}))"
    called = use.around == "next"
    is_no = "no iterator" if called else "nothing with numbered entries"
    other = (
        "keep `iter(...)` in a variable to go on from there"
        if called
        else f"`{use.name}.dataset[0]` is one sample"
    )
    return Blame(
        message=f"`{use.name}` at {place_text(line.line)} is a DataLoader, which is {is_no}.",
        why="A DataLoader starts anew with every `iter(...)` or `for`; only what that gives hands out batches.",
        fix=f"Write `{instead}` for one batch; {other}.",
        where=line.line,
        evidence={"line": line_text(line.line)},
        confidence=0.98,
        edit=rewritten(line.whole, f"next({use.name})", instead) if called else None,
    )


def _unpacked(crash: CrashFact, use: LoaderUse, dataset: str, names: int) -> Blame | None:
    numbered = use.around == "enumerate" and _flat(use)
    if names == (2 if numbered else use.parts):
        return None
    after = _header(use, names)
    gives = f"`{dataset}` gives {_parts(use)} (a sample is {use.sample})"
    if use.collate:
        gives = f"`{use.name}` gives what `{use.collate}` returns: {_parts(use) if use.keys else use.sample}"
    if numbered:
        gives = f"`{use.around}` gives two: a number and the batch"
    return Blame(
        message=f"{place_text(use.loop)} takes {names} values in each round, but {gives}.",
        why=_whole(use),
        fix=f"Write `for {after} in {_iterated(use)}:` at {place_text(use.loop)}."
        if after
        else _other_way(use),
        where=use.loop,
        evidence={_kind(use): use.sample, "values taken": float(names), "line": line_text(use.loop)},
        confidence=0.97,
        edit=_header_edit(use, after) if after else None,
    )


def _whole(use: LoaderUse) -> str:
    if use.keys:
        return "Taking a dict apart gives its keys, as any loop over a dict does, and not what they hold."
    made = f"what `{use.collate}` puts in it" if use.collate else "a sample of the dataset"
    return f"A batch has as many parts as {made}, and is one value until it is taken apart."


def _kind(use: LoaderUse) -> str:
    return "batch" if use.collate else "sample"


def _flat(use: LoaderUse) -> bool:
    """`for i, x, y in enumerate(loader)`: the batch is not in parentheses of its own."""
    return "(" not in use.target.strip("()")


def _parts(use: LoaderUse) -> str:
    if use.keys:
        return f"a dict with {', '.join(use.keys)}"
    return "one tensor" if use.parts == 1 else f"{use.parts} parts"


def _iterated(use: LoaderUse) -> str:
    return f"{use.around}({use.name})" if use.around else use.name


def _header(use: LoaderUse, names: int) -> str:
    """What the loop's target must be; empty where that is not plain."""
    taken = [name.strip() for name in use.target.strip("()").split(",")]
    if use.around == "enumerate" and _flat(use):
        fits = len(taken) == names and use.parts == names - 1 and not use.keys
        return f"{taken[0]}, ({', '.join(taken[1:])})" if fits else ""
    if (
        use.around
        or use.collate  # which of its parts the names stand for is not known
        or use.keys
        or not _flat(use)
        or use.parts is None
        or use.parts <= names
        or len(taken) != names
    ):
        return ""
    return ", ".join([*taken, *["_"] * (use.parts - names)])


def _header_edit(use: LoaderUse, after: str) -> Edit | None:
    written = re.match(r"for (.+?) in ", use.loop.code or "")
    return rewritten(use.loop, f"for {written[1]} in ", f"for {after} in ") if written else None


def _other_way(use: LoaderUse) -> str:
    if use.keys:
        taken = [f"`batch[{key}]`" for key in use.keys[:_KEYS]]
        listed = " and ".join(filter(None, (", ".join(taken[:-1]), taken[-1])))
        target = f"{use.target.strip('()').partition(',')[0]}, batch" if use.around == "enumerate" else "batch"
        return f"Write `for {target} in {_iterated(use)}:` at {place_text(use.loop)} and take {listed} from it."
    if use.parts == 1:
        return f"Write `for batch in {_iterated(use)}:`; a batch is that one tensor."
    maker = f"`{use.collate}`" if use.collate else "the dataset"
    return f"Take {use.parts} values from each batch, or let {maker} give what the line wants."


def _wrong_kind(crash: CrashFact, use: LoaderUse, dataset: str) -> Blame | None:
    """The whole batch where a part of it is meant, or a dict's keys where its values are."""
    single = use.target == use.variable
    if use.variable_kind == "str" and use.keys and not single:
        what = f"a key of the batch, not its value: a batch of `{dataset}` is a dict with {', '.join(use.keys)}"
        return _blame(crash, use, what, "A loop over a dict gives its keys.", _other_way(use), use.loop)
    if use.variable_kind in ("list", "tuple") and single and not use.keys and crash.kind == "TypeError":
        names = "x, y" if use.parts == 2 else ", ".join(f"part_{number}" for number in range(use.parts or 0))
        what = f"a whole batch of `{dataset}`, a {use.variable_kind} of {use.parts} parts"
        why = f"A sample is {use.sample}, and a batch has the same parts."
        if use.collate:
            why = f"`{use.collate}` makes a {use.sample} of each batch."
        fix = f"Take it apart first: `{names} = {use.variable}`, or `for {names} in {_iterated(use)}:`."
        return _blame(crash, use, what, why, fix, crash.place)
    return None


def _blame(crash: CrashFact, use: LoaderUse, what: str, why: str, fix: str, where: Place) -> Blame:
    return Blame(
        message=f"`{use.variable}` at {place_text(crash.place)} is {what}.",
        why=why,
        fix=fix,
        where=where,
        evidence={_kind(use): use.sample, "loop": line_text(use.loop), "line": line_text(crash.place)},
        confidence=0.95,
    )
