from __future__ import annotations

import dataclasses
from collections.abc import Iterable

import pytest

from tests.checks.ranks.facts import line, said, with_workers
from tests.fakes import only, place
from torch_debugger.records import Finding, HeldData, LoaderFact, Place, SharedHandle, WorkerLook
from torch_debugger.records.data import GrownContainer

MB = 10**6
ADDS = line(20, "self.served.append(image)")
LIST = GrownContainer("self.served", "Bars", "list", 0, 100, 50_000, ADDS)
OBJECTS = HeldData("captions", "list", 1_000_000, "str", objects_bytes=80 * MB)


def looks(
    each: int = 10 * MB,
    count: int = 6,
    workers: int = 2,
    *,
    resident: float = 1.0,
    grown: GrownContainer | None = LIST,
    free: int = 8_000 * MB,
) -> list[WorkerLook]:
    """Workers that take `each` more from look to look, ten batches apart."""
    found = []
    for number in range(count):
        now = (dataclasses.replace(grown, length=1 + 200 * number),) if grown and number else ()
        for worker in range(workers):
            own = 10 * MB + number * each
            size = 300 * MB + int(number * each * resident)
            found.append(WorkerLook(1, 10 * number + 1, worker, 50 + worker, 10 * number, own, size, free, now))
    return found


def grows(records: Iterable[WorkerLook], fact: LoaderFact | None = None) -> list[Finding]:
    return said("worker-memory-grows", records, fact or loader())


def loader(samples: int | None = 80, **others: object) -> LoaderFact:
    return with_workers(2, dataset="Bars", samples=samples, persistent=True, **others)


def test_a_list_that_gets_longer() -> None:
    [finding] = grows(looks())
    assert finding.message == (
        "`self.served` of `Bars`, added to at train.py:20, gets longer with every batch in each of the 2 "
        "workers of `train_loader`: 1001 entries in worker 0, and its own memory went from 10 MB to 60 MB in "
        "50 batches, 1 MB a batch; 100 MB more in all workers."
    )
    assert finding.why.startswith("The list keeps an entry of about 50 kB for each sample")
    assert finding.fix.startswith("Take out the line that adds to it (`self.served.append(image)`)")
    assert (finding.check, finding.severity, finding.confidence, finding.where) == ("TD842", "warning", 0.93, ADDS)
    assert finding.evidence["bytes_a_batch"] == pytest.approx(MB)


def test_a_cache_without_a_limit() -> None:
    cache = dataclasses.replace(LIST, name="render", owner="", kind="cache", entry_bytes=0)
    [finding] = grows(looks(grown=cache))
    assert finding.message.startswith("`render`, added to at train.py:20, takes more entries with every batch")
    assert finding.why.startswith("The cache keeps an entry for each sample")


def test_a_cache_that_fills_once_is_left_alone() -> None:
    kept = dataclasses.replace(LIST, kind="dict")
    assert not grows(looks(grown=kept), loader(samples=1000))
    assert grows(looks(grown=kept), loader(samples=900))
    assert grows(looks(grown=kept, free=90 * MB), loader(samples=1000))  # 100 MB, and it will not fit
    assert not grows(looks(grown=kept, free=210 * MB), loader(samples=1000))


def test_of_a_stream_only_much_is_told() -> None:
    assert not grows(looks(), loader(samples=None))
    big = dataclasses.replace(LIST, entry_bytes=500_000)
    assert grows(looks(each=100 * MB, grown=big), loader(samples=None))


def test_a_list_that_is_copied_page_by_page() -> None:
    fact = loader(samples=1_000_000, holds=(OBJECTS,))
    [finding] = grows(looks(grown=None, resident=0.1), fact)
    assert (finding.severity, finding.confidence) == ("note", 0.9)
    assert finding.message.startswith(
        "`self.captions` of `Bars`, a list of 1000000 Python objects, is copied bit by bit into each of the 2 "
        "workers of `train_loader` as they read it: in worker 0, its own memory went from 10 MB to 60 MB"
    )
    assert "about 80 MB for each worker, 160 MB in all, of 8 GB that are free" in finding.why
    assert "`numpy.array(...)`" in finding.fix
    assert only(grows(looks(grown=None, resident=0.1, free=700 * MB), fact)).severity == "warning"


