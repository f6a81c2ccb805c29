"""A rehearsal that goes on where the script asks for numbers, which its tensors do not have: any will do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._pytree import tree_flatten, tree_map

from torch_debugger.anatomy.sources import line_at
from torch_debugger.records import Rehearsal
from torch_debugger.trials.pretence import (
    STAND_IN,
    DeviceMismatchError,
    FrameLine,
    Pretence,
    line_of,
    user_frame,
)
from torch_debugger.trials.script_rehearsal.turns import Turns


def _number(tensor: torch.Tensor) -> float | int | bool:
    if tensor.dtype is torch.bool:
        return False
    return 1.0 if tensor.dtype.is_floating_point else 1


_ANSWERS: dict[str, Callable[..., Any]] = {
    "item": _number,
    "__float__": lambda tensor: 1.0,
    "__int__": lambda tensor: 1,
    "__index__": lambda tensor: 1,
    "__bool__": lambda tensor: False,
    "__format__": lambda tensor, form: format(_number(tensor), form) if not tensor.dim() else "",
    "__repr__": lambda tensor, **how: "tensor",
    "tolist": lambda tensor: numpy.full(tuple(tensor.shape), _number(tensor)).tolist(),
    "numpy": lambda tensor, **how: numpy.full(tuple(tensor.shape), _number(tensor)),
    "__array__": lambda tensor, dtype=None: numpy.full(tuple(tensor.shape), _number(tensor)),
    "equal": lambda left, right: True,
    "allclose": lambda left, right, **how: True,
}


# They take tensors of several devices.
_OF_ITS_OWN_DEVICE = frozenset({
    "__getitem__", "__setitem__", "copy_", "data", "expand_as", "index_put_", "reshape_as", "set_", "to",
    "type_as", "view_as",
})  # fmt: skip


def _says_cpu() -> bool:
    line = line_of(user_frame())
    return line is not None and any(word in line_at(*line) for word in ('"cpu"', "'cpu'"))


class ScriptPretence(Pretence):
    """Knows for sure of some tensors that they are on the accelerator. Only where one of those meets one of the
    CPU is there a mismatch to tell."""

    def __init__(
        self,
        device: str,
        left_behind: dict[int, FrameLine],
        moved: set[int],
        tell: Callable[[DeviceMismatchError, ScriptPretence], Rehearsal | None],
    ) -> None:
        super().__init__(device, left_behind)
        self._tell = tell  # while the frames of a mismatch still stand
        self._sure = set(moved)
        self._kept: list[Any] = []  # so that no id is used twice
        self.told: dict[int, Rehearsal] = {}  # by the error, where it is certain
        self.turns = Turns()

    def stays(self, tensor: torch.Tensor, line: FrameLine) -> None:
        self._made[id(tensor)] = (tensor, line)

    def move(self, module: nn.Module, *arguments: Any, **keywords: Any) -> nn.Module:
        """What `to` and `cuda` do with a module here, where tensors have nothing to be moved."""
        asked = [*arguments, *keywords.values()]
        if any(str(item) == "cpu" for item in asked) and _says_cpu():
            return self.leave(module)
        for each in module.modules():
            weights: list[dict[str, Any]] = [each._parameters, each._buffers]
            for held in weights:
                for name, tensor in held.items():
                    if isinstance(tensor, FakeTensor) and not self.accelerated(tensor):  # made ahead of us
                        held[name] = torch.empty_like(tensor, device=STAND_IN)
        self._sure |= {id(each) for each in (*module.parameters(), *module.buffers())}
        return module

    def leave(self, module: nn.Module) -> nn.Module:
        """What `cpu` does: from now on nothing is claimed of it."""
        self._sure -= {id(each) for each in (*module.parameters(), *module.buffers())}
        return module

    def line_of(self, tensor: torch.Tensor) -> FrameLine | None:
        """Where a tensor of the CPU comes from."""
        known = self._made.get(id(tensor))
        return known[1] if known is not None and not self.accelerated(tensor) else None

    def __torch_function__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        self.turns.operations += 1
        answer = _ANSWERS.get(getattr(function, "__name__", ""))
        if answer is not None and args and isinstance(args[0], torch.Tensor) and self._has_no_values(args[0]):
            return answer(*args, **(kwargs or {}))
        return super().__torch_function__(function, types, args, kwargs)

    def _call(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A device that the line itself calls "cpu" is the CPU on every machine."""
        if not any(str(item) == "cpu" for item in (*args[1:], kwargs.get("device"))) or not _says_cpu():
            return super()._call(function, args, kwargs)
        args, kwargs = tree_map(
            lambda item: self._pretend(item) if isinstance(item, torch.Tensor) else item, (args, kwargs)
        )
        return function(*args, **kwargs)

    def _has_no_values(self, tensor: torch.Tensor) -> bool:
        return isinstance(tensor, FakeTensor) or self.accelerated(tensor)

    def _remember(self, result: Any, given: list[torch.Tensor], name: str) -> None:
        super()._remember(result, given, name)
        moved = [item for item in given if self.accelerated(item)]
        sure = bool(moved) and all(id(item) in self._sure for item in moved)
        if name not in _OF_ITS_OWN_DEVICE:  # what the model's weights meet is where they are
            sure = sure or any(id(item) in self._sure and item.dim() > 0 for item in moved)
        for tensor in tree_flatten(result)[0]:
            if isinstance(tensor, torch.Tensor) and id(tensor) not in self._sure:
                self._kept.append(tensor)
                if self.accelerated(tensor) and (sure or not moved):  # moved here, or made there
                    self._sure.add(id(tensor))

    def _mismatch(self, given: list[torch.Tensor]) -> DeviceMismatchError:
        error = super()._mismatch(given)
        record = self._tell(error, self) if self._is_sure(given) else None
        if record is not None:
            self.told[id(error)] = record
            self._kept.append(error)
        return error

    def _is_sure(self, given: Sequence[torch.Tensor]) -> bool:
        return any(self.accelerated(item) and id(item) in self._sure for item in given)
