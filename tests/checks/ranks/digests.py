"""Digests of ranks, made by hand."""

from __future__ import annotations

from collections.abc import Iterable

from tests.fakes import judged_ranks, place
from torch_debugger.records import CalledModel, Finding, GradientAverage, Place, RankDigest, Record

MADE = place(12, code="model = DistributedDataParallel(net)")
DDP = GradientAverage("DistributedDataParallel", "model", MADE, 2)
BY_HAND = GradientAverage("by hand", ranks=2)
CALL = place(20, code="loss = criterion(model.module(x), y)")


def call(inputs: int, role: str = "wrapper", where: Place = CALL) -> CalledModel:
    return CalledModel("model", role, where, (inputs,))


def digest(step: int, **others: object) -> RankDigest:
    """Two parameters, equal on all ranks that are not told otherwise; each step has a batch of its own."""
    values: dict[str, object] = {
        "optimizer": 0,
        "average": DDP,
        "names": ("model.fc.weight", "model.fc.bias"),
        "shapes": ("(4, 8)", "(4,)"),
        "weights": (1000 + step, 2000 + step),
        "gradients": (3000 + step, 4000 + step),
        "norms": (2.5, 0.5),
        "rates": (0.1,),
        "calls": (call(5000 + step),),
        "updates": step - 1,
        "backwards": step,
    }
    return RankDigest(step=step, **{**values, **others})  # type: ignore[arg-type]


def compared(name: str, *ranks: Iterable[Record]) -> list[Finding]:
    return judged_ranks(dict(enumerate(ranks)), name)
