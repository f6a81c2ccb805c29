"""Tensors that a module keeps as plain attributes: weights and running states."""

from __future__ import annotations

import dataclasses

import pytest

from tests.fakes import findings_of, judged, ledger, ledger_row, only, optimizer, place
from torch_debugger.records import Edit, Finding, FreshParameter, Place, PlainTensor, Record, StrayModuleFact


def stray(code: str = "self.layers = [nn.Linear(8, 8) for _ in range(4)]", **others: object) -> StrayModuleFact:
    facts: dict[str, object] = {
        "owner": "net", "attribute": "layers", "container": "list", "kinds": ("Linear",) * 4, "parameters": 288,
        "in_optimizer": 0, "place": place(12, code=code), "step": 1,
    }  # fmt: skip
    return StrayModuleFact(**{**facts, **others})  # type: ignore[arg-type]


AFTER = (optimizer(parameters=("net.inp.weight",)), ledger(ledger_row("net.inp.weight")))
check = findings_of("module-in-python-list")


def test_a_list_of_layers_is_an_error_with_its_edit() -> None:
    (finding,) = check(stray(), *AFTER)
    assert finding.severity == "error"
    assert finding.message == (
        "`net.layers` is a plain list of layers (Linear), so 288 trainable values are not part of the model "
        "and no optimizer holds them."
    )
    assert finding.fix == "Make `self.layers` an `nn.ModuleList` at train.py:12."
    assert finding.edit and finding.edit.after == "self.layers = nn.ModuleList([nn.Linear(8, 8) for _ in range(4)])"


@pytest.mark.parametrize(
    ("container", "before", "after"),
    [
        ("list", "self.layers = []", "self.layers = nn.ModuleList()"),
        ("tuple", "self.layers = (nn.ReLU(), nn.Linear(2, 2))",
         "self.layers = nn.ModuleList((nn.ReLU(), nn.Linear(2, 2)))"),
        ("dict", "self.layers = {}", "self.layers = nn.ModuleDict()"),
        ("dict", 'self.layers = {"a": torch.nn.Linear(2, 2)}',
         'self.layers = torch.nn.ModuleDict({"a": torch.nn.Linear(2, 2)})'),
        ("list", "self.layers: list = [a, b]", "self.layers: list = nn.ModuleList([a, b])"),
    ],
)  # fmt: skip
def test_the_edit_wraps_what_stands_on_the_line(container: str, before: str, after: str) -> None:
    (finding,) = check(stray(before, container=container), *AFTER)
    assert finding.edit is not None and finding.edit.after == after


@pytest.mark.parametrize("code", ["self.layers.append(nn.Linear(2, 2))", "self.layers = [", "layers = [a]"])
def test_a_line_that_cannot_be_wrapped_gets_no_edit(code: str) -> None:
    assert only(check(stray(code), *AFTER)).edit is None


@pytest.mark.parametrize(
    "healthy", [{"parameters": 0}, {"in_optimizer": 8}, {"container": "none"}], ids=lambda case: next(iter(case))
)
def test_frozen_held_or_shared_modules_are_silent(healthy: dict[str, object]) -> None:
    assert not check(stray(**healthy), *AFTER)


def test_a_list_that_may_still_be_trained_or_need_not_is_silent() -> None:
    # a later optimizer may still take them
    held = optimizer(parameters=("net.inp.weight", "net.layers[0].weight"))
    assert not check(stray(), held, ledger(ledger_row("net.inp.weight")))
    assert not check(stray(), dataclasses.replace(stray(), in_optimizer=8), *AFTER)
    assert not check(stray()), "a script that trains nothing"


def test_a_list_of_one_is_only_noted() -> None:
    (finding,) = check(stray("self.teacher = [teacher]", kinds=("Sequential",), attribute="teacher"), *AFTER)
    assert finding.severity == "note"


WEIGHT = place(11, code="self.mixing = torch.randn(16, 16, requires_grad=True)")
STATE = place(12, code="self.mean = torch.zeros(columns)")
UPDATE = place(17, code="self.mean = 0.9 * self.mean + 0.1 * x.mean(dim=0)")


