"""A forward run once more while every save for backward and every write in place is noted."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from torch_debugger.anatomy.frames import frames
from torch_debugger.anatomy.global_hooks import without_global_hooks
from torch_debugger.anatomy.rerun import leaving_no_trace
from torch_debugger.anatomy.sources import is_user_file
from torch_debugger.clocks import time
from torch_debugger.probes.crash_frames import Seen, is_tensor
from torch_debugger.probes.replays import TIME_LIMIT_S, TooLong, copied, is_small


@dataclass(frozen=True)
class Moment:
    """Where the replay was: the user's line, and the torch layer inside it, if one was running."""

    file: str
    line: int
    module: nn.Module | None  # whose method the user's line is in
    layer: nn.Module | None


@dataclass(frozen=True)
class Write:
    operation: str
    moment: Moment


@dataclass
class Conflict:
    """A tensor saved for backward and written into after that."""

    shape: tuple[int, ...]
    saved: Moment
    writes: list[Write] = field(default_factory=list)


class _Notes(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Who saved which memory, and who wrote into it later; a parameter is never written."""

    def __init__(self, parameters: set[int]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.parameters = parameters
        self.deadline = time.monotonic() + TIME_LIMIT_S
        self.saved: dict[int, list[Conflict]] = {}
        self.held: list[torch.Tensor] = []  # memory that is let go would be given out again

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # what keeps dynamo away imports it first, for a second and more

    def save(self, tensor: torch.Tensor) -> torch.Tensor:
        self.held.append(tensor)
        conflict = Conflict(tuple(int(size) for size in tensor.shape), moment())
        self.saved.setdefault(_memory(tensor), []).append(conflict)
        return tensor

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if time.monotonic() > self.deadline:
            raise TooLong
        for tensor in _written(func, args, kwargs or {}):
            for conflict in self.saved.get(_memory(tensor), ()):
                conflict.writes.append(Write(func._schema.name.rpartition("::")[2], moment()))
            if _memory(tensor) in self.parameters:
                raise TooLong
        return func(*args, **(kwargs or {}))


def replay_writes(model: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Conflict]:
    """The conflicts of one forward pass; what was seen so far where it could not be run to its end."""
    if not is_small(model, args, kwargs):
        return []
    parameters = {_memory(parameter) for parameter in model.parameters()}
    notes = _Notes(parameters - {0})
    with contextlib.suppress(Exception, TooLong), unseen(model), _saving(notes), notes:
        model(*copied(args), **copied(kwargs))
    return [conflict for conflicts in notes.saved.values() for conflict in conflicts if conflict.writes]


@contextlib.contextmanager
def unseen(model: nn.Module) -> Iterator[None]:
    functions = torch._C._EnableTorchFunction()  # probes run with them off
    with functions, leaving_no_trace(model), without_global_hooks(), torch.enable_grad():
        yield


def _saving(notes: _Notes) -> Any:
    return torch.autograd.graph.saved_tensors_hooks(notes.save, lambda tensor: tensor)


def _written(func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Iterator[torch.Tensor]:
    if not func._schema.is_mutable:
        return
    for index, argument in enumerate(func._schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            value = args[index] if index < len(args) else kwargs.get(argument.name)
            parts: list[Any] = value if type(value) is list else [value]
            yield from (part for part in parts if is_tensor(part))


def _memory(tensor: torch.Tensor) -> int:
    try:
        return int(tensor.untyped_storage().data_ptr())
    except (RuntimeError, NotImplementedError):  # sparse, nested, fake
        return 0


def moment() -> Moment:
    layer: nn.Module | None = None
    for frame in frames(2):
        module = _method_of(frame)
        if is_user_file(frame.f_code.co_filename):
            return Moment(frame.f_code.co_filename, frame.f_lineno, module, layer)
        layer = layer or module
    return Moment("", 0, None, layer)


def _method_of(frame: FrameType) -> nn.Module | None:
    return Seen(frame, frame.f_lineno).module()
