from __future__ import annotations

import dataclasses

import pytest

from tests.fakes import judged, ledger, ledger_row, optimizer, place
from torch_debugger.records import Finding, Record, StrayModuleFact


def stray(code: str = "self.layers = [nn.Linear(8, 8) for _ in range(4)]", **others: object) -> StrayModuleFact:
    facts: dict[str, object] = {
        "owner": "net",
        "attribute": "layers",
        "container": "list",
        "kinds": ("Linear",) * 4,
        "parameters": 288,
        "in_optimizer": 0,
        "place": place(12, code=code),
        "step": 1,
    }
    return StrayModuleFact(**{**facts, **others})  # type: ignore[arg-type]


AFTER = (optimizer(parameters=("net.inp.weight",)), ledger(ledger_row("net.inp.weight")))


def check(*records: Record) -> list[Finding]:
    return judged(records, "module-in-python-list")


def test_a_list_of_layers_is_an_error_with_its_edit() -> None:
    (finding,) = check(stray(), *AFTER)
    assert finding.severity == "error"
    assert finding.message == (
        "`net.layers` is a plain list of layers (Linear), so 288 trainable values are not part of the model "
        "and no optimizer holds them."
    )
    assert finding.fix == "Make `self.layers` an `nn.ModuleList` at train.py:12."
    assert finding.edit is not None
    assert finding.edit.after == "self.layers = nn.ModuleList([nn.Linear(8, 8) for _ in range(4)])"


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
    (finding,) = check(stray(code), *AFTER)
    assert finding.edit is None


@pytest.mark.parametrize(
    "healthy",
    [{"parameters": 0}, {"in_optimizer": 8}, {"container": "none"}],
    ids=lambda case: next(iter(case)),
)
def test_frozen_held_or_shared_modules_are_silent(healthy: dict[str, object]) -> None:
    assert not check(stray(**healthy), *AFTER)


def test_a_later_optimizer_may_still_take_them() -> None:
    held = optimizer(parameters=("net.inp.weight", "net.layers[0].weight"))
    assert not check(stray(), held, ledger(ledger_row("net.inp.weight")))
    assert not check(stray(), dataclasses.replace(stray(), in_optimizer=8), *AFTER)


def test_a_script_that_trains_nothing_is_silent() -> None:
    assert not check(stray())


def test_a_list_of_one_is_only_noted() -> None:
    (finding,) = check(stray("self.teacher = [teacher]", kinds=("Sequential",), attribute="teacher"), *AFTER)
    assert finding.severity == "note"
