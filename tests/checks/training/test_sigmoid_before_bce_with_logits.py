from __future__ import annotations

import dataclasses

import pytest

from tests.checks.graphs import chain
from tests.fakes import judged, model, place
from torch_debugger.records import Finding, ModuleFact, Record

LOSS = "BinaryCrossEntropyWithLogits"
WRONG = chain((LOSS, ()), ("Squeeze", (8,)), ("Sigmoid", (8, 1)), ("Addmm", (8, 1)))
NET = model({"net": "Net", "net.fc": "Linear"}, {"net.fc.weight": (1, 3)})


def check(*records: Record) -> list[Finding]:
    return judged(records, "sigmoid-before-bce-with-logits")


def test_a_sigmoid_in_front_of_the_loss_is_an_error() -> None:
    (finding,) = check(NET, WRONG)
    assert finding.severity == "error"
    assert finding.message == (
        "The loss behind backward() at train.py:40 takes the output of a sigmoid in the model for logits: "
        "the scores go through a sigmoid twice."
    )
    assert finding.fix.startswith("Remove a sigmoid in the model and pass the raw scores to the loss")
    assert (finding.where.line, finding.where.module) == (20, "net")


def test_a_sigmoid_module_is_named_with_its_line_and_edit() -> None:
    last = ModuleFact("net.1", "Sigmoid", place(14, code="nn.Sigmoid(),"))
    (finding,) = check(dataclasses.replace(NET, modules=(*NET.modules, last)), WRONG)
    assert (finding.where.line, finding.where.module) == (14, "net.1")
    assert finding.edit is not None and finding.edit.after == "nn.Identity(),"


@pytest.mark.parametrize(
    "healthy",
    [
        chain((LOSS, ()), ("Addmm", (8, 1))),
        chain(("BinaryCrossEntropy", ()), ("Sigmoid", (8, 1)), ("Addmm", (8, 1))),
        chain((LOSS, ()), ("Mul", (8, 1)), ("Sigmoid", (8, 1)), ("Addmm", (8, 1))),
        chain((LOSS, ()), ("Addmm", (8, 1)), ("Sigmoid", (8, 4)), ("Addmm", (8, 4))),
    ],
    ids=["logits", "bce of sigmoid", "gated", "hidden sigmoid"],
)
def test_healthy_uses_of_sigmoid_are_silent(healthy: Record) -> None:
    assert not check(NET, healthy)
