"""What load_state_dict() was given, beside what the module asked for."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from types import FrameType
from typing import Any

import torch
from torch import nn

from torch_debugger.anatomy.frames import locals_of, place_of, user_frame
from torch_debugger.anatomy.kept_states import is_filled_from_elsewhere, taken_at
from torch_debugger.anatomy.kinds import is_a
from torch_debugger.probes.patches import Patches
from torch_debugger.probes.probe import Probe
from torch_debugger.records import CheckpointLoad, Place, SavedTensor
from torch_debugger.stats.unseen import no_grad
from torch_debugger.tracebacks import hidden_in_tracebacks


class Checkpoints(Probe):
    name = "checkpoints"
    TOLD = 32  # loads of one run
    NAMED = 200  # keys of each list

    _told = 0

    def install(self, patches: Patches) -> None:
        patches.replace(nn.Module, "load_state_dict", self._around_load)

    def _around_load(self, original: Any) -> Any:
        @functools.wraps(original)
        def load_state_dict(module: nn.Module, *arguments: Any, **keywords: Any) -> Any:
            with hidden_in_tracebacks:
                result = original(module, *arguments, **keywords)
            given = arguments[0] if arguments else keywords.get("state_dict")
            if is_a(given, Mapping) and self._told < self.TOLD:
                self.watch.probe(self.name, self._tell, module, given, result)
            return result

        return load_state_dict

    @no_grad()
    def _tell(self, module: nn.Module, given: Mapping[str, Any], result: Any) -> None:
        frame = user_frame(2)
        if frame is None:
            return  # a library's own business
        self._told += 1
        own = module.state_dict()
        alike = sum(_is_same(own[key], given[key]) for key in own if key in given)
        passed = _passed_over(frame, given, own) if own and alike == len(own) else None
        given = given if passed is None else passed
        loaded = [key for key in own if key in given]
        missing = [key for key in own if key not in given and not key.endswith("num_batches_tracked")]
        parameters = [name for name, _ in module.named_parameters()]
        self.watch.emit(
            CheckpointLoad(
                kind=type(module).__name__,
                place=place_of(frame),
                wanted=len(own),
                loaded=len(loaded),
                own=alike,
                missing=tuple(_saved(key, own[key]) for key in missing[: self.NAMED]),
                unexpected=tuple(
                    _saved(key, given[key]) for key in [k for k in given if k not in own][: self.NAMED]
                ),
                last_layer=parameters[-1].rpartition(".")[0] if parameters else "",
                nested=_nested(own, given) if not loaded else "",
                kept=taken_at(frame) if own and alike == len(own) else Place(),
                step=self.watch.step,
                filtered=passed is not None,
            )
        )


def _is_same(one: Any, other: Any) -> bool:
    """The same memory: what is loaded is what is there."""
    if not is_a(one, torch.Tensor) or not is_a(other, torch.Tensor) or one.device != other.device:
        return False
    return one is other or (one.data_ptr() == other.data_ptr() and one.data_ptr() != 0)


def _saved(key: str, value: Any) -> SavedTensor:
    return SavedTensor(str(key), tuple(value.shape) if is_a(value, torch.Tensor) else ())


def _nested(own: Mapping[str, Any], given: Mapping[str, Any]) -> str:
    inside = {key: value for key, value in given.items() if is_a(value, Mapping)}
    return next((str(key) for key, value in inside.items() if any(name in value for name in own)), "")


def _passed_over(
    frame: FrameType, given: Mapping[str, Any], own: Mapping[str, Any]
) -> Mapping[str, Any] | None:
    """`current.update(matching)`, and nothing matched: the state in reach of which no name fits."""
    for value in locals_of(frame).values() if is_filled_from_elsewhere(frame) else ():
        if is_a(value, Mapping) and value is not given and _is_state(value):
            return None if any(key in own for key in value) else value
    return None


def _is_state(value: Mapping[str, Any]) -> bool:
    return bool(value) and all(is_a(each, torch.Tensor) for each in value.values())
