"""TD936: a DataLoader is made or used as it cannot be."""

from __future__ import annotations

import re
import signal

from torch_debugger.checks.crash_check import CrashCheck
from torch_debugger.checks.crashes.explanation import Blame, line_text, place_text, user_frame
from torch_debugger.checks.crashes.user_code import Statement, argument_of, calls_of, one_line, rewritten, statement_of
from torch_debugger.records import CrashFact, Edit, Place
from torch_debugger.records.crash_loading import LoaderCall, LoaderState, LoaderUse, WorkerDeath

# DataLoader(...) given arguments that exclude each other, or a dataset it cannot read.
_WORKERS_ONLY = "prefetch_factor", "persistent_workers", "multiprocessing_context"
_INSIDE_BATCHES = "batch_size", "shuffle", "sampler", "drop_last"


def explain_arguments(crash: CrashFact) -> Blame | None:
    loading = crash.evidence.loading
    last, frame = crash.frames[-1] if crash.frames else None, user_frame(crash)
    if loading is None or loading.call is None or loading.loader is None or last is None or frame is None:
        return None
    if not last.file.endswith(("dataloader.py", "sampler.py")) or crash.kind not in ("ValueError", "TypeError"):
        return None
    refused = _refusal(loading.call, loading.loader)
    if refused is None:
        return None
    message, why, fix, out = refused
    statement = statement_of(frame, None)
    edit = _without(statement, out) if out else None
    if edit is not None:
        fix = f"Write `{one_line(edit.after)}` at {place_text(statement.line)}; {fix}"
    evidence: dict[str, float | str] = {"dataset": loading.loader.dataset, **loading.call.given}
    return Blame(
        message=f"{place_text(statement.line)}: {message}",
        why=why,
        fix=fix[0].upper() + fix[1:],
        where=statement.line,
        evidence=evidence | {"line": line_text(statement.line)},
        edit=edit,
    )


Refusal = tuple[str, str, str, tuple[str, ...]]  # message, why, fix, arguments to take out


def _refusal(call: LoaderCall, loader: LoaderState) -> Refusal | None:
    given, stream = call.given, f"with the IterableDataset `{loader.dataset}`"
    sampler = next((name for name in ("sampler", "batch_sampler") if name in given), "")
    inside = tuple(name for name in _INSIDE_BATCHES if name in given)
    for_workers = tuple(name for name in _WORKERS_ONLY if name in given)
    size = given.get("batch_size", "1")
    if call.iterable and "shuffle" in given:
        why = "An IterableDataset gives its samples in its own order; a DataLoader cannot reorder it."
        fix = f"shuffle inside `{loader.dataset}.__iter__` where the order matters."
        return f"`shuffle=True` {stream}.", why, fix, ("shuffle",)
    if call.iterable and sampler:
        why = "A sampler chooses indices, and an IterableDataset has none."
        return f"`{sampler}` {stream}.", why, f"`{sampler}` has no part in it.", (sampler,)
    if "sampler" in given and "shuffle" in given:
        why = f"Both say in which order samples come: `shuffle=True`, and `{given['sampler']}`."
        fix = "the sampler alone decides the order."
        return "`sampler` and `shuffle=True` exclude each other.", why, fix, ("shuffle",)
    if "batch_sampler" in given and inside:
        why = f"`{given['batch_sampler']}` already decides which samples make a batch, and how many."
        return f"`batch_sampler` excludes {_quoted(inside)}.", why, "the batch sampler alone decides that.", inside
    if "num_workers" not in given and for_workers:
        why = "That is for worker processes, and with `num_workers=0` there are none."
        fix = "or give `num_workers=2` to load in worker processes."
        return f"{_quoted(for_workers)} without workers.", why, fix, for_workers
    if size == "None" and "drop_last" in given:
        why = "`batch_size=None` makes no batches, so none can be incomplete."
        return "`drop_last=True` with `batch_size=None`.", why, "there is nothing to drop.", ("drop_last",)
    if loader.length == 0 and "shuffle" in given:
        at = f" (`__len__` at {place_text(loader.length_place)})" if loader.length_place.file else ""
        fix = "see why it finds nothing: the folder or file it reads, the pattern or the filter."
        return f"the dataset `{loader.dataset}` is empty{at}.", "There is nothing to shuffle in 0 samples.", fix, ()
    if not re.fullmatch(r"[1-9]\d*|None", size):
        fix = "give a whole number above 0" + (f": `int({size})`." if re.fullmatch(r"\d+\.\d*", size) else ".")
        return f"`batch_size` is {size}.", "A batch has a whole number of samples, at least one.", fix, ()
    if "__len__" in loader.lacks and not call.iterable:
        why = "To shuffle, a DataLoader must know how many samples there are."
        fix = f"write `def __len__(self):` in `{loader.dataset}`; a stream derives from IterableDataset."
        return f"the dataset `{loader.dataset}` has no `__len__`.", why, fix, ()
    return None


