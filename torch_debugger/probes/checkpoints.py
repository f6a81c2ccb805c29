"""What load_state_dict() was given, beside what the module asked for."""

from __future__ import annotations

import ast
import functools
from collections.abc import Mapping
from types import FrameType
from typing import Any, TypeGuard

import torch
from torch import nn

from torch_debugger.anatomy.frames import place_of, user_frame
from torch_debugger.anatomy.registrations import assignments
from torch_debugger.anatomy.sources import place_at, tree_of
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
    """Of load_state_dict(best): the line best = model.state_dict(), if best is never made in another way."""
    file = frame.f_code.co_filename
    tree = tree_of(file)
    loads = [node for node in ast.walk(tree) if _loads_at(node, frame.f_lineno)] if tree is not None else []
    if tree is None or not loads:
        return Place()
    name = ast.unparse(loads[0].args[0])
    made = [
        node for node, _ in assignments(tree) if any(ast.unparse(target) == name for target in node.targets)
    ]
    made = [node for node in made if not isinstance(node.value, ast.Constant)]  # best = None
    bare = [node.lineno for node in made if ast.unparse(node.value).endswith(".state_dict()")]
    return place_at(file, max(bare)) if bare and len(bare) == len(made) else Place()


def _loads_at(node: ast.AST, line: int) -> TypeGuard[ast.Call]:
    if not isinstance(node, ast.Call) or not node.args or getattr(node.func, "attr", "") != "load_state_dict":
        return False
    return node.lineno <= line <= (node.end_lineno or line)
