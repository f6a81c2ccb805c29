from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from tests.fakes import judged, losses, optimizer, rows
from torch_debugger.records import Finding, Record, TensorRows


def looks(norms: Iterable[float], gradient: float = 1.0, elements: float = 100.0) -> list[TensorRows]:
    columns = ("grad_norm", "weight_norm", "elements")
    return [
        rows(
            step,
            "parameter",
            columns,
            {"net.fc1.weight": [gradient, norm, elements], "net.fc1.bias": [5.0, 0.1, 8.0]},
            root="optimizer",
        )
        for step, norm in enumerate(norms, 1)
    ]


FLAT = losses([1.4] * 30)
SHRINKING = [8.0 * 0.8**step for step in range(12)]


def check(*records: Record) -> list[Finding]:
    return judged(records, "weight-decay-overwhelming")


def test_decay_that_outweighs_the_gradients() -> None:
    (finding,) = check(optimizer("SGD", weight_decay=1.0), *looks(SHRINKING), *FLAT)
    assert finding.severity == "error"
    assert finding.message == (
        "`weight_decay=1` of `optimizer` at train.py:28 outweighs the gradients 4.1 times: the weights shrank "
        "from norm 8 to 0.694 by step 12, and the loss did not fall."
    )
    assert finding.fix == "Lower `weight_decay` of `optimizer` at train.py:28 from 1 to 0.0001."


def test_decoupled_decay_is_measured_against_the_step() -> None:
    heavy = [100 * norm for norm in SHRINKING]
    (finding,) = check(optimizer("AdamW", weight_decay=1.0), *looks(heavy, gradient=1e9), *FLAT)
    assert finding.fix.endswith("from 1 to 0.01.")
    assert not check(optimizer("AdamW", weight_decay=0.1), *looks(SHRINKING, gradient=1e-9), *FLAT)


def test_decay_that_does_no_harm_is_silent() -> None:
    heavy = optimizer("SGD", weight_decay=1.0)
    assert not check(optimizer("SGD", weight_decay=1e-4), *looks(SHRINKING), *FLAT)
    assert not check(heavy, *looks(SHRINKING, gradient=50.0), *FLAT)
    assert not check(heavy, *looks([8.0] * 12), *FLAT)
    assert not check(heavy, *looks(SHRINKING), *losses([1.4 * 0.9**step for step in range(30)]))
    assert not check(heavy, *looks(SHRINKING))


def test_groups_without_decay_beside_the_one_that_has_it() -> None:
    whole = optimizer("SGD", weight_decay=1.0)
    free = dict(whole.groups[0], weight_decay=0.0)
    mild = dict(whole.groups[0], weight_decay=1e-4)
    assert check(dataclasses.replace(whole, groups=(*whole.groups, free)), *looks(SHRINKING), *FLAT)
    assert not check(dataclasses.replace(whole, groups=(*whole.groups, mild)), *looks(SHRINKING), *FLAT)