def _quoted(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _without(statement: Statement, names: tuple[str, ...]) -> Edit | None:
    """The call without these arguments, where all are written by name in one line."""
    call = next(iter(calls_of(statement.whole.code or "", "DataLoader")), "")
    changed = call
    for name in names:
        argument = argument_of(changed, 99, name)
        written = rf",\s*{name}\s*=\s*{re.escape(argument.text)}" if argument is not None else ""
        changed = re.sub(written, "", changed, count=1) if written else ""
    return rewritten(statement.whole, call, changed) if call and changed and changed != call else None


# A dataset that lacks what a DataLoader asks it for.
_DEFINITIONS = {"__len__": "def __len__(self):", "__getitem__": "def __getitem__(self, index):"}


def explain_dataset(crash: CrashFact) -> Blame | None:
    """Seen when the DataLoader first asks for it."""
    loading = crash.evidence.loading
    if loading is None or loading.loader is None or loading.call is not None or loading.use is not None:
        return None
    loader, failure = loading.loader, loading.failure
    asked = "__len__" if failure is None else "__getitem__"
    if asked not in loader.lacks or (failure is not None and failure.raised.place.file):
        return None
    given = f"`{loader.dataset}`, which has no `{asked}`"
    fix = (
        f"Write `{_DEFINITIONS[asked]}` in `{loader.dataset}`, indented as a method of the class; a stream "
        f"derives from IterableDataset and has `__iter__`."
    )
    if loader.dataset.endswith("DataLoader"):
        given, fix = "another DataLoader as its dataset", "Give it the dataset itself: `loader.dataset`."
    return Blame(
        message=f"The DataLoader read at {place_text(crash.place)} was given {given}.",
        why="A DataLoader asks its dataset for `len(dataset)` and `dataset[index]`.",
        fix=fix,
        where=loader.class_place or loader.place or crash.place,
        evidence={"dataset": loader.dataset, "loop": line_text(crash.place)},
        confidence=0.96,
    )


# A DataLoader, or what comes out of it, used as something else than it is.
_KEYS = 5  # of a dict that are named
_UNPACK = r"(too many|not enough) values to unpack \(expected (\d+)"


def explain_use(crash: CrashFact) -> Blame | None:
    loading = crash.evidence.loading
    if loading is None or loading.use is None or loading.loader is None:
        return None
    use, dataset = loading.use, loading.loader.dataset
    if not use.loop.file:
        return _as_iterator(crash, use) if crash.kind == "TypeError" else None
    unpacked = re.match(_UNPACK, crash.message) if crash.kind == "ValueError" and not use.variable else None
    if unpacked is not None and use.parts is not None:
        return _unpacked(use, dataset, int(unpacked[2]))
    return _wrong_kind(crash, use, dataset) if use.variable and use.parts is not None else None


def _as_iterator(crash: CrashFact, use: LoaderUse) -> Blame | None:
    """next(loader) and loader[0]"""
    frame = user_frame(crash)
    if frame is None or ("iterator" not in crash.message and "subscriptable" not in crash.message):
        return None
    line, instead, edit = statement_of(frame, None), f"next(iter({use.name}))", None
    is_no, other = "nothing with numbered entries", f"`{use.name}.dataset[0]` is one sample"
    if use.around == "next":
        is_no, other = "no iterator", "keep `iter(...)` in a variable to go on from there"
        edit = rewritten(line.whole, f"next({use.name})", instead)
    return Blame(
        message=f"`{use.name}` at {place_text(line.line)} is a DataLoader, which is {is_no}.",
        why="A DataLoader starts anew with every `iter(...)` or `for`; only what that gives hands out batches.",
        fix=f"Write `{instead}` for one batch; {other}.",
        where=line.line,
        evidence={"line": line_text(line.line)},
        confidence=0.98,
        edit=edit,
    )


def _unpacked(use: LoaderUse, dataset: str, names: int) -> Blame | None:
    # `for i, x, y in enumerate(loader)`: the batch is not in parentheses of its own.
    numbered = use.around == "enumerate" and "(" not in use.target.strip("()")
    if names == (2 if numbered else use.parts):
        return None
    parts = "one tensor" if use.parts == 1 else f"{use.parts} parts"
    if use.keys:
        parts = f"a dict with {', '.join(use.keys)}"
    made, gives = "a sample of the dataset", f"`{dataset}` gives {parts} (a sample is {use.sample})"
    if use.collate:
        made = f"what `{use.collate}` puts in it"
        gives = f"`{use.name}` gives what `{use.collate}` returns: {parts if use.keys else use.sample}"
    if numbered:
        gives = f"`{use.around}` gives two: a number and the batch"
    why = f"A batch has as many parts as {made}, and is one value until it is taken apart."
    if use.keys:
        why = "Taking a dict apart gives its keys, as any loop over a dict does, and not what they hold."
    after, edit, fix = _target(use, names, numbered), None, _other_way(use)
    if after:
        fix = f"Write `for {after} in {_iterated(use)}:` at {place_text(use.loop)}."
        written = re.match(r"for (.+?) in ", use.loop.code or "")
        edit = rewritten(use.loop, f"for {written[1]} in ", f"for {after} in ") if written else None
    return Blame(
        message=f"{place_text(use.loop)} takes {names} values in each round, but {gives}.",
        why=why,
        fix=fix,
        where=use.loop,
        evidence={_kind(use): use.sample, "values taken": float(names), "line": line_text(use.loop)},
        edit=edit,
    )


def _kind(use: LoaderUse) -> str:
    return "batch" if use.collate else "sample"


def _iterated(use: LoaderUse) -> str:
    return f"{use.around}({use.name})" if use.around else use.name


def _target(use: LoaderUse, names: int, numbered: bool) -> str:
    """What the loop's target must be; empty where that is not plain."""
    taken = [name.strip() for name in use.target.strip("()").split(",")]
    if use.keys or use.parts is None or len(taken) != names:
        return ""
    if numbered:
        return f"{taken[0]}, ({', '.join(taken[1:])})" if use.parts == names - 1 else ""
    # Of what a collate function returns it is not known which parts the names stand for.
    if use.around or use.collate or "(" in use.target.strip("()") or use.parts <= names:
        return ""
    return ", ".join([*taken, *["_"] * (use.parts - names)])


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
        why, fix, where = "A loop over a dict gives its keys.", _other_way(use), use.loop
    elif use.variable_kind in ("list", "tuple") and single and not use.keys and crash.kind == "TypeError":
        names = "x, y" if use.parts == 2 else ", ".join(f"part_{number}" for number in range(use.parts or 0))
        what = f"a whole batch of `{dataset}`, a {use.variable_kind} of {use.parts} parts"
        why = f"A sample is {use.sample}, and a batch has the same parts."
        if use.collate:
            why = f"`{use.collate}` makes a {use.sample} of each batch."
        fix = f"Take it apart first: `{names} = {use.variable}`, or `for {names} in {_iterated(use)}:`."
        where = crash.place
    else:
        return None
    return Blame(
        message=f"`{use.variable}` at {place_text(crash.place)} is {what}.",
        why=why,
        fix=fix,
        where=where,
        evidence={_kind(use): use.sample, "loop": line_text(use.loop), "line": line_text(crash.place)},
        confidence=0.95,
    )


class LoaderMisuse(CrashCheck):
    """A DataLoader is given arguments that exclude each other, or its batches are taken for something else.

    Symptom:
        "sampler option is mutually exclusive with shuffle", "num_samples should be a positive integer",
        "'DataLoader' object is not an iterator", "too many values to unpack (expected 2)" in the loop,
        "'list' object has no attribute 'to'".
    Evidence:
        The arguments that DataLoader was called with, the methods its dataset has, the loop's own line and
        the form of the dataset's first sample, or of a batch that your collate_fn makes of the first ones,
        fetched in another process.
    Fix:
        Take out the argument that has no part in it, or take the batch apart as the finding says.
    Known limits:
        Samples of an IterableDataset are not looked at.
    """

    id = "TD936"
    name = "loader-misuse"
    title = "a DataLoader is made or used in a way it cannot work"
    explainers = explain_arguments, explain_dataset, explain_use


# DataLoader workers that ended without a word, that are too slow, or that could not even start.
_MIB = 2**20
_WITHOUT_WORKERS = "Run it with `num_workers=0`: then the error is shown where it arises."


def explain_worker_death(crash: CrashFact) -> Blame | None:
    loading = crash.evidence.loading
    if loading is None or loading.death is None or loading.loader is None or loading.death.unguarded.file:
        return None
    loader, death = loading.loader, loading.death
    why, fix, confidence = _reason(loader, death)
    # Without the sample it is only known which batch did not come: what is behind it may be the cause. Where a look
    # from time to time has shown a sample, that says less than the sample itself.
    culprit, code = death.culprit, death.exit_code
    sample = f"sample {culprit} of `{loader.dataset}`" if culprit is not None else "its samples"
    if death.culprit_place.file:
        sample += f" at {place_text(death.culprit_place)}"
    if death.batch is not None:
        sample += f", in batch {death.batch}" if culprit is not None else f", in batch {death.batch} or soon after"
    if culprit is None and death.seen_at is not None:
        at = f" at {place_text(death.seen_place)}" if death.seen_place.file else ""
        sample += f"; it was last seen at sample {death.seen_at}{at}"
    ended = f"ended itself with exit code {code}"
    if code is not None and code < 0:
        known = {each.value: each.name for each in signal.Signals}
        ended = f"was ended by {known.get(-code, f'signal {-code}')}"
    who = "A DataLoader worker"
    if death.worker is not None:
        who = f"DataLoader worker {death.worker} of {loader.workers} (0 is the first)"
    evidence: dict[str, float | str] = {
        "exit code": float(code or 0),
        **({} if death.worker is None else {"worker": float(death.worker)}),
        **({} if death.delivered is None else {"batches delivered": float(death.delivered)}),
        "workers": float(loader.workers),
        "free in /dev/shm": _size(death.shared_free_bytes),
        "free memory": _size(death.memory_free_bytes),
        **({"a batch": _size(death.batch_bytes)} if death.batch_bytes > 0 else {}),
        "loop": line_text(crash.place),
    }
    return Blame(
        message=f"{who} {ended} while it fetched {sample}.",
        why=why,
        fix=fix,
        where=death.culprit_place if death.culprit_place.file else (loader.dataset_place or crash.place),
        evidence=evidence,
        confidence=confidence,
    )


def _reason(loader: LoaderState, death: WorkerDeath) -> tuple[str, str, float]:
    """Why, the fix, and how sure that is."""
    if death.exit_code == -signal.SIGBUS:
        why = (
            f"A bus error in a worker means that /dev/shm, through which batches travel, was full: it has "
            f"{_size(death.shared_total_bytes)}, of which {_size(death.shared_free_bytes)} are free now"
            f"{_batches(loader, death)}."
        )
        fix = (
            "Give it more (`docker run --shm-size=8g`), or need less: fewer workers, a smaller `batch_size` or "
            "`prefetch_factor`, or `num_workers=0`."
        )
        return why, fix, 0.85
    if death.exit_code == -signal.SIGKILL:
        why = (
            f"Nobody but the system (or a person) sends SIGKILL; it does so when memory runs out. "
            f"{_size(death.memory_free_bytes)} are free now that the worker is gone{_batches(loader, death)}. "
            f"That it was memory is likely, not certain."
        )
        fix = (
            f"Let `{loader.dataset}` hold less in each worker (each copies what it changes), use fewer "
            f"workers or a smaller `batch_size`; `dmesg` tells whether the system did it."
        )
        return why, fix, 0.75
    if death.culprit is not None:
        again = f"Fetched once more in another process, sample {death.culprit} ended that one too"
        line = f", at {line_text(death.culprit_place)}" if death.culprit_place.file else ""
        if death.exit_code is not None and death.exit_code > 0:
            why = f"{again}{line}. A process that ends itself there leaves no exception behind."
            fix = "Raise an exception instead of ending the process; the DataLoader then hands it on with its line."
        else:
            why = f"{again}{line}. It is native code that fails, not Python."
            fix = (
                f"Look at what sample {death.culprit} hands to native code at {place_text(death.culprit_place)}; "
                f"repair or leave out that sample."
            )
        return why, fix, 0.97
    why = "Its samples were fetched once more in another process, which did not end: what ended it is not known."
    return why, _WITHOUT_WORKERS, 0.8


def _batches(loader: LoaderState, death: WorkerDeath) -> str:
    if death.batch_bytes <= 0:
        return ""
    return f"; a batch has {_size(death.batch_bytes)}, and each worker ({loader.workers}) prepares two"


def _size(count: int) -> str:
    if count < 0:
        return "an unknown amount"
    if count < _MIB:
        return f"{count / 1024:.1f} KiB"
    return f"{count / _MIB / 1024:.1f} GiB" if count >= 1024 * _MIB else f"{count / _MIB:.1f} MiB"


class WorkerKilled(CrashCheck):
    """A worker of a DataLoader was killed, or ended itself, and no exception tells why.

    Symptom:
        "DataLoader worker (pid(s) 4711) exited unexpectedly", "is killed by signal: Killed", "Bus error",
        "Segmentation fault"; or a connection error while a batch is waited for.
    Evidence:
        The exit codes of the loader's processes. The samples that the dead worker still owed are fetched
        once more in another process; the one that ends it too is named, with its line. Free memory, free
        shared memory and the size of a batch where the signal speaks of memory.
    Fix:
        Repair the sample or the native call that ends the process; or need less memory, as the finding says.
    Known limits:
        After SIGKILL and bus errors the samples are not fetched again, for the memory they took. Memory is
        counted after the worker has gone.
    """

    id = "TD931"
    name = "worker-killed"
    title = "a DataLoader worker ended without an exception"
    explainers = (explain_worker_death,)


# A batch that did not come within the DataLoader's timeout.
def explain_timeout(crash: CrashFact) -> Blame | None:
    loading = crash.evidence.loading
    if loading is None or loading.slow is None or loading.loader is None:
        return None
    loader, slow = loading.loader, loading.slow
    whose = f"batch {slow.batch}" + (f" from worker {slow.worker}" if slow.worker is not None else "")
    evidence: dict[str, float | str] = {"timeout in s": slow.timeout_s, "workers": float(loader.workers)}
    if slow.batch is not None:
        evidence["batch"] = float(slow.batch)
    if slow.place.file:
        evidence["waits at"] = line_text(slow.place)
    sample, where, confidence = f" of `{loader.dataset}`", loader.place or crash.place, 0.8
    why = "Its samples came quickly when they were fetched once more, so the cause was of that moment."
    fix = f"Raise `timeout={slow.timeout_s:g}`, or use fewer workers: starting them takes time as well."
    if slow.index is not None and slow.place.file:
        sample, where, confidence = f", with sample {slow.index} of `{loader.dataset}` in it,", slow.place, 0.95
        why = (
            f"Sample {slow.index} was fetched once more in another process, and did not come there either: "
            f"it waits in `{slow.place.code}`."
        )
        fix = f"Make {place_text(slow.place)} faster or bound its waiting, or raise `timeout={slow.timeout_s:g}`."
    return Blame(
        message=f"The DataLoader waited {slow.timeout_s:g} s for {whose}{sample} and gave up.",
        why=why,
        fix=fix,
        where=where,
        evidence=evidence | {"loop": line_text(crash.place)},
        confidence=confidence,
    )


class LoaderTimeout(CrashCheck):
    """A batch did not come within the timeout that the DataLoader was given.

    Symptom:
        "DataLoader timed out after 30 seconds".
    Evidence:
        The batch that was waited for, its worker and its samples. They are fetched once more in another
        process for a moment; the sample that does not come, and the line it waits in, are named.
    Fix:
        Make that line faster or bound its waiting, or raise `timeout`.
    Known limits:
        A random order that is spent is kept nowhere; then the samples of the batch are not known.
    """

    id = "TD935"
    name = "loader-timeout"
    title = "a batch did not come within the DataLoader's timeout"
    explainers = (explain_timeout,)


# Processes started by spawn from a script that runs again when it is imported.
def explain_main_guard(crash: CrashFact) -> Blame | None:
    """Seen from the process that started the others: they ended at once, and the script has no guard."""
    loading = crash.evidence.loading
    death = loading.death if loading is not None else None
    if death is None or not death.unguarded.file or death.exit_code != 1 or death.delivered:
        return None
    line = death.unguarded
    return Blame(
        message=f"The processes started by {place_text(line)} end before they begin: the script has no "
        f'`if __name__ == "__main__":` around it.',
        why=_WHY + " Each of them ended with exit code 1 before a batch came.",
        fix=_fix(line),
        where=line,
        evidence={"exit code": 1.0, "line": line_text(line)},
        confidence=0.95,
    )


def explain_bootstrapping(crash: CrashFact) -> Blame | None:
    """Seen from inside such a process, while it imports the script."""
    last = crash.frames[-1] if crash.frames else None
    if last is None or last.function != "_check_not_importing_main" or last.user:
        return None
    outer = next((frame for frame in crash.frames if frame.user and frame.function == "<module>"), None)
    if outer is None:
        return None
    line = Place(outer.file, outer.line, None, outer.code.split("\n")[0])
    return Blame(
        message=f"{place_text(line)} starts processes while the script is only being imported: it has no "
        f'`if __name__ == "__main__":` around it.',
        why=_WHY,
        fix=_fix(line),
        where=line,
        evidence={"line": line_text(line)},
    )


_WHY = (
    "A spawned process imports the script anew to find the dataset's class in it, so it runs everything at the "
    "script's top level once more, and would start processes again."
)


def _fix(line: Place) -> str:
    return (
        f"Leave imports, classes and functions where they are, and put what runs, {place_text(line)} included, "
        f'under `if __name__ == "__main__":`.'
    )


class MissingMainGuard(CrashCheck):
    """A script starts processes by spawn outside of `if __name__ == "__main__":`.

    Symptom:
        "An attempt has been made to start a new process before the current process has finished its
        bootstrapping phase", printed by the new processes; the script itself sees workers that exited.
    Evidence:
        The workers' start method and exit code, that no batch came, and the script's own source: the line
        at its top level that leads to them has no `if` around it.
    Fix:
        Put what runs under `if __name__ == "__main__":`; imports, classes and functions stay outside.
    Known limits:
        A script that guards itself in another way, by any `if` at its top level, is left alone.
    """

    id = "TD933"
    name = "missing-main-guard"
    title = "a script that spawns processes has no __main__ guard"
    explainers = explain_bootstrapping, explain_main_guard


# A process that has as many files open as it may.
_STRATEGY = '`torch.multiprocessing.set_sharing_strategy("file_system")` at the start of the script'


def explain_open_files(crash: CrashFact) -> Blame | None:
    loading = crash.evidence.loading
    files = loading.files if loading is not None else None
    if files is None:
        return None
    what = "tensors that came from workers" if files.holds == "tensors" else "open files"
    kept = f", and `{files.holder}` keeps {files.held} {what}" if files.holder else ""
    at = f" ({place_text(files.place)})" if files.place.file else ""
    if files.holds == "tensors":
        why = (
            f"With the sharing strategy `{files.strategy}` every tensor from a worker keeps a file open for as "
            f"long as it lives."
        )
        fix = f"Keep copies, `tensor.clone()`, in `{files.holder}`{at}, or call {_STRATEGY}."
    elif files.holds == "files":
        why = "A file that is kept in a variable stays open until it is closed."
        fix = f"Close each file, `with open(...) as file:`, and do not keep it in `{files.holder}`{at}."
    else:
        why = "What keeps them open was not found in the variables of the traceback."
        fix = (
            f"Close files after reading (`with open(...)`); where they are tensors from workers, call {_STRATEGY}; "
            f"or allow more with `ulimit -n`."
        )
    return Blame(
        message=f"The script has {files.opened} files open of {files.limit} it may have{kept}.",
        why=why,
        fix=fix,
        where=files.place if files.place.file else crash.place,
        evidence={
            "open files": float(files.opened),
            "limit": float(files.limit),
            "sharing strategy": files.strategy,
            "line": line_text(crash.place),
        },
        confidence=0.97 if files.holder else 0.85,
    )


class TooManyOpenFiles(CrashCheck):
    """The script has as many files open as it may; tensors from workers count as files.

    Symptom:
        "OSError: [Errno 24] Too many open files", "received 0 items of ancdata", or "Too many open files.
        Communication with the workers is no longer possible".
    Evidence:
        The open descriptors, counted, against the limit; torch's sharing strategy; and the variable in the
        traceback's frames that keeps tensors from workers or open files.
    Fix:
        Keep copies of the tensors, close the files, or choose the sharing strategy `file_system`.
    Known limits:
        Files opened in a worker are counted there and not seen here. Only variables of the user's frames
        and the lists and dicts of their objects are searched.
    """

    id = "TD934"
    name = "too-many-open-files"
    title = "the process may open no more files"
    explainers = (explain_open_files,)
