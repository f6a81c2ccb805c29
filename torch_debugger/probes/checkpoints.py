"""What load_state_dict() was given, beside what the module asked for."""

from __future__ import annotations

import ast
import functools
from collections.abc import Mapping
from types import FrameType
from typing import Any

import torch
from torch import nn

from torch_debugger.anatomy.assignments import assignment_of
from torch_debugger.anatomy.frames import place_of, user_frame
from torch_debugger.anatomy.statements import statement_at
from torch_debugger.probes.patches import Patches
from torch_debugger.probes.watch import Probe
from torch_debugger.records import CheckpointLoad, Place, SavedTensor


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
            result = original(module, *arguments, **keywords)
            given = arguments[0] if arguments else keywords.get("state_dict")
            if isinstance(given, Mapping) and self._told < self.TOLD:
                self.watch.probe(self.name, self._tell, module, given, result)
            return result

        return load_state_dict

    @torch.no_grad()
    def _tell(self, module: nn.Module, given: Mapping[str, Any], result: Any) -> None:
        frame = user_frame(2)
        if frame is None:
            return  # a library's own business
        self._told += 1
        own = module.state_dict()
        loaded = [key for key in own if key in given]
        alike = sum(_is_same(own[key], given[key]) for key in loaded)
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
                kept=_taken_at(frame) if own and alike == len(own) else Place(),
                step=self.watch.step,
            )
        )


def _is_same(one: Any, other: Any) -> bool:
    """The same memory: what is loaded is what is there."""
    if not isinstance(one, torch.Tensor) or not isinstance(other, torch.Tensor) or one.device != other.device:
        return False
    return one is other or (one.data_ptr() == other.data_ptr() and one.data_ptr() != 0)


def _saved(key: str, value: Any) -> SavedTensor:
    return SavedTensor(str(key), tuple(value.shape) if isinstance(value, torch.Tensor) else ())


def _nested(own: Mapping[str, Any], given: Mapping[str, Any]) -> str:
    inside = {key: value for key, value in given.items() if isinstance(value, Mapping)}
    return next((str(key) for key, value in inside.items() if any(name in value for name in own)), "")


def _taken_at(frame: FrameType) -> Place:
    """Of load_state_dict(best): the line best = model.state_dict(), if that is all it does."""
    call = next((node for node in ast.walk(_parsed(statement_at(place_of(frame)))) if _loads(node)), None)
    argument = call.args[0] if isinstance(call, ast.Call) and call.args else None
    if argument is None:
        return Place()
    taken = assignment_of(frame.f_code.co_filename, frame.f_lineno, ast.unparse(argument))
    if taken is None or not (taken.place.code or "").endswith(".state_dict()"):
        return Place()
    return taken.place


def _parsed(code: str) -> ast.Module:
    try:
        return ast.parse(code)
    except SyntaxError:
        return ast.Module(body=[], type_ignores=[])


def _loads(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "load_state_dict"
