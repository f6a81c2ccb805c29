from __future__ import annotations

from tests.fakes import judged, losses, only, place, rows
from torch_debugger.records import AutogradNode, DropoutLook, LossGraph, ModelFact, ModuleFact, PhaseFact, Record

STUCK = losses([1.6] * 40)


def net(p: float, code: str | None = None) -> ModelFact:
    modules = (
        ModuleFact("net", "Net", place(5)),
        ModuleFact("net.fc1", "Linear", place(9)),
        ModuleFact("net.drop", "Dropout", place(10, code=code), settings={"p": p}),
    )
    return ModelFact("net", "Net", place(5), modules, (), 1, place(15))


def ran(*names: str) -> Record:
    return rows(1, "activation", ("mean",), {name: [0.0] for name in names})


def masked_scores(inputs: tuple[int | None, ...] = (3, None)) -> LossGraph:
    nodes = (
        AutogradNode("NllLoss", (), (1,)),
        AutogradNode("LogSoftmax", (64, 5), (2,)),
        AutogradNode("Mul", (64, 5), inputs),
        AutogradNode("Addmm", (64, 5), (4,)),
        AutogradNode("torch::autograd::AccumulateGrad", (5, 8), (), parameter="net.fc1.weight"),
    )
    return LossGraph("loss", place(30), 1.6, nodes, (), 2)


def test_dropout_that_runs_last_and_feeds_the_loss() -> None:
    (finding,) = judged([net(0.3), ran("net.fc1", "net.drop", "net"), masked_scores()], "dropout-on-output")
    assert finding.message == (
        "`net.drop` sets 30% of the model's outputs to 0 before cross-entropy sees them: dropout stands behind "
        "the last layer."
    )
    assert (finding.severity, finding.where.line) == ("error", 10)


def test_a_mask_of_the_scripts_own_or_a_gate_is_no_dropout() -> None:
    other_order = ran("net.drop", "net.fc1", "net")
    assert not judged([net(0.3), other_order, masked_scores()], "dropout-on-output")
    assert not judged([net(0.0), ran("net.fc1", "net.drop", "net"), masked_scores()], "dropout-on-output")
    gate = masked_scores((3, 3))
    assert not judged([net(0.3), ran("net.fc1", "net.drop", "net"), gate], "dropout-on-output")


def test_a_rate_that_was_meant_to_be_kept_is_turned_round() -> None:
    training = PhaseFact("net", True, True, 1)
    (finding,) = judged([net(0.9, "self.drop = nn.Dropout(0.9)"), training, *STUCK], "dropout-too-high")
    assert finding.message == (
        "`net.drop` drops 90% of what it is given: only 10% of the values pass in training. The loss has fallen by 0%."
    )
    assert finding.edit is not None and finding.edit.after == "self.drop = nn.Dropout(0.1)"
    assert finding.severity == "warning"


def test_strong_dropout_that_is_usual_or_not_used_is_silent() -> None:
    training = PhaseFact("net", True, True, 1)
    assert not judged([net(0.8), training, *STUCK], "dropout-too-high")
    assert not judged([net(0.9), PhaseFact("net", False, True, 1), *STUCK], "dropout-too-high")
    learned = losses([1.6 * 0.9**step for step in range(60)])
    assert judged([net(0.9), training, *learned], "dropout-too-high")[0].severity == "note"


def test_dropout_as_a_function_is_told_by_its_mask() -> None:
    graph = masked_scores()
    mask = AutogradNode("Mul", (64, 5), (3, None), saved={"dropped": 0.4}, place=place(22))
    nodes = (*graph.nodes[:2], mask, *graph.nodes[3:])
    assert only(judged([LossGraph("loss", place(30), 1.6, nodes, (), 2)], "dropout-on-output")).message == (
        "The dropout at train.py:22 sets 40% of the model's outputs to 0 before cross-entropy sees them: "
        "dropout stands behind the last layer."
    )


def test_a_function_that_drops_nearly_everything() -> None:
    looks = [DropoutLook("net.fc1", 0.95, place(17, code="x = F.dropout(x, 0.95)"), step) for step in (1, 2)]
    training = PhaseFact("net", True, True, 1)
    (finding,) = judged([net(0.0), training, *looks, *STUCK], "dropout-too-high")
    assert finding.message.startswith("The dropout after `net.fc1` at train.py:17 drops 95% of what it is given")
    assert finding.edit is not None and finding.edit.after == "x = F.dropout(x, 0.05)"
    assert not judged([net(0.0), training, looks[0], *STUCK], "dropout-too-high")
