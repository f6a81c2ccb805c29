"""Memory and file handles of a loader's workers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from torch_debugger.checks.base import Check, RunState, at_line
from torch_debugger.checks.batches import line_of, name_of
from torch_debugger.records import Finding, LoaderFact, SharedHandle, WorkerLook
from torch_debugger.records.data import GrownContainer


class WorkerMemoryGrows(Check):
    """The workers of a DataLoader take more memory with every batch.

    Symptom:
        Memory fills up although the training itself keeps nothing; after hours a worker is killed, or the whole
        machine runs out of memory.
    Evidence:
        What each forked worker has written into pages of its own, from time to time. Either a list, a
        dictionary or a cache of the dataset gets longer there, and its new entries are most of what was added:
        it holds more entries than there are samples, or at this rate it will not fit into memory. Or the
        memory becomes the worker's own without its size growing, and the dataset holds a list of many Python
        objects: to read one is to write its count of references, which copies the page that it is on.
    Fix:
        Keep nothing of past samples on the dataset, or only so many; an array in place of a list of objects.
    Known limits:
        Known on Linux, and where workers are forked. A cache that has no more entries than the dataset has
        samples is left alone as long as it fits. What libraries keep for themselves is seen only by its size,
        and told after two passes.
    """

    id = "TD842"
    name = "worker-memory-grows"
    title = "the workers of a loader take more and more memory"
    reads = (WorkerLook,)
    explains = ("worker-killed",)

    # By all workers together, before anything is said: workers warm up to some tens of megabytes each.
    least_bytes = 64 * 2**20
    least_looks = 3
    # Of the growth that the new entries of one container have to be.
    explained = 0.5
    # More entries than samples: no cache that fills once.
    beyond = 1.05
    # Of the memory that is free: what will not fit for long.
    too_much = 0.5
    # Of what becomes a worker's own, by which its size may grow where pages are only copied.
    copied = 0.4
    # Of the free memory, for copied pages: less is worth a note.
    warned_share = 0.2
    # For growth that nothing explains: so many looks, bytes and passes, and it goes on.
    unknown_looks, unknown_bytes, unknown_passes, unknown_rest = 6, 512 * 2**20, 2, 0.25

    def __init__(self) -> None:
        self._growths: dict[int, dict[int, WorkerGrowth]] = {}  # by loader and process

    def see(self, record: WorkerLook, state: RunState) -> Iterable[Finding]:
        processes = self._growths.setdefault(record.loader, {})
        looks = processes.setdefault(record.pid, WorkerGrowth()).looks
        looks.append(record)
        if len(looks) > 64:  # the ends tell how it grew
            del looks[1:-1:2]
        loader = state.loaders.get(record.loader)
        if loader is not None:
            # Of each worker the last process: where workers end with a pass, so does their memory.
            last = {growth.looks[0].worker: growth for growth in self._growths[record.loader].values()}
            yield from self._judge(loader, list(last.values()))

    def _judge(self, loader: LoaderFact, growths: Sequence[WorkerGrowth]) -> Iterable[Finding]:
        known = [growth for growth in growths if len(growth.looks) >= self.least_looks and growth.own_bytes > 0]
        if not known or total(growths) < self.least_bytes:
            return
        most = max(known, key=lambda growth: growth.own_bytes)
        only_copied = most.resident_bytes < self.copied * most.own_bytes
        least = max(self.explained * most.own_bytes, self.least_bytes / max(1, loader.workers))
        large = [held for held in loader.holds if held.objects_bytes >= least]
        held = max(large, key=lambda held: held.objects_bytes) if only_copied and large else None
        container = most.container(self.explained)
        if container is not None:
            if self._is_endless(container, loader, most):
                yield self._container(loader, growths, most, container)
        elif held is not None:
            whole = held.objects_bytes * loader.workers
            free = most.looks[-1].free_bytes
            yield self._found(
                growths,
                most,
                confidence=0.9,
                severity="warning" if whole >= self.warned_share * free else "note",
                message=f"`self.{held.attribute}` of `{loader.dataset}`, a {held.kind} of {held.length} Python "
                f"objects, is copied bit by bit into each of the {loader.workers} workers of `{name_of(loader)}` as "
                f"they read it: in worker {most.looks[0].worker}, {_grown(growths, most)}.",
                why="A forked worker shares the memory of the training process until it is written to. To read a "
                "Python object is to write its count of references, and so the page that it is on becomes a "
                f"copy. In the end that is about {megabytes(held.objects_bytes)} for each worker, "
                f"{megabytes(whole)} in all, of {megabytes(free)} that are free.",
                fix=f"Keep the contents of `self.{held.attribute}` in one array: `numpy.array(...)` or a tensor "
                "for numbers and for texts of similar length, an array of bytes and one of offsets for others. "
                "An array has one count of references, and its pages stay shared.",
                where=line_of(loader),
                container=f"self.{held.attribute}",
                entries=float(held.length),
            )
        elif self._is_unexplained(loader, growths, most):
            yield self._unexplained(loader, growths, most)

    def _is_endless(self, container: GrownContainer, loader: LoaderFact, most: WorkerGrowth) -> bool:
        if loader.samples is None:
            return total([most]) * loader.workers >= self.unknown_bytes
        if container.length > self.beyond * loader.samples:
            return True
        copies = loader.workers if loader.persistent else 1
        wanted = container.entry_bytes * loader.samples * copies
        return wanted >= self.too_much * most.looks[-1].free_bytes

    def _is_unexplained(self, loader: LoaderFact, growths: Sequence[WorkerGrowth], most: WorkerGrowth) -> bool:
        length = loader.length or 0
        passes = most.looks[-1].batches * loader.workers / length if length else 0.0
        enough = len(most.looks) >= self.unknown_looks and passes >= self.unknown_passes
        return enough and total(growths) >= self.unknown_bytes and most.goes_on(self.unknown_rest)

    # Words

    def _container(
        self, loader: LoaderFact, growths: Sequence[WorkerGrowth], most: WorkerGrowth, container: GrownContainer
    ) -> Finding:
        place, name = container.place, container.name
        of = f" of `{container.owner}`" if container.owner else ""
        line = f", added to at {place.file}:{place.line}," if place.file else ""
        entry = f" of about {kilobytes(container.entry_bytes)}" if container.entry_bytes else ""
        there = f" (`{place.code}`)" if place.code else ""
        fills = "takes more entries" if container.kind == "cache" else "gets longer"
        return self._found(
            growths,
            most,
            confidence=0.93,
            severity="warning",
            message=f"`{name}`{of}{line} {fills} with every batch in each of the {loader.workers} workers of "
            f"`{name_of(loader)}`: {container.length} entries in worker {most.looks[0].worker}, and "
            f"{_grown(growths, most)}.",
            why=f"{_what(container)} keeps an entry{entry} for each sample, and every worker has one of its "
            "own. Nothing of it reaches the training process.",
            fix=f"Take out the line that adds to it{there}, or keep only so many: "
            "`collections.deque(maxlen=100)`, `functools.lru_cache(maxsize=1000)`. What the training "
            "should know of a sample goes back to it with the sample.",
            where=place if place.file else line_of(loader),
            container=name,
            entries=float(container.length),
        )

    def _unexplained(self, loader: LoaderFact, growths: Sequence[WorkerGrowth], most: WorkerGrowth) -> Finding:
        return self._found(
            growths,
            most,
            confidence=0.7,
            severity="warning",
            message=f"The {loader.workers} workers of `{name_of(loader)}` take more memory with every batch, and it "
            f"goes on after {self.unknown_passes} passes: in worker {most.looks[0].worker}, {_grown(growths, most)}.",
            why="None of the lists, dictionaries and caches of the dataset grows by as much: something that it "
            "calls keeps what it made.",
            fix=f"Look for what `{loader.dataset}` opens or decodes and does not close. Until it is found, "
            "`persistent_workers=False` gives the memory back after each pass.",
            where=line_of(loader),
            container="unknown",
            entries=0.0,
        )

    def _found(
        self, growths: Sequence[WorkerGrowth], most: WorkerGrowth, *, container: str, entries: float, **words: object
    ) -> Finding:
        first, last = most.looks[0], most.looks[-1]
        return self.finding(
            **words,  # type: ignore[arg-type]
            steps=(first.step, last.step),
            evidence={
                "container": container,
                "entries": entries,
                "grown_bytes": float(total(growths)),
                "bytes_a_batch": most.own_bytes / max(1, most.batches),
                "own_bytes": float(last.own_bytes),
                "looks": float(len(most.looks)),
            },
        )


def _grown(growths: Sequence[WorkerGrowth], most: WorkerGrowth) -> str:
    first, last = most.looks[0], most.looks[-1]
    rate = f", {kilobytes(most.own_bytes / most.batches)} a batch" if most.batches else ""
    all_of_them = f"; {megabytes(total(growths))} more in all workers" if len(growths) > 1 else ""
    return (
        f"its own memory went from {megabytes(first.own_bytes)} to {megabytes(last.own_bytes)} in "
        f"{most.batches} batches{rate}{all_of_them}"
    )


def _what(container: GrownContainer) -> str:
    kinds = {"list": "The list", "dict": "The dictionary", "set": "The set", "cache": "The cache"}
    return kinds.get(container.kind, f"The {container.kind}")


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

    def see(self, record: SharedHandle, state: RunState) -> Iterable[Finding]:
        loader = state.loaders.get(record.loader)
        whose = f"`{name_of(loader)}`" if loader is not None else "the loader"
        own = f"self.{record.attribute}"
        is_file = record.moves >= 0
        named = f" of `{record.file}`" if record.file else ""
        yield self.finding(
            severity="warning",
            confidence=0.95 if is_file else 0.85,
            message=f"The {record.workers} workers of {whose} all read through `{own}` of `{record.owner}` "
            f"({record.kind}{named}), opened before they were forked{at_line(record.opened)}: they "
            f"{_what_happens(is_file)}{at_line(record.used)}.",
            why=_why(record) if is_file else _WHY_SQLITE,
            fix=f"Set `{own} = None` in `__init__`, and open it where a sample is made: `if {own} is None: "
            f"{own} = {_call(record)}`. Then each worker opens its own. Do not ask the dataset for a "
            "sample before the loader is made: that would open it too soon.",
            where=record.opened if record.opened.file else record.used,
            steps=(record.step, max(record.step, state.step)),
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


# How the memory of a loader's workers has grown since each of them began.
@dataclass
class WorkerGrowth:
    """The looks at one process."""

    looks: list[WorkerLook] = field(default_factory=list)

    @property
    def own_bytes(self) -> int:
        return self.looks[-1].own_bytes - self.looks[0].own_bytes

    @property
    def resident_bytes(self) -> int:
        return self.looks[-1].resident_bytes - self.looks[0].resident_bytes

    @property
    def batches(self) -> int:
        return self.looks[-1].batches - self.looks[0].batches

    def goes_on(self, share: float) -> bool:
        """Whether the second half of the looks has this share of the growth."""
        middle = self.looks[len(self.looks) // 2]
        return self.looks[-1].own_bytes - middle.own_bytes >= share * self.own_bytes

    def container(self, share: float) -> GrownContainer | None:
        """The one whose new entries are that share of what was added; a cache's entries cannot be weighed."""
        now = self.looks[-1].grown
        explains = [each for each in now if added_bytes(each) >= share * self.own_bytes]
        caches = [each for each in now if each.kind == "cache"]
        return max(explains, key=added_bytes, default=caches[0] if caches else None)


def added_bytes(container: GrownContainer) -> int:
    return (container.length - container.length_before) * container.entry_bytes


def total(growths: Sequence[WorkerGrowth]) -> int:
    return sum(max(0, growth.own_bytes) for growth in growths)


def megabytes(count: float) -> str:
    return f"{count / 1e9:.3g} GB" if count >= 1e9 else f"{count / 1e6:.3g} MB"


def kilobytes(count: float) -> str:
    return f"{count / 1e3:.3g} kB" if count < 1e6 else megabytes(count)
