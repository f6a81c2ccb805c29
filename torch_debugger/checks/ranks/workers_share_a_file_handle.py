"""TD843: workers read through one file handle that was opened before they were forked."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.deliveries import at, name_of
from torch_debugger.checks.state import RunState
from torch_debugger.records import Finding, Record, SharedHandle


class WorkersShareAFileHandle(Check):
    """A dataset opens a file once, and its forked workers all read through that one handle.

    Symptom:
        Samples are mixed up or damaged now and then, only with `num_workers` above 1: labels that do not fit
        their images, "bad zip file", checksums that fail, lines cut in half. Or nothing but a poor accuracy.
    Evidence:
        An attribute of the dataset is an open file (also a zip, tar, gzip or npz archive), the methods that
        make a sample read through it, and the loader has two forked workers or more. The position of the
        file moves while they load, as seen from the training process: so it is the same position for all.
        For a connection to SQLite, which must not be carried over a fork: that methods which make samples use
        it.
    Fix:
        Open the file in the worker: at its first sample, or in `worker_init_fn`.
    Known limits:
        Reads that name their offset (`os.pread`, memory maps) do not move a position and are left alone, and
        so is a dataset that holds a lock of `multiprocessing`. Handles of other libraries are not known.
    """

    id = "TD843"
    name = "workers-share-a-file-handle"
    title = "workers read through one file handle, opened before they were forked"
    reads = (SharedHandle,)
    explains = ("sample-raises", "unexplained-crash")

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        assert isinstance(record, SharedHandle)
        loader = state.loaders.get(record.loader)
        whose = f"`{name_of(loader)}`" if loader is not None else "the loader"
        own = f"self.{record.attribute}"
        is_file = record.moves >= 0
        named = f" of `{record.file}`" if record.file else ""
        yield self.finding(
            severity="warning",
            confidence=0.95 if is_file else 0.85,
            message=(
                f"The {record.workers} workers of {whose} all read through `{own}` of `{record.owner}` "
                f"({record.kind}{named}), opened before they were forked{at(record.opened)}: they "
                f"{_what_happens(is_file)}{at(record.used)}."
            ),
            why=_why(record) if is_file else _WHY_SQLITE,
            fix=(
                f"Set `{own} = None` in `__init__`, and open it where a sample is made: `if {own} is None: "
                f"{own} = {_call(record)}`. Then each worker opens its own. Do not ask the dataset for a "
                "sample before the loader is made: that would open it too soon."
            ),
            where=record.opened if record.opened.file else record.used,
            first_step=record.step,
            last_step=max(record.step, state.step),
            evidence={
                "handle": own,
                "kind": record.kind,
                "workers": float(record.workers),
                "times_moved": float(record.moves) if is_file else "not counted",
            },
        )


_WHY_SQLITE = (
    "A connection to SQLite must not be used in a process that was forked after it was opened: locks and "
    "caches of the two get in each other's way, and a database that is written to can be damaged."
)


def _what_happens(is_file: bool) -> str:
    return "move its position for each other while they read" if is_file else "use one connection at once"


def _why(record: SharedHandle) -> str:
    return (
        "Forked processes share the position in an open file. One worker seeks, another one seeks elsewhere, "
        "and the first reads what lies there: a part of another sample, without an error. From step to step of "
        f"the training the position had moved ({_times(record.moves)} counted)."
    )


def _times(moves: int) -> str:
    return "one move" if moves == 1 else f"{moves} moves"


def _call(record: SharedHandle) -> str:
    """As the line that opens it calls it."""
    code = (record.opened.code or "").strip()
    value = code.partition("=")[2].strip()
    whole = bool(value) and value.count("(") == value.count(")")
    return value if whole else "open(...)"