def tensor(**others: object) -> PlainTensor:
    facts: dict[str, object] = {"owner": "net", "kind": "Net", "attribute": "mixing", "elements": 256}
    facts |= {"trained": True, "is_leaf": True, "reached": True, "held": False, "changed": False, "saved": True}
    facts |= {"place": WEIGHT, "update": Place(), "looks": 2, "step": 3}
    return PlainTensor(**{**facts, **others})  # type: ignore[arg-type]


def unregistered(**others: object) -> list[Finding]:
    return judged([optimizer(), tensor(**others)], "parameter-not-registered")


def test_a_weight_that_is_no_parameter() -> None:
    (finding,) = unregistered()
    assert finding.message == (
        "`net.mixing` (256 values) needs a gradient but is a plain tensor at train.py:11: no optimizer "
        "holds it, and it has kept its first values until step 3."
    )
    assert finding.edit == Edit("train.py", 11, WEIGHT.code or "", "self.mixing = nn.Parameter(torch.randn(16, 16))")
    assert (finding.severity, finding.where.module) == ("error", "net.mixing")


def test_weights_in_containers_and_products_of_parameters_are_told_apart() -> None:
    # weights in a plain list or dict
    (finding,) = unregistered(attribute="factors[0]")
    assert "`net.factors[0]` (256 values)" in finding.message
    assert "needs a gradient but is kept in a plain list or dict at train.py:11" in finding.message
    assert finding.fix == "Put what `self.factors` holds at train.py:11 into an `nn.ParameterList`."
    assert only(unregistered(attribute="scales['a']")).fix.endswith("into an `nn.ParameterDict`.")
    # a parameter that was multiplied is none
    assert "is the result of a calculation with a parameter" in only(unregistered(is_leaf=False, reached=False)).message


def test_a_tensor_that_somebody_moves_or_nobody_uses_is_silent() -> None:
    assert not unregistered(held=True)
    assert not unregistered(changed=True)
    assert not unregistered(reached=False)
    assert not unregistered(looks=1)
    assert not judged([tensor()], "parameter-not-registered")  # no optimizer steps


def state(**others: object) -> list[Finding]:
    facts = {"trained": False, "changed": True, "place": STATE, "update": UPDATE, "attribute": "mean", "elements": 5}
    return judged([tensor(**{**facts, **others})], "buffer-not-registered")


def test_a_running_state_that_is_no_buffer() -> None:
    (finding,) = state()
    assert finding.message == (
        "`net.mean` (5 values) is a running state, updated by `self.mean = 0.9 * self.mean + 0.1 * "
        "x.mean(dim=0)` at train.py:17, that state_dict() leaves out: it is a plain tensor at train.py:12."
    )
    assert finding.fix == 'Write `self.register_buffer("mean", torch.zeros(columns))` at train.py:12.'
    assert (finding.severity, finding.confidence) == ("warning", 0.85)


def test_a_state_that_nobody_saves_is_a_note_and_a_table_is_silent() -> None:
    assert only(state(saved=False)).severity == "note", "a script that saves nothing gets a note"
    # a table that never changes
    assert not state(changed=False)
    assert not state(update=Place())


LINE = place(18, code="x = nn.Linear(x.shape[1], self.classes)(x)")
FRESH = FreshParameter("net", "Net", "nn.Linear", 292, LINE, looks=3, step=3)


def test_a_layer_that_every_pass_makes_anew() -> None:
    (finding,) = judged([FRESH], "parameter-created-in-forward")
    assert finding.message == (
        "forward() of Net makes new parameters at every pass: `x = nn.Linear(x.shape[1], self.classes)(x)` at "
        "train.py:18 gave 292 values that were other objects on each of 3 looks."
    )
    assert finding.fix == (
        "Move `nn.Linear(...)` at train.py:18 to `Net.__init__`, as `self.<name> = ...`, and only call it in forward."
    )
    assert (finding.severity, finding.first_step, finding.where) == ("error", 1, LINE)


def test_what_the_optimizer_misses_is_its_symptom() -> None:
    rows = (ledger_row("net.conv.weight"), ledger_row("net.fc.weight", in_optimizer=False, changed=None))
    missing: list[Record] = [optimizer(), *(ledger(*rows, step=step) for step in (1, 2))]
    first, second = judged([*missing, FRESH], "parameter-created-in-forward", "parameters-not-in-optimizer")
    assert first.name == "parameter-created-in-forward"
    assert second.symptom_of == "parameter-created-in-forward"
