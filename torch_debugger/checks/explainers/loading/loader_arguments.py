"""DataLoader(...) given arguments that exclude each other, or a dataset it cannot read."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torch_debugger.checks.explainers.blame import Blame, line_text, place_text, user_frame
from torch_debugger.checks.explainers.calls import argument_of, calls_of, one_line, rewritten
from torch_debugger.checks.explainers.statements import Statement, statement_of
from torch_debugger.records import CrashFact, Edit
from torch_debugger.records.evidence.loading import LoaderCall, LoaderState

_WORKERS_ONLY = ("prefetch_factor", "persistent_workers", "multiprocessing_context")
_INSIDE_BATCHES = ("batch_size", "shuffle", "sampler", "drop_last")


def explain_arguments(crash: CrashFact) -> Blame | None:
    loading = crash.evidence.loading
    last, frame = crash.frames[-1] if crash.frames else None, user_frame(crash)
    if loading is None or loading.call is None or loading.loader is None or last is None or frame is None:
        return None
    if not last.file.endswith(("dataloader.py", "sampler.py")) or crash.kind not in ("ValueError", "TypeError"):
        return None
    statement = statement_of(frame, None)
    for telling in (_excluded, _empty, _batch_size, _without_length):
        told = telling(loading.call, loading.loader)
        if told is not None:
            return _blame(crash, statement, told)
    return None


Told = tuple[str, str, str, tuple[str, ...]]  # message, why, fix, arguments to take out


def _blame(crash: CrashFact, statement: Statement, told: Told) -> Blame:
    message, why, fix, out = told
    edit = _without(statement, out) if out else None
    written = f"Write `{one_line(edit.after)}` at {place_text(statement.line)}; " if edit is not None else ""
    return Blame(
        message=f"{place_text(statement.line)}: {message}",
        why=why,
        fix=f"{written}{fix}" if written else fix[0].upper() + fix[1:],
        where=statement.line,
        evidence=_given(crash) | {"line": line_text(statement.line)},
        confidence=0.97,
        edit=edit,
    )


def _given(crash: CrashFact) -> dict[str, float | str]:
    loading = crash.evidence.loading
    given: dict[str, float | str] = {}
    if loading is not None and loading.call is not None and loading.loader is not None:
        given = {"dataset": loading.loader.dataset, **loading.call.given}
    return given


def _excluded(call: LoaderCall, loader: LoaderState) -> Told | None:
    return next(_exclusions(call, loader), None)


def _exclusions(call: LoaderCall, loader: LoaderState) -> Iterator[Told]:
    given = call.given
    if call.iterable and "shuffle" in given:
        why = "An IterableDataset gives its samples in its own order; a DataLoader cannot reorder it."
        fix = f"shuffle inside `{loader.dataset}.__iter__` where the order matters."
        yield f"`shuffle=True` with the IterableDataset `{loader.dataset}`.", why, fix, ("shuffle",)
    if call.iterable and (odd := _first(given, ("sampler", "batch_sampler"))):
        why = "A sampler chooses indices, and an IterableDataset has none."
        yield (
            f"`{odd}` with the IterableDataset `{loader.dataset}`.",
            why,
            f"`{odd}` has no part in it.",
            (odd,),
        )
    if "sampler" in given and "shuffle" in given and not call.iterable:
        why = f"Both say in which order samples come: `shuffle=True`, and `{given['sampler']}`."
        yield (
            "`sampler` and `shuffle=True` exclude each other.",
            why,
            "the sampler alone decides the order.",
            ("shuffle",),
        )
    inside = tuple(name for name in _INSIDE_BATCHES if name in given)
    if "batch_sampler" in given and inside and not call.iterable:
        names = ", ".join(f"`{name}`" for name in inside)
        why = f"`{given['batch_sampler']}` already decides which samples make a batch, and how many."
        yield f"`batch_sampler` excludes {names}.", why, "the batch sampler alone decides that.", inside
    without = tuple(name for name in _WORKERS_ONLY if name in given)
    if "num_workers" not in given and without:
        names = ", ".join(f"`{name}`" for name in without)
        why = "That is for worker processes, and with `num_workers=0` there are none."
        yield f"{names} without workers.", why, "or give `num_workers=2` to load in worker processes.", without
    if given.get("batch_size") == "None" and "drop_last" in given:
        why = "`batch_size=None` makes no batches, so none can be incomplete."
        yield "`drop_last=True` with `batch_size=None`.", why, "there is nothing to drop.", ("drop_last",)


def _first(given: dict[str, str], names: tuple[str, ...]) -> str:
    return next((name for name in names if name in given), "")


def _empty(call: LoaderCall, loader: LoaderState) -> Told | None:
    if loader.length != 0 or "shuffle" not in call.given:
        return None
    at = f" (`__len__` at {place_text(loader.length_place)})" if loader.length_place.file else ""
    fix = "see why it finds nothing: the folder or file it reads, the pattern or the filter."
    return f"the dataset `{loader.dataset}` is empty{at}.", "There is nothing to shuffle in 0 samples.", fix, ()


def _batch_size(call: LoaderCall, loader: LoaderState) -> Told | None:
    given = call.given.get("batch_size", "1")
    if re.fullmatch(r"[1-9]\d*|None", given):
        return None
    fix = "give a whole number above 0" + (f": `int({given})`." if re.fullmatch(r"\d+\.\d*", given) else ".")
    return f"`batch_size` is {given}.", "A batch has a whole number of samples, at least one.", fix, ()


def _without_length(call: LoaderCall, loader: LoaderState) -> Told | None:
    if "__len__" not in loader.lacks or call.iterable:
        return None
    why = "To shuffle, a DataLoader must know how many samples there are."
    fix = f"write `def __len__(self):` in `{loader.dataset}`; a stream derives from IterableDataset."
    return f"the dataset `{loader.dataset}` has no `__len__`.", why, fix, ()


def _without(statement: Statement, names: tuple[str, ...]) -> Edit | None:
    """The call without these arguments, where all are written by name in one line."""
    code = statement.whole.code or ""
    call = next(iter(calls_of(code, "DataLoader")), "")
    changed = call
    for name in names:
        argument = argument_of(changed, 99, name)
        written = rf",\s*{name}\s*=\s*{re.escape(argument.text)}" if argument is not None else ""
        changed = re.sub(written, "", changed, count=1) if written else ""
    return rewritten(statement.whole, call, changed) if call and changed and changed != call else None
