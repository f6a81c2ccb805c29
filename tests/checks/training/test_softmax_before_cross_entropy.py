from __future__ import annotations

import dataclasses

import pytest

from tests.checks.graphs import chain, loss_graph, node
from tests.fakes import judged, model, place
from torch_debugger.records import Finding, ModuleFact, Record

WRONG = chain(("NllLoss", ()), ("LogSoftmax", (8, 5)), ("Softmax", (8, 5)), ("Addmm", (8, 5)))
NET = model({"net": "Net", "net.fc": "Linear"}, {"net.fc.weight": (5, 3)})


def check(*records: Record) -> list[Finding]:
    return judged(records, "softmax-before-cross-entropy")


def test_softmax_in_forward_is_an_error() -> None:
    (finding,) = check(NET, WRONG)
    assert finding.severity == "error"
    assert finding.message == (
        "The loss behind backward() at train.py:40 applies log-softmax to the output of a softmax in "
        "the model: the scores go through softmax twice."
    )
    assert "with 5 classes the cross-entropy cannot fall below 0.90" in finding.why
    assert (finding.where.line, finding.where.module) == (20, "net")
    assert finding.edit is None


def test_a_softmax_module_is_named_with_its_line_and_edit() -> None:
    last = ModuleFact("net.1", "Softmax", place(14, code="nn.Softmax(dim=1),"))
    (finding,) = check(dataclasses.replace(NET, modules=(*NET.modules, last)), WRONG)
    assert (finding.where.line, finding.where.module) == (14, "net.1")
    assert finding.edit is not None and finding.edit.after == "nn.Identity(),"
    assert finding.fix.startswith("Remove `net.1` (Softmax) and pass the raw scores to the loss")


def test_a_script_whose_model_is_unknown_still_gets_the_finding() -> None:
    (finding,) = check(WRONG)
    assert finding.where.line == 40


@pytest.mark.parametrize("between", ["View", "ToCopy", "Transpose", "Permute", "UnsafeView", "SqueezeBackward1"])
def test_changes_of_shape_or_dtype_between_do_not_hide_it(between: str) -> None:
    assert check(chain(("NllLoss2D", ()), ("LogSoftmax", (8, 5)), (between, (8, 5)), ("Softmax", (8, 5))))


def test_probability_targets_and_label_smoothing_are_seen_too() -> None:
    probabilities = loss_graph(
        node("DivBackward1", (), 1), node("Neg", (), 2), node("Sum", (), 3), node("Mul", (8, 5), 4, None),
        node("LogSoftmax", (8, 5), 5), node("Softmax", (8, 5), 6), node("Addmm", (8, 5)),
    )  # fmt: skip
    smoothing = loss_graph(
        node("Add", (), 1, 2), node("MulBackward1", (), 3), node("MulBackward1", (), 3), node("NllLoss", (), 4),
        node("LogSoftmax", (8, 5), 5), node("Softmax", (8, 5), 6), node("Addmm", (8, 5)),
    )  # fmt: skip
    assert check(probabilities) and check(smoothing)


@pytest.mark.parametrize(
    "healthy",
    [
        chain(("NllLoss", ()), ("LogSoftmax", (8, 5)), ("Addmm", (8, 5))),
        chain(("NllLoss", ()), ("LogSoftmax", (8, 5)), ("Log", (8, 5)), ("Softmax", (8, 5))),
        chain(("NllLoss", ()), ("LogSoftmax", (8, 5)), ("LogSoftmax", (8, 5)), ("Addmm", (8, 5))),
        chain(("NllLoss", ()), ("LogSoftmax", (8, 5)), ("Addmm", (8, 5)), ("Bmm", (8, 3)), ("Softmax", (8, 3))),
        chain(("NllLoss", ()), ("Log", (8, 5)), ("Softmax", (8, 5))),
        chain(("MseLoss", ()), ("Softmax", (8, 5))),
    ],
    ids=["plain", "log of softmax", "log_softmax twice", "attention", "nll of log", "mse of softmax"],
)
def test_healthy_uses_of_softmax_are_silent(healthy: Record) -> None:
    assert not check(NET, healthy)


def test_the_same_loss_is_reported_once() -> None:
    assert len(check(NET, WRONG, dataclasses.replace(WRONG, step=5))) == 1
