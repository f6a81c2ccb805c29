from __future__ import annotations

import dataclasses

import pytest

from tests.checks.graphs import chain, loss_graph, node
from tests.fakes import findings_of, judged, model, only, place
from torch_debugger.records import AutogradNode, Finding, ModuleFact, Place, Record, WeightedSum

WRONG = chain(("NllLoss", ()), ("LogSoftmax", (8, 5)), ("Softmax", (8, 5)), ("Addmm", (8, 5)))
NET = model({"net": "Net", "net.fc": "Linear"}, {"net.fc.weight": (5, 3)})
twice = findings_of("softmax-before-cross-entropy")


def test_softmax_in_forward_is_an_error() -> None:
    (finding,) = twice(NET, WRONG)
    assert finding.message == (
        "The loss behind backward() at train.py:40 applies log-softmax to the output of a softmax in "
        "the model: the scores go through softmax twice."
    )
    assert "with 5 classes the cross-entropy cannot fall below 0.90" in finding.why
    assert (finding.severity, finding.where.line, finding.where.module) == ("error", 20, "net")
    assert finding.edit is None


def test_a_softmax_module_is_named_with_its_line_and_edit() -> None:
    last = ModuleFact("net.1", "Softmax", place(14, code="nn.Softmax(dim=1),"))
    (finding,) = twice(dataclasses.replace(NET, modules=(*NET.modules, last)), WRONG)
    assert (finding.where.line, finding.where.module) == (14, "net.1")
    assert finding.edit is not None and finding.edit.after == "nn.Identity(),"
    assert finding.fix.startswith("Remove `net.1` (Softmax) and pass the raw scores to the loss")


def test_an_unknown_model_gets_the_finding_and_the_same_loss_one() -> None:
    assert only(twice(WRONG)).where.line == 40, "a script whose model is unknown still gets the finding"
    assert len(twice(NET, WRONG, dataclasses.replace(WRONG, step=5))) == 1, "the same loss is reported once"


@pytest.mark.parametrize("between", ["View", "ToCopy", "Transpose", "Permute", "UnsafeView", "SqueezeBackward1"])
def test_changes_of_shape_or_dtype_between_do_not_hide_it(between: str) -> None:
    assert twice(chain(("NllLoss2D", ()), ("LogSoftmax", (8, 5)), (between, (8, 5)), ("Softmax", (8, 5))))


def test_probability_targets_and_label_smoothing_are_seen_too() -> None:
    probabilities = loss_graph(
        node("DivBackward1", (), 1), node("Neg", (), 2), node("Sum", (), 3), node("Mul", (8, 5), 4, None),
        node("LogSoftmax", (8, 5), 5), node("Softmax", (8, 5), 6), node("Addmm", (8, 5)),
    )  # fmt: skip
    smoothing = loss_graph(
        node("Add", (), 1, 2), node("MulBackward1", (), 3), node("MulBackward1", (), 3), node("NllLoss", (), 4),
        node("LogSoftmax", (8, 5), 5), node("Softmax", (8, 5), 6), node("Addmm", (8, 5)),
    )  # fmt: skip
    assert twice(probabilities) and twice(smoothing)


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
    assert not twice(NET, healthy)


def one_class(*nodes: AutogradNode) -> list[Finding]:
    graph: Record = loss_graph(*nodes)
    return judged([graph], "softmax-over-one-class")


def test_cross_entropy_over_one_output_is_an_error() -> None:
    (finding,) = one_class(
        node("Neg", (), 1), node("Sum", (), 2), node("Mul", (50, 1), 3, None),
        node("LogSoftmax", (50, 1), 4, dim=1), node("Addmm", (50, 1)),
    )  # fmt: skip
    assert finding.severity == "error"
    assert finding.message == (
        "The loss at train.py:40 takes a softmax over one score ((50, 1)): the result is 1 whatever the model "
        "says, so no gradient flows."
    )
    assert "nn.BCEWithLogitsLoss()" in finding.fix


def test_a_softmax_over_one_output_in_front_of_a_binary_loss_is_an_error() -> None:
    assert one_class(
        node("BinaryCrossEntropy", (), 1), node("Squeeze", (50,), 2), node("Softmax", (50, 1), 3, dim=1),
        node("Addmm", (50, 1)),
    )  # fmt: skip


@pytest.mark.parametrize(
    "nodes",
    [
        (node("NllLoss", (), 1), node("LogSoftmax", (50, 2), 2, dim=1), node("Addmm", (50, 2))),
        (node("NllLoss", (), 1), node("LogSoftmax", (1, 1), 2, dim=1), node("Mm", (1, 1))),
        (node("MseLoss", (), 1), node("Bmm", (50, 4), 2), node("Softmax", (50, 1), 3, dim=1), node("Mm", (50, 1))),
    ],
    ids=["two classes", "a batch of one", "attention over one item"],
)
def test_other_softmaxes_are_silent(nodes: tuple[AutogradNode, ...]) -> None:
    assert not one_class(*nodes)


def test_attention_weights_that_are_all_one() -> None:
    look = WeightedSum((32, 20, 1), 2, (1,), False, True, Place("train.py", 15), 1)
    (finding,) = judged([look, look], "softmax-over-one-class")
    assert finding.message == (
        "The softmax at train.py:15 runs over dim=2 of (32, 20, 1), which holds one number: every weight is 1, "
        "and the values they weigh are added up over dim=1."
    )
    assert finding.fix == "Write `dim=1` in place of `dim=2` in the softmax at train.py:15."
    assert not judged([look], "softmax-over-one-class"), "once may be a sequence of one"
    alone = WeightedSum((32, 1, 1), 2, (1,), False, True, Place("train.py", 15), 1)
    assert not judged([alone, alone], "softmax-over-one-class")


