"""Digests of ranks and what is known of workers, made by hand: every field has a plain default, name what matters."""

from __future__ import annotations

from collections.abc import Iterable

from tests.checks.data.looks import loader
from tests.checks.speed.loads import times
from tests.fakes import judged, judged_ranks, place
from torch_debugger.records import CalledModel, Finding, GradientAverage, LoaderFact, Place, RankDigest, Record

WRAPPED = place(12, code="model = DistributedDataParallel(net)")
DDP = GradientAverage("DistributedDataParallel", "model", WRAPPED, 2)
BY_HAND = GradientAverage("by hand", ranks=2)
CALL = place(20, code="loss = criterion(model.module(x), y)")


def call(inputs: int, role: str = "wrapper", where: Place = CALL) -> CalledModel:
    return CalledModel("model", role, where, (inputs,))


def digest(step: int, **others: object) -> RankDigest:
    """Two parameters, equal on all ranks that are not told otherwise; each step has a batch of its own."""
    values: dict[str, object] = {
        "optimizer": 0, "average": DDP, "names": ("model.fc.weight", "model.fc.bias"),
        "shapes": ("(4, 8)", "(4,)"), "weights": (1000 + step, 2000 + step),
        "gradients": (3000 + step, 4000 + step), "norms": (2.5, 0.5), "rates": (0.1,),
        "calls": (call(5000 + step),), "updates": step - 1, "backwards": step,
    }  # fmt: skip
    return RankDigest(step=step, **{**values, **others})  # type: ignore[arg-type]


def compared(name: str, *ranks: Iterable[Record]) -> list[Finding]:
    return judged_ranks(dict(enumerate(ranks)), name)


MADE = place(11, code="train_loader = DataLoader(data, batch_size=8, num_workers=4)")


def with_workers(workers: int = 4, **others: object) -> LoaderFact:
    return loader(workers=workers, made=MADE, **others)


def line(number: int = 30, code: str = "image = decode(raw)") -> Place:
    return place(number, code=code)


def said(name: str, records: Iterable[Record], fact: LoaderFact | None = None, trained: int = 100) -> list[Finding]:
    """What the check of this name says of a run that trains on one loader."""
    return judged([fact or with_workers(), times(0.001, batches=trained), *records], name)
