from __future__ import annotations

from tests.fakes import judged, losses, place
from torch_debugger.records import Finding, SkippedLosses


def check(*counts: int, steps: int = 100) -> list[Finding]:
    guard = place(18, code="if torch.isnan(loss):")
    told = [SkippedLosses("loss", count, 3 + number, guard) for number, count in enumerate(counts)]
    return judged([*told, *losses([1.0] * steps)], "nan-steps-skipped")


def test_many_steps_left_out_are_an_error() -> None:
    (finding,) = check(1, 2, 4, 8, 16, 32)
    assert finding.severity == "error"
    assert finding.message == (
        "`loss` was not finite 32 times or more since step 3, and the script at train.py:18 went on without a "
        "backward(): 24% of all steps are left out."
    )
    assert finding.fix.startswith("Take the guard at train.py:18 out and run again")
    assert finding.where.line == 18


def test_a_few_are_accepted() -> None:
    assert not check(1, 2)
    assert not check(1, 2, 4, 8, steps=500)
