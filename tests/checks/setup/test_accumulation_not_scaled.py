from __future__ import annotations

from collections.abc import Iterable

from tests.fakes import judged, loss_site, losses, optimizer, place
from torch_debugger.records import Finding, GraphNode, LossGraph, Record, StepCycle

BACKWARD = place(40, code="loss.backward()")
GROWN = [1.0, 3.0, 40.0, 900.0]


def cycles(backwards: Iterable[int] = (8, 8, 8)) -> list[StepCycle]:
    return [
        StepCycle(step, "optimizer", place(44), "nonzero", count, BACKWARD) for step, count in enumerate(backwards, 1)
    ]


def graph(op: str = "MseLoss", reduction: str = "mean") -> LossGraph:
    return LossGraph("loss", BACKWARD, 1.0, (GraphNode(op, (), (), saved={"reduction": reduction}),), (), 1)


def check(
    *records: Record,
    kind: str = "SGD",
    values: Iterable[float] = GROWN,
    end: LossGraph | None = None,
) -> list[Finding]:
    everything = [optimizer(kind), loss_site(), end or graph(), *records, *losses(values)]
    return judged(everything, "accumulation-not-scaled")


def test_a_sum_of_gradients_that_blows_up() -> None:
    (finding,) = check(*cycles())
    assert finding.severity == "error"
    assert finding.message == (
        "`loss.backward()` at train.py:40 runs 8 times for each `optimizer.step()` and the loss is not "
        "divided by 8; it rose from 1 to 900."
    )
    assert finding.fix == "Write `(loss / 8).backward()` at train.py:40."
    assert finding.where == BACKWARD


def test_accumulation_that_does_no_harm_is_silent() -> None:
    assert not check(*cycles(), values=[1.0, 0.8, 0.5, 0.4])
    assert not check(*cycles(), kind="Adam")
    assert not check(*cycles(), end=graph("Div"))
    assert not check(*cycles(), end=graph(reduction="sum"))
    assert not check(*cycles((1, 1, 1)))
    assert not check(*cycles((8, 4, 8)))
    assert not check(*cycles((8, 8)))
    assert not check(*cycles(), loss_site(60, "loss_d"))
