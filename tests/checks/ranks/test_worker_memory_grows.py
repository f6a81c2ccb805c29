"""The memory of workers grows."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

import pytest

from tests.checks.ranks.worker_facts import line, said, with_workers
from torch_debugger.records import Finding, HeldData, LoaderFact, WorkerLook
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


def check(records: Iterable[WorkerLook], fact: LoaderFact | None = None) -> list[Finding]:
    return said("worker-memory-grows", records, fact or loader())


def loader(samples: int | None = 80, **others: object) -> LoaderFact:
    return with_workers(2, dataset="Bars", samples=samples, persistent=True, **others)


def test_a_list_that_gets_longer() -> None:
    [finding] = check(looks())
    assert (finding.check, finding.severity, finding.confidence) == ("TD842", "warning", 0.93)
    assert finding.message == (
        "`self.served` of `Bars`, added to at train.py:20, gets longer with every batch in each of the 2 "
        "workers of `train_loader`: 1001 entries in worker 0, and its own memory went from 10 MB to 60 MB in "
        "50 batches, 1 MB a batch; 100 MB more in all workers."
    )
    assert finding.why.startswith("The list keeps an entry of about 50 kB for each sample")
    assert finding.fix.startswith("Take out the line that adds to it (`self.served.append(image)`)")
    assert finding.where == ADDS
    assert finding.evidence["bytes_a_batch"] == pytest.approx(MB)


def test_a_cache_without_a_limit() -> None:
    cache = dataclasses.replace(LIST, name="render", owner="", kind="cache", entry_bytes=0)
    [finding] = check(looks(grown=cache))
    assert finding.message.startswith("`render`, added to at train.py:20, takes more entries with every batch")
    assert finding.why.startswith("The cache keeps an entry for each sample")


def test_a_cache_that_fills_once_is_left_alone() -> None:
    kept = dataclasses.replace(LIST, kind="dict")
    assert not check(looks(grown=kept), loader(samples=1000))
    assert check(looks(grown=kept), loader(samples=900))
    assert check(looks(grown=kept, free=90 * MB), loader(samples=1000))  # 100 MB, and it will not fit
    assert not check(looks(grown=kept, free=210 * MB), loader(samples=1000))


def test_of_a_stream_only_much_is_told() -> None:
    assert not check(looks(), loader(samples=None))
    big = dataclasses.replace(LIST, entry_bytes=500_000)
    assert check(looks(each=100 * MB, grown=big), loader(samples=None))


def test_a_list_that_is_copied_page_by_page() -> None:
    fact = loader(samples=1_000_000, holds=(OBJECTS,))
    [finding] = check(looks(grown=None, resident=0.1), fact)
    assert (finding.severity, finding.confidence) == ("note", 0.9)
    assert finding.message.startswith(
        "`self.captions` of `Bars`, a list of 1000000 Python objects, is copied bit by bit into each of the 2 "
        "workers of `train_loader` as they read it: in worker 0, its own memory went from 10 MB to 60 MB"
    )
    assert "about 80 MB for each worker, 160 MB in all, of 8 GB that are free" in finding.why
    assert "`numpy.array(...)`" in finding.fix
    [finding] = check(looks(grown=None, resident=0.1, free=700 * MB), fact)
    assert finding.severity == "warning"


def test_pages_are_copied_only_where_the_size_stays() -> None:
    fact = loader(samples=1_000_000, holds=(OBJECTS,))
    assert not check(looks(grown=None, resident=0.5), fact)
    small = dataclasses.replace(OBJECTS, objects_bytes=20 * MB)
    assert not check(looks(grown=None, resident=0.1), loader(holds=(small,)))


def test_what_nothing_explains() -> None:
    [finding] = check(looks(each=60 * MB, grown=None))
    assert (finding.severity, finding.confidence) == ("warning", 0.7)
    assert "goes on after 2 passes: in worker 0, its own memory went from 10 MB to 310 MB" in finding.message
    assert "`persistent_workers=False`" in finding.fix
    assert not check(looks(each=50 * MB, grown=None))
    assert not check(looks(each=100 * MB, count=5, grown=None))
    assert not check(looks(each=60 * MB, grown=None), loader(length=60))
    flat = looks(each=120 * MB, grown=None)[:6]
    stays = [dataclasses.replace(flat[-2 + number % 2], step=100 + number) for number in range(8)]
    assert not check([*flat, *stays])


def test_thresholds() -> None:
    assert not check(looks(each=6 * MB, grown=dataclasses.replace(LIST, entry_bytes=30_000)))  # 60 MB in all
    assert not check(looks(each=40 * MB, count=2))
    assert not check(looks(grown=dataclasses.replace(LIST, entry_bytes=24_000)))  # half of it is something else


def test_workers_that_begin_anew_have_nothing_yet() -> None:
    first = looks(each=6 * MB, grown=None)
    again = [dataclasses.replace(look, pid=look.pid + 100, step=look.step + 100) for look in first]
    assert not check([*first, *again])
