"""What the page hears of layers, held against the slow, obvious way on a real training."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from tests.probes.watching import watched
from torch_debugger.log.writer import LogWriter
from torch_debugger.records import Finding, Place, Record, RunFact, Table, TensorRows
from torch_debugger.system.errors import UsageError
from torch_debugger.viewer.layers import marks
from torch_debugger.viewer.questions import Query, find_answer
from torch_debugger.viewer.shown_runs import ShownRuns

Ask = Callable[..., dict[str, Any]]
RUN = RunFact("train.py", (), "", 1, 0.0, "3", "2", "cpu", "0", 0.02, False)


def asking(folder: Path, records: Iterable[Record]) -> Ask:
    writer = LogWriter(folder / "run", on_fault=print)
    for record in (RUN, *records):
        writer.add(record)
    writer.close()
    shown_runs = ShownRuns({"": str(folder)})

    def ask(question: str, **given: str) -> dict[str, Any]:
        answer = find_answer(question)
        assert answer is not None
        found: dict[str, Any] = answer(Query(shown_runs, {"run": "run", **given}))
        json.dumps(found, allow_nan=False)
        return found

    return ask


class Trained:
    """A small training, what was seen of it, and the same numbers by hand."""

    def __init__(self, steps: int = 4) -> None:
        torch.manual_seed(0)
        self.sizes: list[float] = []
        self.gradients: list[float] = []
        self.moves: list[float] = []
        self.zeros: list[float] = []
        with watched() as seen:
            model = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 12), nn.Tanh(), nn.Linear(12, 2))
            own = [*model[0].parameters()]
            groups = [{"params": own}, {"params": [*model[2].parameters(), *model[4].parameters()], "lr": 0.2}]
            optimizer = torch.optim.SGD(groups, lr=0.1)
            for _ in range(steps):
                x = torch.randn(16, 6)
                optimizer.zero_grad()
                model(x).square().mean().backward()
                negative = nn.functional.linear(x, *own) <= 0  # not by calling the layer: that would be a look
                self.zeros.append(float(negative.double().mean()))
                before = [p.detach().double().clone() for p in own]
                self.gradients.append(_norm([p.grad for p in own if p.grad is not None]))
                optimizer.step()
                self.sizes.append(_norm(before))
                pairs = zip(own, before, strict=True)
                self.moves.append(_norm([p.detach().double() - old for p, old in pairs]) / _norm(before))
        self.records = list(seen)


def _norm(tensors: list[torch.Tensor]) -> float:
    return math.sqrt(sum(float(tensor.detach().double().square().sum()) for tensor in tensors))


@pytest.fixture(scope="module")
def trained() -> Trained:
    return Trained()


@pytest.fixture(scope="module")
def ask(trained: Trained, tmp_path_factory: pytest.TempPathFactory) -> Ask:
    return asking(tmp_path_factory.mktemp("layers"), trained.records)


def row_of(grid: dict[str, Any], name: str) -> Any:
    return grid["values"][grid["layers"].index(name)]


def test_what_there_is_to_choose(ask: Ask) -> None:
    found = ask("layers")
    assert found["models"] == ["model"]
    keys = [number["key"] for number in found["numbers"]]
    assert keys[:4] == ["activation.mean", "activation.std", "activation.zeros", "saturation"]
    assert {"gradient.size", "parameter.gradient", "parameter.weight", "update.ratio", "headroom.own"} <= set(keys)


@pytest.mark.parametrize(
    ("number", "slow"),
    [("parameter.weight", "sizes"), ("parameter.gradient", "gradients"), ("update.ratio", "moves")],
)
def test_parameters_by_hand(ask: Ask, trained: Trained, number: str, slow: str) -> None:
    grid = ask("layers", number=number, model="model")
    assert grid["layers"] == ["model.0", "model.2", "model.4"] and grid["steps"] == [1, 2, 3, 4]
    assert row_of(grid, "model.0") == pytest.approx(getattr(trained, slow), rel=2e-3)


def test_outputs_by_hand_in_the_order_in_which_they_ran(ask: Ask, trained: Trained) -> None:
    grid = ask("layers", number="activation.zeros", model="model")
    assert grid["layers"] == [f"model.{number}" for number in range(5)]
    assert row_of(grid, "model.1") == pytest.approx(trained.zeros, abs=1e-3)
    assert grid["range"] == {"form": "linear", "low": 0.0, "high": 1.0, "below": 0, "above": 0}


def test_a_range_of_steps(ask: Ask) -> None:
    grid = ask("layers", number="parameter.weight", model="model", **{"from": "2", "to": "3"})
    assert grid["steps"] == [2, 3] and grid["looks"] == 2 and grid["span"] == [1, 4]
    assert grid["measured"] == 4
    assert ask("layers", number="parameter.weight", model="model", **{"from": "50"})["steps"] == []
    assert ask("layers", number="parameter.weight", model="nobody")["layers"] == []


def test_one_layer(ask: Ask, trained: Trained) -> None:
    found = ask("layer", layer="model.0")
    weight, bias = found["parameters"]
    assert found["kind"] == "Linear" and found["place"]["file"].endswith("test_layers.py")
    assert (weight["shape"], weight["dtype"], weight["trainable"]) == ([12, 6], "float32", True)
    assert (weight["looked_at"], weight["changed_at"], weight["gradient"]) == (4, 4, "nonzero")
    assert (weight["optimizer"], weight["group"], weight["lr"]) == ("optimizer", 0, pytest.approx(0.1))
    assert math.hypot(weight["weight_norm"], bias["weight_norm"]) == pytest.approx(trained.sizes[-1], rel=1e-4)
    assert ask("layer", layer="model.4")["parameters"][0]["lr"] == pytest.approx(0.2)
    curves = {curve["key"]: curve for curve in found["curves"]}
    assert curves["parameter.weight"]["values"] == pytest.approx(trained.sizes, rel=1e-4)
    with pytest.raises(UsageError, match="has no layer"):
        ask("layer", layer="model.9")


def test_a_layer_without_parameters_has_none(ask: Ask) -> None:
    found = ask("layer", layer="model.1")
    assert found["parameters"] == [] and found["kind"] == "ReLU"
    assert [source["title"] for source in found["spreads"]] == ["Outputs"]


def test_spreads_are_whole(ask: Ask) -> None:
    for source in ask("layer", layer="model.2")["spreads"]:
        found = ask("spreads", of=source["of"], name=source["name"])
        assert found["steps"] == [1, 2, 3]
        for bars, outside, lost in zip(found["parts"], found["outside"], found["not_finite"], strict=True):
            assert sum(bars) + outside + lost == pytest.approx(1, abs=0.01) and lost == 0
            assert len(bars) + 1 == len(found["edges"])


def test_half_the_values_of_a_rectifier_lie_on_one_bar(ask: Ask) -> None:
    found = ask("spreads", of="activation_spread", name="model.1")
    zero = np.searchsorted(found["edges"], 0.0, "right") - 1
    assert all(bars[zero] > 0.25 and sum(bars[:zero]) == 0 for bars in found["parts"])


def test_questions_that_make_no_sense(ask: Ask) -> None:
    with pytest.raises(UsageError, match="no number"):
        ask("layers", number="activation.wrong")
    with pytest.raises(UsageError, match="Spreads are of"):
        ask("spreads", of="../secret", name="x")
    assert ask("spreads", of="weight_spread", name="nobody") == {
        "of": "weight_spread",
        "name": "nobody",
        "steps": [],
    }


def rows(step: int, values: Any, kind: str = "activation", dtype: str = "float32") -> TensorRows:
    names = tuple(f"net.layers.{number}" for number in range(len(values)))
    table = Table(kind, "net", names, ("mean", "std", "min", "max", "zeros"), (dtype,) * len(names))
    return TensorRows(step, table, np.array(values, np.float32))


def test_thousands_of_layers_come_in_pieces(tmp_path: Path) -> None:
    values = [[0.0, 1.0 + number, -1.0, 1.0, 0.0] for number in range(3000)]
    ask = asking(tmp_path, [rows(step, values) for step in (1, 5)])
    first, last = (ask("layers", number="activation.std", model="net", top=top) for top in ("0", "2900"))
    assert len(first["layers"]) == 3000 and len(first["values"]) == 200 and first["values"][0] == [1.0, 1.0]
    assert last["layers"] == [] and len(last["values"]) == 100 and last["values"][-1] == [3000.0, 3000.0]
    assert first["range"] == last["range"]


def test_thousands_of_looks_are_thinned_and_no_nan_hides(tmp_path: Path) -> None:
    looks = [rows(step, [[0, math.nan if step == 777 else 1.0, -1, 1, 0]]) for step in range(1, 2001)]
    grid = asking(tmp_path, looks)("layers", number="activation.std", model="net")
    assert len(grid["steps"]) == 300 and grid["looks"] == 2000 and grid["values"][0][grid["steps"].index(777)] == "nan"
    said = "This number is NaN or infinite in 1 of 1 layers, first at step 777 in net.layers.0."
    assert grid["stands_out"] == [said]


def test_headroom_by_type(tmp_path: Path) -> None:
    half = [[0, 1, -(2.0**14), 5, 0], [0, 1, 0, 0, 1]]
    ask = asking(tmp_path, [rows(1, half, dtype="float16"), rows(2, half, dtype="bfloat16")])
    own = ask("layers", number="headroom.own", model="net")
    assert own["values"] == [[pytest.approx(2.0, abs=1e-3), pytest.approx(114, abs=1e-3)], [None, None]]
    float16 = ask("layers", number="headroom.float16", model="net")["values"][0]
    assert float16 == [pytest.approx(2.0, abs=1e-3)] * 2
    too_large = asking(tmp_path / "other", [rows(1, [[0, 1, -1, 1e5, 0], [0, 1, -1, 1, 0]])])
    grid = too_large("layers", number="headroom.float16", model="net")
    assert grid["range"]["form"] == "diverging" and grid["values"][0][0] < 0
    assert "1 of 2 layers put out numbers that float16 cannot hold" in grid["stands_out"][0]


def test_one_odd_cell_does_not_bleach_the_rest(tmp_path: Path) -> None:
    values = [[0, 1.0 + 0.01 * number, -1, 1, 0] for number in range(99)] + [[0, 1e30, -1, 1, 0]]
    found = asking(tmp_path, [rows(1, values)])("layers", number="activation.std", model="net")["range"]
    assert found["high"] < 3 and found["above"] >= 1


def test_findings_stand_in_the_margin() -> None:
    where = (Place(module="net.layers.1.weight"), Place(module="net.layers.0"), Place(file="train.py", line=3))
    made = [
        Finding("TD301", f"fault-{place}", severity, 1.0, "m", "w", "f", spot, 1, 1)
        for place, (spot, severity) in enumerate(zip(where, ("error", "note", "error"), strict=True))
    ]
    assert marks(made, ["net.layers.0", "net.layers.1"]) == [
        {"layer": 1, "severity": "error", "names": ["fault-0"]},
        {"layer": 0, "severity": "note", "names": ["fault-1"]},
    ]


def test_nothing_stands_out_in_a_healthy_layer(tmp_path: Path) -> None:
    ask = asking(tmp_path, [rows(step, [[0, 1.0, -1, 1, 0.5]] * 3) for step in (1, 2)])
    for number in ("activation.mean", "activation.std", "activation.zeros", "headroom.own", "headroom.float16"):
        assert ask("layers", number=number, model="net")["stands_out"] == []


def test_many_zeros_are_told_with_names(tmp_path: Path) -> None:
    ask = asking(tmp_path, [rows(1, [[0, 1, -1, 1, 0.95]] * 4 + [[0, 1, -1, 1, 0.1]])])
    (said,) = ask("layers", number="activation.zeros", model="net")["stands_out"]
    names = "net.layers.0, net.layers.1, net.layers.2 and 1 more"
    assert said == f"4 of 5 layers put out more than 90 % zeros at the last look: {names}."