wrong_dim = findings_of("softmax-wrong-dim")


def graph(*above: AutogradNode, shape: tuple[int, ...], dim: int, op: str = "LogSoftmax") -> Record:
    """`above`, then a softmax of this shape over this dimension, then a layer."""
    last = len(above)
    return loss_graph(*above, node(op, shape, last + 1, dim=dim), node("Addmm", shape))


def test_a_softmax_over_the_batch_is_an_error() -> None:
    (finding,) = wrong_dim(graph(node("NllLoss", (), 1), shape=(48, 5), dim=0))
    assert finding.severity == "error"
    assert finding.message == (
        "The log_softmax at train.py:40 runs over the batch (dim=0) of (48, 5), but the loss picks one of "
        "5 classes along dim=1."
    )
    assert finding.fix == "Write `dim=1` in place of `dim=0` in a log_softmax in the model."


def test_a_softmax_is_seen_through_views_and_logarithms() -> None:
    (finding,) = wrong_dim(graph(node("NllLoss", (), 1), node("View", (176, 7), 2), shape=(16, 11, 7), dim=1))
    assert "along dim=2" in finding.message, "a softmax over time is seen through the view that flattens tokens"
    # the log of a softmax counts as well
    assert wrong_dim(graph(node("NllLoss", (), 1), node("Log", (48, 5), 2), shape=(48, 5), dim=0, op="Softmax"))


@pytest.mark.parametrize(
    "healthy",
    [
        graph(node("NllLoss", (), 1), shape=(48, 5), dim=1),
        graph(node("NllLoss", (), 1), shape=(48, 5), dim=-1),
        graph(node("NllLoss", (), 1), shape=(40, 40), dim=0),
        graph(node("NllLoss", (), 1), node("T", (48, 5), 2), shape=(5, 48), dim=0),
        graph(node("NllLoss", (), 1), node("View", (176, 7), 2), shape=(16, 11, 7), dim=2),
        graph(node("NllLoss2D", (), 1), node("View", (2, 5, 1, 7), 2), shape=(2, 5, 7), dim=1),
        graph(node("Mean", (), 1), shape=(48, 5), dim=0),
    ],
    ids=["classes", "last", "square", "transposed", "flattened", "sequence", "no likelihood"],
)
def test_healthy_softmaxes_are_silent(healthy: Record) -> None:
    assert not wrong_dim(healthy)


def test_classes_that_are_picked_by_gather_or_by_an_index_count_as_well() -> None:
    (finding,) = wrong_dim(graph(node("Gather", (48, 1), 1, dim=1), shape=(48, 5), dim=0))
    assert finding.message.endswith("but the loss picks one of 5 classes along dim=1.")
    assert wrong_dim(graph(node("Index", (48,), 1), shape=(48, 5), dim=0))
    assert not wrong_dim(graph(node("Gather", (48, 1), 1, dim=1), shape=(48, 5), dim=1))
    assert not wrong_dim(graph(node("Gather", (1, 5), 1, dim=0), shape=(48, 5), dim=0))
    assert not wrong_dim(graph(node("Index", (5,), 1), shape=(48, 5), dim=0))


def test_log_probabilities_over_the_batch_are_seen_behind_cross_entropy() -> None:
    above = node("NllLoss", (), 1), node("LogSoftmax", (48, 5), 2, dim=1)
    assert wrong_dim(graph(*above, shape=(48, 5), dim=0))
    assert not wrong_dim(graph(*above, shape=(48, 5), dim=1))


def weights(
    shape: tuple[int, ...], dim: int, summed: int, of_pairs: bool = False, samples_first: bool = True
) -> WeightedSum:
    return WeightedSum(shape, dim, (summed,), of_pairs, samples_first, Place("train.py", 12), 1)


def test_attention_weights_that_add_up_to_one_over_the_batch_are_an_error() -> None:
    (finding,) = wrong_dim(weights((32, 20, 1), dim=0, summed=1))
    assert finding.message == (
        "The weights of the softmax at train.py:12 add up to 1 over the batch (dim=0) of (32, 20, 1), but the "
        "values they weigh are added up over dim=1."
    )
    assert finding.fix == "Write `dim=1` in place of `dim=0` in the softmax at train.py:12."
    assert (finding.severity, finding.where.line) == ("error", 12)


@pytest.mark.parametrize(
    ("look", "over"),
    [
        (weights((8, 4, 10, 10), dim=1, summed=3, of_pairs=True), "the heads"),
        (weights((8, 4, 10, 10), dim=2, summed=3, of_pairs=True), "the queries"),
        (weights((8, 10, 12), dim=0, summed=2, of_pairs=True, samples_first=False), "the batch"),
    ],
    ids=["heads", "queries", "batch"],
)
def test_attention_of_queries_and_keys_is_judged_by_its_product(look: WeightedSum, over: str) -> None:
    assert f"over {over} (dim={look.dim})" in only(wrong_dim(look, look)).message


@pytest.mark.parametrize(
    "healthy",
    [
        weights((16, 40), dim=0, summed=1, samples_first=False),
        weights((32, 6, 50), dim=1, summed=2),
        weights((32, 32), dim=0, summed=1),
        weights((8, 6, 50), dim=1, summed=2, of_pairs=True),
        weights((32, 1), dim=0, summed=1),
    ],
    ids=["clusters without a batch", "clusters share out points", "square", "slots", "nothing to weigh"],
)
def test_weights_that_are_shared_out_on_purpose_are_silent(healthy: WeightedSum) -> None:
    assert not wrong_dim(healthy)
