"""A case in words: what the trials are made with."""

from __future__ import annotations

from torch_debugger.anatomy.nested import tensors_in
from torch_debugger.records import CaseFact, Place
from torch_debugger.trials.preflight.case import Case
from torch_debugger.trials.preflight.fitting import describe

_SHOWN = 4


def describe_case(case: Case, loss: float, place: Place | None = None) -> CaseFact:
    given = [f"{str(each.dtype).removeprefix('torch.')} {list(each.shape)}" for each in tensors_in(case.call)]
    more = f" and {len(given) - _SHOWN} more" if len(given) > _SHOWN else ""
    return CaseFact(
        model=" and ".join(case.models),
        parameters=sum(each.numel() for each in case.parameters().values()),
        inputs=", ".join(given[:_SHOWN]) + more,
        optimizer=describe(case.optimizer) if case.optimizer is not None else "",
        loss=loss,
        place=place or Place(),
    )
