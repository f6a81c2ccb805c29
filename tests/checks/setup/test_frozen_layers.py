"""Attributes that look like a switch for gradients and switch nothing."""

from __future__ import annotations

from tests.fakes import end, judged, losses, only, place
from torch_debugger.records import Edit, Finding, GradientFlag, Place, UnmatchedSwitch

UNFREEZE = place(36, code="net.upper.requires_grad = True")
FREEZE = place(34, code="net.encoder.requires_grad = False")


def flag(value: bool, where: Place, step: int, **others: object) -> GradientFlag:
    facts: dict[str, object] = {"root": "net", "owner": "net.upper", "is_module": True, "toggled": False}
    facts |= {"attribute": "requires_grad", "trainable": 0, "frozen": 0, "moved": 0}
    return GradientFlag(value=value, place=where, step=step, **{**facts, **others})  # type: ignore[arg-type]


def unfreezing(steps: int = 2, **others: object) -> list[Finding]:
    flags = [flag(True, UNFREEZE, step, **{"frozen": 2352, **others}) for step in range(1, steps + 1)]
    return judged(flags, "frozen-by-mistake")


def freezing(steps: int = 3, **others: object) -> list[Finding]:
    facts = {"owner": "net.encoder", "trainable": 3040, "moved": 3040, **others}
    flags = [flag(False, FREEZE, step, **facts) for step in range(1, steps + 1)]
    return judged(flags, "freeze-without-effect")


def test_a_module_that_was_unfrozen_by_an_attribute() -> None:
    (finding,) = unfreezing()
    assert finding.message == (
        "All 2,352 values of `net.upper` are still frozen at step 1: `net.upper.requires_grad = True` at "
        "train.py:36 does not unfreeze them."
    )
    assert finding.fix == "Write `net.upper.requires_grad_(True)` at train.py:36."
    assert finding.edit == Edit("train.py", 36, UNFREEZE.code or "", "net.upper.requires_grad_(True)")
    assert (finding.severity, finding.where.module) == ("error", "net.upper")


def test_parameters_under_a_misspelled_name_are_one_finding() -> None:
    line = place(22, code="weight.require_grad = on")
    owners = ("net.0.weight", "net.0.bias")
    facts = {"attribute": "require_grad", "is_module": False, "frozen": 8}
    flags = [flag(True, line, step, owner=owner, **facts) for step in (1, 2) for owner in owners]
    (finding,) = judged(flags, "frozen-by-mistake")
    assert finding.fix == "Write `weight.requires_grad = True` at train.py:22."
    assert "A tensor's flag is called `requires_grad`" in finding.why


def test_a_part_that_is_trained_after_all_is_silent() -> None:
    assert not unfreezing(frozen=0, trainable=2352)
    assert not unfreezing(trainable=16)
    assert not judged([flag(True, UNFREEZE, 1, frozen=9), *losses([1.0] * 9)], "frozen-by-mistake")


def test_a_module_that_was_frozen_by_an_attribute() -> None:
    (finding,) = freezing()
    assert finding.message == (
        "The optimizer moves 3,040 values of `net.encoder` since step 1: `net.encoder.requires_grad = False` "
        "at train.py:34 does not freeze them."
    )
    assert finding.fix == "Write `net.encoder.requires_grad_(False)` at train.py:34."


def test_a_part_that_is_frozen_otherwise_or_marked_in_turns_is_silent() -> None:
    assert not freezing(frozen=3040, trainable=0)
    assert not freezing(moved=0)
    assert not freezing(toggled=True)
    assert not judged(
        [flag(False, FREEZE, 1, owner="net.encoder", moved=9), *losses([1.0] * 9)], "freeze-without-effect"
    )


def switch(step: int = 3, **others: object) -> UnmatchedSwitch:
    line = place(48, code='unfreeze(model, "stage2")')
    facts: dict[str, object] = {"root": "model", "test": "name.startswith(prefix)", "value": True, "place": line}
    facts |= {"names": ("backbone.stage1.0.weight", "fc.bias"), "trainable": 260, "frozen": 1248, "step": step}
    return UnmatchedSwitch(**{**facts, **others})  # type: ignore[arg-type]


def test_a_test_of_names_that_unfreezes_nothing() -> None:
    (finding,) = judged([switch(1), switch(), end()], "frozen-by-mistake")
    assert finding.message == (
        '`unfreeze(model, "stage2")` at train.py:48 unfreezes nothing of `model`: 1,248 of its values are '
        "still frozen at step 3."
    )
    assert finding.fix == (
        "Write the words of `name.startswith(prefix)` at train.py:48 as `named_parameters()` has the names, "
        "for instance `backbone.stage1.0.weight`."
    )
    assert not judged([switch(1), switch(frozen=0), end()], "frozen-by-mistake")
    assert not judged([switch(1), end()], "frozen-by-mistake")


def test_a_test_of_names_that_freezes_nothing() -> None:
    still = [switch(step, value=False, frozen=0) for step in (1, 2, 3)]
    assert only(judged([*still, end()], "freeze-without-effect")).message == (
        '`unfreeze(model, "stage2")` at train.py:48 freezes nothing of `model`: all 260 values are trained, '
        "until step 3."
    )
    assert not judged([*still, switch(value=False), end()], "freeze-without-effect")
    assert not judged([*still[:2], end()], "freeze-without-effect")


def test_a_comparison_in_place_of_an_assignment() -> None:
    line = place(31, code="param.requires_grad == False")
    compared = [switch(step, value=False, frozen=0, test="", place=line) for step in (1, 2, 3)]
    (finding,) = judged([*compared, end()], "freeze-without-effect")
    assert finding.fix == "Write `param.requires_grad = False` at train.py:31."
    assert finding.where == line
