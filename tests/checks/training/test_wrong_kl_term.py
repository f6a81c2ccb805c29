from __future__ import annotations

import math
from typing import Any

from tests.checks.training.test_wrong_reparameterization import look, reading
from tests.fakes import judged, place
from torch_debugger.records import Finding, FormFit


def check(first: float, second: float, mean: float, misfit: float = 1e-7, **changed: Any) -> list[Finding]:
    known = {
        "agreement": FormFit(first, second, misfit),
        "mean_factor": mean,
        "divergence": place(40),
        **changed,
    }
    return judged([look(1, **known), look(2, **known)], "wrong-kl-term")


def test_signs_and_missing_parts() -> None:
    told = {
        (1.0, -1.0, -1.0): "sign of the mean", (1.0, 1.0, 1.0): "sign of the logarithm",
        (-1.0, -1.0, 1.0): "sign of the variance", (1.0, 0.0, 1.0): "no logarithm",
        (0.0, -1.0, 1.0): "no variance",
    }  # fmt: skip
    for numbers, fault in told.items():
        (finding,) = check(*numbers)
        assert (finding.evidence["fault"], finding.where.line) == (fault, 40), numbers
        assert finding.severity == ("error" if fault.startswith("sign") else "warning"), numbers


def test_the_message() -> None:
    (finding,) = check(0.5, -0.5, -0.5)
    assert finding.message == (
        "The KL term at train.py:40 has the squared mean with a minus: it falls without end as the means move "
        "away from 0. Its gradient by the deviation is 0.5 * deviation - 0.5 / deviation, and -0.5 * mean by "
        "the mean."
    )


def test_what_may_be_on_purpose_is_silent() -> None:
    assert not check(1.0, -1.0, 1.0), "the divergence"
    assert not check(4.0, -1.0, 4.0), "a prior of another deviation"
    assert not check(1.0, 0.0, 0.3), "two penalties, each with its weight"
    assert not check(1.0, -1.0, math.nan), "a mean that is not known"
    assert not check(-1.0, 1.0, -1.0), "all of it turned: loss-sign"
    assert not check(1.0, 0.0, 1.0, misfit=0.01), "does not fit"
    assert not check(1.0, 0.0, 1.0, readings=(reading("as it is"),)), "the sampling is wrong instead"
