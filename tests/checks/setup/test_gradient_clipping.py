from __future__ import annotations

import math

from tests.fakes import findings_of, optimizer, place, rows
from torch_debugger.records import ClipFact, TensorRows

CODE = "clip_grad_norm_(net.parameters(), 0.5)"


def clip(step: int, norm: float = 4.0, limit: float = 0.5, late: bool = False) -> ClipFact:
    return ClipFact(step, "optimizer", place(42, code=CODE), limit, norm, late)


after = findings_of("clip-after-step")


def test_a_clip_that_comes_too_late() -> None:
    (finding,) = after(*[clip(step, late=True) for step in range(2, 9)])
    assert finding.severity == "error"
    assert finding.message == (
        f"`{CODE}` at train.py:42 clips the gradients after `optimizer.step()`, in each of the 3 steps looked "
        "at; it had just used gradients of norm 4."
    )
    assert finding.fix == f"Move `{CODE}` at train.py:42 between `backward()` and `optimizer.step()`."


def test_clips_in_time_and_measurements_are_silent() -> None:
    assert not after(*[clip(step) for step in range(2, 9)])
    assert not after(*[clip(step, limit=math.inf, late=True) for step in range(2, 9)])
    assert not after(clip(1), *[clip(step, late=True) for step in range(2, 9)])
    assert not after(*[clip(step, late=True) for step in range(2, 4)])


def updates(ratio: float) -> list[TensorRows]:
    return [rows(step, "update", ("ratio", "change"), {"net.fc1.weight": [ratio, 1.0]}) for step in range(1, 6)]


always = findings_of("clip-always-active")


def clips(norm: float = 12.0) -> list[ClipFact]:
    return [clip(step, norm, limit=0.01) for step in range(1, 21)]


def test_gradients_clipped_to_next_to_nothing() -> None:
    (finding,) = always(optimizer("SGD"), *updates(4e-6), *clips())
    assert finding.severity == "warning"
    assert finding.message == (
        "Every gradient is clipped to 0.01 at train.py:42: in all 20 steps looked at their norm was 12 or so, "
        "and an update changes the weights by 4e-06 of their size."
    )
    assert finding.why.endswith("it divides the learning rate, here by about 1200.")
    assert finding.fix == "Raise the limit at train.py:42 from 0.01 to about 10."


def test_clips_that_do_no_harm_are_silent() -> None:
    assert not always(optimizer("Adam"), *updates(4e-6), *clips())
    assert not always(optimizer("SGD"), *updates(2e-3), *clips())
    assert not always(optimizer("SGD"), *updates(4e-6), *clips(norm=0.1))
    assert not always(optimizer("SGD"), *updates(4e-6), *clips(), clip(30, 0.05, limit=0.01))
    assert not always(optimizer("SGD"), *updates(4e-6), *clips()[:8])
    assert not always(optimizer("SGD"), *clips())
