"""Two short trainings from one seed: do they agree?"""

from __future__ import annotations

import math

from torch_debugger.records import TrialResult
from torch_debugger.trials.preflight.case import Case
from torch_debugger.trials.preflight.fitting import fit, other_way, own_way
from torch_debugger.trials.preflight.outcomes import failed, passed

NAME = "determinism"

_STEPS = 3
_SUMMED_OTHERWISE = 1e-4  # of the loss; a GPU may add up in any order


def try_determinism(case: Case) -> TrialResult:
    one, two = _run(case), _run(case)
    differing = [at for at, pair in enumerate(zip(one, two, strict=False)) if not _agree(*pair)]
    if differing or len(one) != len(two):
        at = differing[0] if differing else min(len(one), len(two)) - 1
        return failed(
            NAME,
            f"Two runs from one seed differ: after {at} steps the losses are {one[at]:.6g} and {two[at]:.6g}.",
            "Something draws from a source that no seed reaches (a generator made in `forward`, the clock, "
            "os.urandom) or keeps a state from call to call that is not a buffer.",
            steps=at,
        )
    exact = "bit for bit" if repr(one) == repr(two) else "but for sums that come in another order"
    return passed(NAME, f"Two runs of {_STEPS} steps from one seed agree {exact}.")


def _agree(one: float, two: float) -> bool:
    both_lost = not math.isfinite(one) and not math.isfinite(two)
    return both_lost or abs(one - two) <= _SUMMED_OTHERWISE * max(abs(one), abs(two))


def _run(case: Case) -> tuple[float, ...]:
    """From the random state as it is, which is left as it was."""
    with case.undone():
        way = own_way(case) or other_way(case, 1e-3)
        return fit(case, way.optimizer, steps=_STEPS).losses
