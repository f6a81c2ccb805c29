"""The forward on a pretended GPU: would it meet tensors of two devices there?"""

from __future__ import annotations

import os

from torch_debugger.anatomy.nested import tensors_in
from torch_debugger.records import Place, Rehearsal, TrialResult
from torch_debugger.trials.preflight.case import Case, NotPossibleError
from torch_debugger.trials.preflight.outcomes import failed, passed
from torch_debugger.trials.rehearsal import rehearse

NAME = "GPU rehearsal"

_TIME_LIMIT_S = 60.0  # nobody's training waits for it


def try_gpu(case: Case) -> TrialResult:
    devices = {each.device.type for each in [*case.parameters().values(), *tensors_in(case.call)]}
    if devices - {"cpu"}:
        raise NotPossibleError(f"Not needed: the model runs on {' and '.join(sorted(devices))}.")
    name, model = next(iter(case.models.items()))
    found = rehearse(model, name, *case.call, timeout_s=_TIME_LIMIT_S, step=1)
    if found.outcome == "passed":
        return passed(NAME, f"The forward of `{name}` meets tensors of one device only.")
    if found.outcome == "mismatch" and not case.on_gpu:
        raise NotPossibleError(f"The script names no GPU. {_told(found)}")
    if found.outcome == "mismatch":
        return failed(
            NAME, _told(found), "Make it where the input is: `device=x.device`, or register it as a buffer."
        )
    raise NotPossibleError(
        f"It cannot be rehearsed: {found.error.splitlines()[0].rstrip('.') if found.error else '?'}."
    )


def _told(found: Rehearsal) -> str:
    made = f", made at {_line(found.origin)}" if found.origin.file else ""
    return (
        f"On a GPU the forward of `{found.root}` would stop at {_line(found.place)}: tensors of "
        f"{' and '.join(found.devices) or 'two devices'} meet{made}."
    )


def _line(place: Place) -> str:
    code = f" (`{place.code}`)" if place.code else ""
    return f"{os.path.basename(place.file or '?')}:{place.line}{code}"
