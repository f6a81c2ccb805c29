"""Small builders of what is known of workers: every field has a plain default, name what matters."""

from __future__ import annotations

from collections.abc import Iterable

from tests.checks.data.looks import loader
from tests.checks.speed.loads import times
from tests.fakes import judged, place
from torch_debugger.records import Finding, LoaderFact, Place, Record

MADE = place(11, code="train_loader = DataLoader(data, batch_size=8, num_workers=4)")


def with_workers(workers: int = 4, **others: object) -> LoaderFact:
    return loader(workers=workers, made=MADE, **others)


def line(number: int = 30, code: str = "image = decode(raw)") -> Place:
    return place(number, code=code)


def said(name: str, records: Iterable[Record], fact: LoaderFact | None = None, trained: int = 100) -> list[Finding]:
    """What the check of this name says of a run that trains on one loader."""
    return judged([fact or with_workers(), times(0.001, batches=trained), *records], name)
