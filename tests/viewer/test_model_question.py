"""The questions of the model's view: from records alone, bounded, and honest where a log is old."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from torch_debugger.log.writer import LogWriter
from torch_debugger.records import (
    CallFact,
    ModelFact,
    ModelFlow,
    ModuleFact,
    ParameterFact,
    PhaseFact,
    Place,
    Record,
    RunFact,
    Scalars,
    Table,
    TensorRows,
)
from torch_debugger.records.model import (
    INPUT,
    MODULE,
    OUTPUT,
    GraphEdge,
    GraphModule,
    GraphNode,
    GraphScope,
    ModelGraph,
    TensorForm,
)
from torch_debugger.system.errors import UsageError
from torch_debugger.viewer.questions import Query, find_answer
from torch_debugger.viewer.shown_runs import ShownRuns

FORM = TensorForm((2, 4), "float32", "cpu")
RUN = RunFact("train.py", (), "", 1, 0.0, "3", "2", "cpu", "0", 0.02, False)


def model(root: str = "net", layers: int = 3, width: int = 4) -> ModelFact:
    """A list of layers, one below the other."""
    names = [f"{root}.layers.{place}" for place in range(layers)]
    modules = [ModuleFact(root, "Net"), ModuleFact(f"{root}.layers", "ModuleList")]
    modules += [ModuleFact(name, "Linear", Place("train.py", 3, name), width * width) for name in names]
    parameters = tuple(ParameterFact(f"{name}.weight", (width, width), "float32", "cpu", True) for name in names)
    return ModelFact(root, "Net", Place(), tuple(modules), parameters, 1)


def flow(root: str = "net", layers: int = 3, unknown: int | None = None) -> ModelFlow:
    names = [f"{root}/layers/{place}" for place in range(layers)]
    nodes = [GraphNode("input/x", INPUT, INPUT, "", (FORM,))]
    nodes += [GraphNode(f"{name}/Linear", MODULE, "Linear", name, (FORM,)) for name in names]
    nodes.append(GraphNode("output", OUTPUT, OUTPUT, "", ()))
    edges = tuple(GraphEdge(place, 0, place + 1, FORM) for place in range(len(nodes) - 1))
    scopes = [GraphScope(root, "", "Net", 1)]
    scopes += [GraphScope(name, f"layers.{place}", "Linear", 1, "", root) for place, name in enumerate(names)]
    calls = [CallFact(root, ((2, 4),), ((2, 4),), 0)]
    for place, name in enumerate(names):
        told = (None, "No formula is known.") if place == unknown else (32, "")
        calls.append(CallFact(name, ((2, 4),), ((2, 4),), *told))
    held = [GraphModule("", "Net", 16 * layers, False), GraphModule("layers", "ModuleList", 16 * layers, True)]
    held += [GraphModule(f"layers.{place}", "Linear", 16, True) for place in range(layers)]
    return ModelFlow(root, ModelGraph(tuple(nodes), edges, tuple(scopes), "", tuple(held)), tuple(calls), 2)


def asked(folder: Path, records: Sequence[Record], question: str = "model", **given: str) -> Any:
    writer = LogWriter(folder / "run", on_fault=print)
    for record in (RUN, *records):
        writer.add(record)
    writer.close()
    answer = find_answer(question)
    assert answer is not None
    found = answer(Query(ShownRuns({"": str(folder)}), {"run": "run", **given}))
    json.dumps(found, allow_nan=False)
    return found


def rows(step: int, values: dict[str, float], kind: str = "activation", column: str = "std") -> TensorRows:
    table = Table(kind, "net", tuple(values), (column,))
    return TensorRows(step, table, np.array([[value] for value in values.values()], np.float32))


def test_a_run_without_a_model_says_so(tmp_path: Path) -> None:
    assert asked(tmp_path, []) == {"roots": [], "root": None}


def test_a_traced_model_has_its_flow_and_its_numbers(tmp_path: Path) -> None:
    found = asked(tmp_path, [model(), flow()])
    by_path = {module["path"]: module for module in found["modules"]}
    assert found["step"] == 2
    assert found["note"] == ""
    assert by_path["net"]["flops"] == 3 * 64  # a multiply-accumulate is two
    assert by_path["net.layers"]["flops"] == 3 * 64  # a list is not called itself
    assert by_path["net.layers"]["parameters"] == 48
    assert by_path["net.layers.1"]["made"] == [[2, 4]]
    assert by_path["net.layers.1"]["own"][0]["shape"] == [4, 4]
    assert by_path["net.layers.1"]["place"]["line"] == 3
    assert by_path["net.layers.1"]["calls"] == 1
    keys = [part["key"] for part in found["drawing"]["groups"][""]["parts"]]
    assert keys[0] == "input/x"
    assert "FLOPs" in json.dumps(found["drawing"])


def test_what_was_not_counted_makes_a_lower_bound_that_says_why(tmp_path: Path) -> None:
    found = asked(tmp_path, [model(), flow(unknown=1)])
    by_path = {module["path"]: module for module in found["modules"]}
    assert by_path["net"]["flops"] == 2 * 64
    assert by_path["net"]["missing"] == "layers.1: No formula is known."
    assert by_path["net.layers.0"]["missing"] == ""


def test_alike_layers_are_folded_and_open(tmp_path: Path) -> None:
    found = asked(tmp_path, [model(layers=12), flow(layers=12)])
    texts = json.dumps(found["drawing"]["groups"])
    assert "11 more like" in texts
    assert "layers.11" in texts  # inside of what is folded


def test_an_old_log_shows_the_tree_and_says_why(tmp_path: Path) -> None:
    found = asked(tmp_path, [model()])
    assert "No forward of this model was traced" in found["note"]
    assert "torch.compile" not in found["note"]  # it was not the reason
    assert found["step"] is None
    assert found["modules"][0]["flops"] is None
    assert [module["path"] for module in found["modules"]][:3] == ["net", "net.layers", "net.layers.0"]
    parts = [part["path"] for group in found["drawing"]["groups"].values() for part in group["parts"]]
    assert "layers.2" in parts


def test_why_no_forward_was_traced_is_told_as_it_was(tmp_path: Path) -> None:
    def note(name: str, *records: Record, steps: int) -> str:
        scalars = [Scalars(step, 1e9, {"loss": 1.0}) for step in range(1, steps + 1)]
        return str(asked(tmp_path / name, [model(), *records, *scalars])["note"])

    trained = PhaseFact("net", True, True, 1)
    assert "it ran without them" in note("quiet", PhaseFact("net", True, False, 1), steps=3)
    assert "torch.compile" in note("compiled", steps=3)
    assert "torch.compile" in note("unheard", trained, steps=3)
    assert "ended before that" in note("short", trained, steps=1)


def test_the_largest_of_several_models_or_the_one_asked_for(tmp_path: Path) -> None:
    records = [model("netG"), model("netD", layers=5)]
    assert asked(tmp_path / "one", records)["root"] == "netD"
    found = asked(tmp_path / "two", records, root="netG")
    assert (found["root"], found["roots"]) == ("netG", ["netG", "netD"])
    with pytest.raises(UsageError, match="no model 'netX'"):
        asked(tmp_path / "three", records, root="netX")


def test_a_model_of_three_thousand_layers_fits(tmp_path: Path) -> None:
    found = asked(tmp_path, [model(layers=4000)])
    assert len(found["modules"]) == 3000
    assert found["all_modules"] == 4002
    assert len(json.dumps(found)) < 3_000_000


def test_numbers_of_modules_by_step_with_nan_as_a_word(tmp_path: Path) -> None:
    records = [model(), rows(1, {"net.layers.0": 1.23456, "net": math.nan}), rows(5, {"net": math.inf})]
    found = asked(tmp_path, records, "model_health", root="net", number="activation.std")
    assert found["steps"] == [1, 5]
    values = dict(zip(found["modules"], found["values"], strict=True))
    assert values == {"net.layers.0": [1.235, None], "net": ["nan", "inf"]}


def test_norms_of_weights_count_for_the_modules_around_them(tmp_path: Path) -> None:
    values = {"net.layers.0.weight": 3.0, "net.layers.1.weight": 4.0, "other.weight": 100.0}
    norms = TensorRows(
        1,
        Table("parameter", "optimizer", tuple(values), ("grad_norm", "weight_norm", "elements")),
        np.array([[value, math.nan, 16] for value in values.values()], np.float32),
    )
    found = asked(tmp_path / "a", [model(), norms], "model_health", root="net", number="parameter.gradient")
    assert dict(zip(found["modules"], found["values"], strict=True)) == {
        "net": [5.0],
        "net.layers": [5.0],
        "net.layers.0": [3.0],
        "net.layers.1": [4.0],
    }
    found = asked(tmp_path / "b", [model(), norms], "model_health", root="net", number="parameter.weight")
    assert found["values"][0] == ["nan"]


def test_many_steps_are_thinned_and_no_nan_is_lost(tmp_path: Path) -> None:
    many = [rows(step, {"net": math.nan if step == 777 else 1.0}) for step in range(1, 2001)]
    found = asked(tmp_path, [model(), *many], "model_health", root="net", number="activation.std")
    assert len(found["steps"]) <= 120
    assert 777 in found["steps"]


def test_an_unknown_number_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no number 'x'"):
        asked(tmp_path, [model()], "model_health", root="net", number="x")


def test_numbers_are_offered_where_they_were_measured(tmp_path: Path) -> None:
    table = Table("activation", "net", ("net",), ("mean", "std", "min", "max", "zeros"))
    found = asked(tmp_path, [model(), TensorRows(1, table, np.ones((1, 5), np.float32))])
    keys = [number["key"] for number in found["numbers"]]
    assert "activation.std" in keys
    assert "parameter.gradient" not in keys
