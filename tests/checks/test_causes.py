"""The cause graph: causes stand before their symptoms, also where a link between them was not found."""

from __future__ import annotations

import itertools
import random

import pytest

from torch_debugger.checks.catalog import catalog, consequences, find_check
from torch_debugger.checks.judge import in_order as rank
from torch_debugger.checks.judge import verdict
from torch_debugger.records import Finding, Place

CHAIN = ("missing-zero-grad", "lr-too-high", "exploding-gradient", "loss-not-finite", "values-not-finite")


def finding(name: str, severity: str = "error", confidence: float = 0.9, step: int = 1) -> Finding:
    return Finding(
        check=find_check(name).id, name=name, severity=severity, confidence=confidence, where=Place(),
        message="", why="", fix="", first_step=step, last_step=step, evidence={},
    )  # fmt: skip


def test_nothing_causes_itself() -> None:
    assert [name for name, found in consequences().items() if name in found] == []


@pytest.mark.parametrize(("cause", "symptom"), list(itertools.combinations(CHAIN, 2)))
def test_a_chain_of_causes(cause: str, symptom: str) -> None:
    """The symptom is surer, louder and earlier, and still comes second."""
    ranked = rank([finding(symptom, confidence=0.99), finding(cause, "warning", 0.6, step=9)])
    assert [each.name for each in ranked] == [cause, symptom]
    assert [each.symptom_of for each in ranked] == [None, cause]


def test_a_whole_chain_in_any_order_hangs_on_its_first_cause() -> None:
    found = [finding(name) for name in CHAIN]
    random.Random(0).shuffle(found)
    ranked = rank(found)
    assert ranked[0].name == CHAIN[0]
    assert {each.symptom_of for each in ranked[1:]} == {CHAIN[0]}


def test_a_note_explains_nothing_away() -> None:
    ranked = rank([finding("missing-zero-grad", "note"), finding("loss-not-finite")])
    found = verdict(ranked)
    assert found is not None and found.name == "loss-not-finite"


@pytest.mark.parametrize(
    ("cause", "symptom"),
    [
        ("clip-after-step", "exploding-gradient"),
        ("image-range-0-255", "dead-relu"),
        ("scheduler-stepped-per-batch", "lr-too-low"),
        ("eval-mode-in-training", "overfits-training-data"),
        ("loss-sign", "loss-not-finite"),
        ("memory-grows", "out-of-memory"),
        ("optimizer-holds-stale-parameters", "parameters-not-in-optimizer"),
        ("parameters-not-in-optimizer", "posterior-collapse"),
        ("graph-cut", "posterior-collapse"),
        ("bad-init-scale", "vanishing-gradient"),
        ("softmax-wrong-dim", "nll-on-raw-logits"),
    ],
)
def test_causes_that_users_meet(cause: str, symptom: str) -> None:
    assert symptom in consequences()[cause]
    assert cause not in consequences()[symptom]


def test_every_name_of_the_catalog_has_its_consequences() -> None:
    assert set(consequences()) == {check.name for check in catalog()}