def test_what_does_not_grow_by_copied_pages_is_silent() -> None:
    # pages are copied only where the size stays
    fact = loader(samples=1_000_000, holds=(OBJECTS,))
    assert not grows(looks(grown=None, resident=0.5), fact)
    small = dataclasses.replace(OBJECTS, objects_bytes=20 * MB)
    assert not grows(looks(grown=None, resident=0.1), loader(holds=(small,)))
    assert not grows(looks(each=6 * MB, grown=dataclasses.replace(LIST, entry_bytes=30_000)))  # 60 MB in all
    assert not grows(looks(each=40 * MB, count=2))
    assert not grows(looks(grown=dataclasses.replace(LIST, entry_bytes=24_000)))  # half of it is something else
    first = looks(each=6 * MB, grown=None)
    again = [dataclasses.replace(look, pid=look.pid + 100, step=look.step + 100) for look in first]
    assert not grows([*first, *again]), "workers that begin anew have nothing yet"


def test_what_nothing_explains() -> None:
    [finding] = grows(looks(each=60 * MB, grown=None))
    assert (finding.severity, finding.confidence) == ("warning", 0.7)
    assert "goes on after 2 passes: in worker 0, its own memory went from 10 MB to 310 MB" in finding.message
    assert "`persistent_workers=False`" in finding.fix
    assert not grows(looks(each=50 * MB, grown=None))
    assert not grows(looks(each=100 * MB, count=5, grown=None))
    assert not grows(looks(each=60 * MB, grown=None), loader(length=60))
    flat = looks(each=120 * MB, grown=None)[:6]
    stays = [dataclasses.replace(flat[-2 + number % 2], step=100 + number) for number in range(8)]
    assert not grows([*flat, *stays])


OPENED = place(18, code='self.file = open(path, "rb")')
USED = place(24, code="self.file.seek(index * 40)")


def handle(**others: object) -> SharedHandle:
    facts: dict[str, object] = {
        "loader": 1, "step": 4, "workers": 2, "owner": "Rows", "attribute": "file", "kind": "BufferedReader",
        "file": "rows.bin", "moves": 3, "opened": OPENED, "used": USED,
    }  # fmt: skip
    return SharedHandle(**{**facts, **others})  # type: ignore[arg-type]


def shared(**others: object) -> Finding:
    [finding] = said("workers-share-a-file-handle", [handle(**others)])
    return finding


def test_a_file() -> None:
    finding = shared()
    assert (finding.check, finding.severity, finding.confidence) == ("TD843", "warning", 0.95)
    assert finding.message == (
        "The 2 workers of `train_loader` all read through `self.file` of `Rows` (BufferedReader of "
        "`rows.bin`), opened before they were forked at train.py:18: they move its position for each other "
        "while they read at train.py:24."
    )
    assert finding.why.endswith("the position had moved (3 moves counted).")
    assert finding.fix.startswith(
        "Set `self.file = None` in `__init__`, and open it where a sample is made: `if self.file is None: "
        'self.file = open(path, "rb")`. Then each worker opens its own.'
    )
    assert finding.where == OPENED
    assert finding.evidence["times_moved"] == 3.0


def test_a_handle_is_told_at_the_end_of_a_short_run_and_without_its_line() -> None:
    assert shared(moves=1).why.endswith("(one move counted)."), "a run that ended at once"
    assert shared(opened=Place()).where == USED, "a line that is not known"


def test_a_connection() -> None:
    opened = place(25, code="self.base = sqlite3.connect(")
    finding = shared(attribute="base", kind="Connection", file="", moves=-1, opened=opened)
    assert finding.confidence == 0.85
    assert "`self.base` of `Rows` (Connection), opened" in finding.message
    assert "they use one connection at once at train.py:24" in finding.message
    assert finding.why.startswith("A connection to SQLite must not be used")
    assert "`if self.base is None: self.base = open(...)`" in finding.fix  # the line goes on below
    assert finding.evidence["times_moved"] == "not counted"
