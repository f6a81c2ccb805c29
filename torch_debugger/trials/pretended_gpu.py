"""A torch in which the model lives on an accelerator that this machine does not have.

Fake tensors (shapes and devices, no values) on torch's `lazy` device stand for the accelerator's:
every torch build can guard that device, while a fake `cuda` tensor fails at the first copy_ on a
CPU-only build and aborts the process in autograd. What the model's code sees says `cuda`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_flatten, tree_map

from torch_debugger.records import Rehearsal
from torch_debugger.source.files import line_at
from torch_debugger.source.frames import user_frame
from torch_debugger.trials.cpu_tensors import FrameLine
from torch_debugger.trials.remaining_statements import Turns

STAND_IN = "lazy"
_OPEN_CLASS: Any = FakeTensor  # typed as closed, but `device` is a property like any other
_TRUE_DEVICE: Any = _OPEN_CLASS.device
_TRULY_AVAILABLE = torch.cuda.is_available
_TORCH_FOLDER = os.path.dirname(torch.__file__) + os.sep
_MISMATCH = ("at least two devices", "two different devices", "not at the same device")


class DeviceMismatchError(RuntimeError):
    """An operation of the model met tensors of two devices: a RuntimeError, as it would be for real."""

    def __init__(self, mismatched: torch.Tensor | None, made_at: FrameLine | None, frame: FrameType | None) -> None:
        super().__init__("tensors of two devices met")
        self.odd = mismatched
        self.made_at = made_at
        self.frame = frame
        self.used_at = line_of(frame)  # now: while the error travels, the frame moves on


class Pretence(TorchFunctionMode):
    """Inside it every tensor that existed before counts as moved to the accelerator, except those in
    `left_behind`, and every tensor made without a device is on the CPU and remembers its line.

    A device named explicitly counts as the accelerator even where it says cpu: on this machine that
    is what `"cuda" if torch.cuda.is_available() else "cpu"` has become.
    """

    def __init__(self, device: str, left_behind: dict[int, FrameLine]) -> None:
        super().__init__()
        self._seen_device = torch.device(device, 0)
        self._fakes: Any = FakeTensorMode(allow_non_fake_inputs=True)
        self._stand_ins: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
        self._made: dict[int, tuple[torch.Tensor | None, FrameLine]] = {
            key: (None, line) for key, line in left_behind.items()
        }

    def __enter__(self) -> Any:
        # These two answer without asking any mode, so what they say is dressed up here.
        _OPEN_CLASS.device = property(self._device_as_seen)
        torch.cuda.is_available = _available_as_seen
        self._fakes.__enter__()
        return super().__enter__()  # type: ignore[no-untyped-call]

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)  # type: ignore[no-untyped-call]
        self._fakes.__exit__(*error)
        torch.cuda.is_available = _TRULY_AVAILABLE
        _OPEN_CLASS.device = _TRUE_DEVICE

    def _device_as_seen(self, tensor: FakeTensor) -> torch.device:
        device: torch.device = _TRUE_DEVICE.fget(tensor)
        return self._seen_device if device.type == STAND_IN and not _torch_asks() else device

    def __torch_function__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if function is torch.device:  # the type itself: torch.device("cuda") is the user's own value
            return function(*args, **kwargs)
        if getattr(function, "__name__", "") == "__get__":
            name = getattr(getattr(function, "__self__", None), "__name__", "")
            if name == "device":
                return self._seen_device if self.accelerated(args[0]) else torch.device("cpu")
            if name in ("is_cuda", "is_cpu"):
                return self.accelerated(args[0]) == (name == "is_cuda" and self._seen_device.type == "cuda")
            return function(*args)
        operands = [item for item in tree_flatten((args, kwargs))[0] if isinstance(item, torch.Tensor)]
        try:
            result = self._call(function, args, kwargs)
        except RuntimeError as error:
            if any(words in str(error) for words in _MISMATCH):
                raise self._mismatch(operands) from error
            raise
        self._remember(result, operands, getattr(function, "__name__", ""))
        return result

    def _call(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        args, kwargs = tree_map(self._pretend, (args, kwargs))
        name = getattr(function, "__name__", "")
        if name == "cuda":
            return args[0].to(STAND_IN)
        if name == "to":  # the device may come first, as text
            texts = [isinstance(item, str) and not item.startswith("torch.") for item in args]
            args = tuple(torch.device(STAND_IN) if is_text else item for item, is_text in zip(args, texts, strict=True))
        if kwargs.get("device") is not None:
            kwargs["device"] = torch.device(STAND_IN)
        if name == "__getitem__" and not self.accelerated(args[0]):
            # fake tensors allow a CPU tensor indexed from the accelerator; real ones do not
            indices = [item for item in tree_flatten(args[1])[0] if isinstance(item, torch.Tensor)]
            if any(self.accelerated(item) for item in indices):
                raise self._mismatch([args[0]])
        return function(*args, **kwargs)

    def _pretend(self, item: Any) -> Any:
        """An argument as it would be on a machine with the accelerator."""
        if isinstance(item, torch.device):
            return torch.device(STAND_IN)
        if not isinstance(item, torch.Tensor) or isinstance(item, FakeTensor) or id(item) in self._made:
            return item
        if id(item) not in self._stand_ins:
            self._stand_ins[id(item)] = (item, torch.empty_like(item, device=STAND_IN, requires_grad=False))
        return self._stand_ins[id(item)][1]

    def accelerated(self, tensor: torch.Tensor) -> bool:
        """Whether this tensor would be on the accelerator."""
        if isinstance(tensor, FakeTensor):
            return bool(tensor.fake_device.type == STAND_IN)
        return id(tensor) not in self._made

    def _remember(self, result: Any, operands: list[torch.Tensor], name: str) -> None:
        """Where each CPU tensor comes from: this line, or the line that made what it was made of."""
        for tensor in tree_flatten(result)[0]:
            if not isinstance(tensor, torch.Tensor) or id(tensor) in self._made:
                continue
            if operands:
                source = next((self._made[id(item)] for item in operands if id(item) in self._made), None)
                line = source[1] if source else None
            else:
                line = line_of(user_frame())
            if line is not None and not (isinstance(tensor, FakeTensor) and self.accelerated(tensor)):
                self._made[id(tensor)] = (tensor, line)

    def _mismatch(self, operands: list[torch.Tensor]) -> DeviceMismatchError:
        # A CPU tensor without dimensions may meet any device.
        left = (item for item in operands if not self.accelerated(item) and item.dim() > 0)
        mismatched = next(left, None)
        made = self._made.get(id(mismatched))
        return DeviceMismatchError(mismatched, made[1] if made else None, user_frame())


def _available_as_seen() -> bool:
    return _TRULY_AVAILABLE() if _torch_asks() else True


def _torch_asks() -> bool:
    """Whether the function that calls this was called by torch, who must hear the truth."""
    return sys._getframe(2).f_code.co_filename.startswith(_TORCH_FOLDER)


def line_of(frame: FrameType | None) -> FrameLine | None:
    return (frame.f_code.co_filename, frame.f_lineno) if frame else None


# A rehearsal that goes on where the script asks for numbers, which its tensors do not have: any will do.
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
        self.records: dict[int, Rehearsal] = {}  # by the error, where it is certain
        self.turns = Turns()

    def stays(self, tensor: torch.Tensor, line: FrameLine) -> None:
        self._made[id(tensor)] = (tensor, line)

    def move(self, module: nn.Module, *arguments: Any, **keywords: Any) -> nn.Module:
        """What `to` and `cuda` do with a module here, where tensors have nothing to be moved."""
        requested = [*arguments, *keywords.values()]
        if any(str(item) == "cpu" for item in requested) and _says_cpu():
            return self.leave(module)
        for each in module.modules():
            weights: list[dict[str, Any]] = [each._parameters, each._buffers]
            for tensors in weights:
                for name, tensor in tensors.items():
                    if isinstance(tensor, FakeTensor) and not self.accelerated(tensor):  # made ahead of us
                        tensors[name] = torch.empty_like(tensor, device=STAND_IN)
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
        first = args[0] if args else None
        has_no_values = isinstance(first, torch.Tensor) and (isinstance(first, FakeTensor) or self.accelerated(first))
        if answer is not None and has_no_values:
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

    def _remember(self, result: Any, operands: list[torch.Tensor], name: str) -> None:
        super()._remember(result, operands, name)
        moved = [item for item in operands if self.accelerated(item)]
        sure = bool(moved) and all(id(item) in self._sure for item in moved)
        if name not in _OF_ITS_OWN_DEVICE:  # what the model's weights meet is where they are
            sure = sure or any(id(item) in self._sure and item.dim() > 0 for item in moved)
        for tensor in tree_flatten(result)[0]:
            if isinstance(tensor, torch.Tensor) and id(tensor) not in self._sure:
                self._kept.append(tensor)
                if self.accelerated(tensor) and (sure or not moved):  # moved here, or made there
                    self._sure.add(id(tensor))

    def _mismatch(self, operands: list[torch.Tensor]) -> DeviceMismatchError:
        error = super()._mismatch(operands)
        sure = any(self.accelerated(item) and id(item) in self._sure for item in operands)
        record = self._tell(error, self) if sure else None
        if record is not None:
            self.records[id(error)] = record
            self._kept.append(error)
        return error
