"""Tensors that a module keeps as plain attributes: weights and running states."""

from __future__ import annotations

from tests.fakes import judged, optimizer, place
from torch_debugger.records import Edit, Finding, Place, PlainTensor

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


def test_weights_in_a_plain_list_or_dict() -> None:
    (finding,) = unregistered(attribute="factors[0]")
    assert "`net.factors[0]` (256 values)" in finding.message
    assert "needs a gradient but is kept in a plain list or dict at train.py:11" in finding.message
    assert finding.fix == "Put what `self.factors` holds at train.py:11 into an `nn.ParameterList`."
    (finding,) = unregistered(attribute="scales['a']")
    assert finding.fix.endswith("into an `nn.ParameterDict`.")


def test_a_parameter_that_was_multiplied_is_none() -> None:
    (finding,) = unregistered(is_leaf=False, reached=False)
    assert "is the result of a calculation with a parameter" in finding.message


def test_a_tensor_that_somebody_moves_or_nobody_uses_is_silent() -> None:
    assert not unregistered(held=True)
    assert not unregistered(changed=True)
    assert not unregistered(reached=False)
    assert not unregistered(looks=1)
    assert not judged([tensor()], "parameter-not-registered")  # no optimizer steps


def state(**others: object) -> list[Finding]:
    facts = {
        "trained": False,
        "changed": True,
        "place": STATE,
        "update": UPDATE,
        "attribute": "mean",
        "elements": 5,
    }
    return judged([tensor(**{**facts, **others})], "buffer-not-registered")


def test_a_running_state_that_is_no_buffer() -> None:
    (finding,) = state()
    assert finding.message == (
        "`net.mean` (5 values) is a running state, updated by `self.mean = 0.9 * self.mean + 0.1 * "
        "x.mean(dim=0)` at train.py:17, that state_dict() leaves out: it is a plain tensor at train.py:12."
    )
    assert finding.fix == 'Write `self.register_buffer("mean", torch.zeros(columns))` at train.py:12.'
    assert (finding.severity, finding.confidence) == ("warning", 0.85)


def test_a_script_that_saves_nothing_gets_a_note() -> None:
    (finding,) = state(saved=False)
    assert finding.severity == "note"


def test_a_table_that_never_changes_is_silent() -> None:
    assert not state(changed=False)
    assert not state(update=Place())
