"""A traceback taken apart: its frames without ours, and the tensors each of them holds."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import CodeType, FrameType, FunctionType, TracebackType
from typing import Any

import torch
from torch import nn

from torch_debugger.anatomy.kinds import is_a, is_one_of, own_attributes
from torch_debugger.anatomy.sources import is_user_file, package_folder
from torch_debugger.probes.crash_source import statement_at
from torch_debugger.records import LocalTensor

_FRAMES_KEPT = 80  # of a deep recursion: half from each end
_TENSORS, _ITEMS, _NAMES = 40, 8, 2000
_INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
_RANGE_LIMIT = 10_000_000
_LAUNCHERS = ("<frozen runpy>", "<frozen importlib", "runpy.py")


@dataclass(frozen=True)
class Seen:
    """One frame of the traceback, still alive."""

    frame: FrameType
    line: int
    instruction: int = -1

    @property
    def file(self) -> str:
        return self.frame.f_code.co_filename

    @property
    def function(self) -> str:
        return self.frame.f_code.co_name

    @property
    def user(self) -> bool:
        return is_user_file(self.file)

    def module(self) -> nn.Module | None:
        """The module whose method this is: the first argument, under whatever name it goes."""
        code = self.frame.f_code
        held: Any = self.frame.f_locals.get(code.co_varnames[0]) if code.co_argcount else None
        # type() and not isinstance: a proxy of the user's may run code when asked for its class
        if not issubclass(type(held), nn.Module):
            return None
        return held if code.co_varnames[0] == "self" or _is_method(code, held) else None


def _is_method(code: CodeType, module: nn.Module) -> bool:
    """A function that merely takes a module first, as in train(model, loader), is none of its methods."""
    for names in (vars(module), *(vars(cls) for cls in type(module).__mro__)):
        function = names.get(code.co_name)
        while function is not None:
            if getattr(function, "__code__", None) is code:
                return True
            function = vars(function).get("__wrapped__") if is_a(function, FunctionType) else None
    return False


def is_ours(file: str) -> bool:
    return file.startswith(package_folder()) and not is_user_file(file)


def walk_traceback(traceback: TracebackType | None) -> list[Seen]:
    """The frames from the outside in, without those of our package and of what launched the script."""
    found: list[Seen] = []
    launched = False
    while traceback is not None:
        seen = Seen(traceback.tb_frame, traceback.tb_lineno, traceback.tb_lasti)
        launched = launched or is_ours(seen.file)
        if not is_ours(seen.file) and (found or not launched or not is_launcher(seen.file)):
            found.append(seen)
        traceback = traceback.tb_next
    half = _FRAMES_KEPT // 2
    return found if len(found) <= _FRAMES_KEPT else found[:half] + found[-half:]


def is_launcher(file: str) -> bool:
    return any(name in file for name in _LAUNCHERS)


def tensors_in(seen: Seen) -> tuple[LocalTensor, ...]:
    """The tensors a frame can name: locals, entries of small containers, attributes its line mentions."""
    found = itertools.chain(_locals(seen.frame.f_locals), _mentioned(seen))
    described: dict[str, LocalTensor] = {}
    for name, tensor in found:
        if name not in described and (fact := describe(name, tensor)) is not None:
            described[name] = fact
        if len(described) >= _TENSORS:
            break
    return tuple(described.values())


def _locals(names: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    held = list(itertools.islice(names.items(), _NAMES))
    yield from ((name, value) for name, value in held if is_tensor(value))
    for name, value in held:
        yield from ((f"{name}[{key!r}]", item) for key, item in _entries(value) if is_tensor(item))


def _entries(value: Any) -> list[tuple[Any, Any]]:
    if is_one_of(value, (list, tuple)):
        return list(enumerate(value[:_ITEMS]))
    if type(value) is dict:
        return [
            (key, item) for key, item in itertools.islice(value.items(), _ITEMS) if is_one_of(key, (str, int))
        ]
    return []


def _mentioned(seen: Seen) -> Iterator[tuple[str, Any]]:
    """Tensors the crashing line reaches through attributes or globals: self.weight, TABLE."""
    if not seen.user:
        return
    for chain in re.findall(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*", statement_at(seen.file, seen.line)[1]):
        head, *rest = chain.split(".")
        value = seen.frame.f_locals.get(head, seen.frame.f_globals.get(head))
        for depth, name in enumerate(["", *rest]):
            value = attribute(value, name) if name else value
            if is_tensor(value):
                yield ".".join([head, *rest[:depth]]), value
                break


def attribute(value: Any, name: str) -> Any:
    """An attribute that is kept in a dictionary; properties and __getattr__ are not asked."""
    held = own_attributes(value)
    for place in (held, held.get("_parameters"), held.get("_buffers"), held.get("_modules")):
        if is_a(place, dict) and name in place:
            return place[name]
    return None


def is_tensor(value: Any) -> bool:
    return issubclass(type(value), torch.Tensor)


def describe(name: str, tensor: torch.Tensor) -> LocalTensor | None:
    """Shape, dtype and device; None for a tensor that cannot even say those."""
    try:
        with torch._C.DisableTorchFunctionSubclass():
            shape = tuple(int(size) for size in tensor.shape)
            dtype = str(tensor.dtype).removeprefix("torch.")
            lowest, highest = _range(tensor)
            return LocalTensor(
                name=name,
                shape=shape,
                dtype=dtype,
                device=str(tensor.device),
                requires_grad=bool(tensor.requires_grad),
                is_leaf=bool(tensor.is_leaf),
                grad_fn=tensor.grad_fn.name() if tensor.grad_fn is not None else "",
                lowest=lowest,
                highest=highest,
            )
    except Exception:  # a nested or symbolic tensor, or a broken subclass of the user's
        return None


def _range(tensor: torch.Tensor) -> tuple[int | None, int | None]:
    """Of plain integers on the CPU; a device may be dead, and a float's range explains no crash."""
    plain = is_one_of(tensor, (torch.Tensor, torch.nn.Parameter)) and tensor.layout is torch.strided
    if not plain or tensor.dtype not in _INTEGERS or tensor.device.type != "cpu":
        return None, None
    if not 0 < tensor.numel() <= _RANGE_LIMIT:
        return None, None
    with torch.utils._python_dispatch._disable_current_modes():
        low, high = tensor.detach().aminmax()
        return int(low), int(high)
