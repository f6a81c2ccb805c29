"""`torch_debugger.memory.snapshot()`: what is in memory now."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Iterable, Iterator
from contextlib import ContextDecorator
from dataclasses import dataclass
from types import FrameType, TracebackType
from typing import Any

import torch
from torch import nn
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.hooks import RemovableHandle

from torch_debugger.memory.snapshots import Owner, Snapshot, StackLines, Stats, Storage, read_allocator, spots_of
from torch_debugger.model.tensor_memory import memory_of
from torch_debugger.records import DeviceMemory, MemorySnapshot, Place
from torch_debugger.records.performance import ACTIVATIONS, BUFFERS, GRADIENTS, PARAMETERS, STATE, TENSORS
from torch_debugger.source.constructors import constructor_places
from torch_debugger.source.files import is_user_file, place_at
from torch_debugger.source.frames import user_frame
from torch_debugger.source.objects import is_a, own_attributes
from torch_debugger.source.variables import WRAPPED, holders, module_paths, name_of, name_root
from torch_debugger.system.program import say

# Of a device whose allocator tells of blocks that no tensor of Python's is in.
NOT_SEEN = "held by autograd or a library"
_ONLY_PYTHON = (
    "Told are the tensors that Python knows of. What autograd alone keeps for a backward, and the lines that "
    "made it all, are known inside of `with torch_debugger.memory.record():`."
)

active: list[StorageLines] = []  # the recordings that are on, the innermost last


def snapshot() -> Snapshot:
    """What is in memory now: storages by the line that made them, by module, by the name that holds them.

        with torch_debugger.memory.record():      # else lines are not known, only names and modules
            train(model)
            print(torch_debugger.memory.snapshot().stats())

    On CUDA it asks torch's own allocator, with its history where that is being recorded
    (`torch.cuda.memory._record_memory_history()` or `record()`). Nothing waits for the device and no tensor is
    kept alive. It takes about a tenth of a second: all objects of the garbage collector are looked at.
    """
    return taken(user_frame(2))


def taken(frame: FrameType | None) -> Snapshot:
    live = live_storages(frame)
    lines = active[-1] if active else None
    parts = []
    has_cuda = torch.cuda.is_available() and torch.cuda.is_initialized()  # type: ignore[no-untyped-call]
    if has_cuda:
        on_cuda = (each for each in live.values() if each.device.type == "cuda")
        owners = {
            (each.device.index or 0, each.address): Owner(each.category, each.name, each.place) for each in on_cuda
        }
        plain = torch.cuda.memory._snapshot()
        parts.append(read_allocator(plain, owners, StackLines(is_user_file), unowned=NOT_SEEN))
    storages = list(_on_host({key: each for key, each in live.items() if each.device.type != "cuda"}, lines))
    if storages or not has_cuda:
        used: dict[str, int] = {}
        for _, _, _, device, size in storages:
            used[device] = used.get(device, 0) + size
        host = MemorySnapshot(
            source="recorded tensors" if lines is not None else "live tensors",
            devices=tuple(DeviceMemory(device, size, 0, 0) for device, size in sorted(used.items())),
            spots=spots_of(storages),
            at_peak=(),
            curve_bytes=(),
            notes=() if lines is not None else (_ONLY_PYTHON,),
        )
        parts.append(host)
    return Snapshot(_together(parts))


def _on_host(live: dict[int, Live], lines: StorageLines | None) -> Iterator[Storage]:
    known = dict(lines.known) if lines is not None else {}
    for key, each in live.items():
        made = known.pop(key, None)
        module = each.place.module or (made.module if made else "") or None
        place = place_at(made.file, made.line, module) if made and made.file else each.place
        yield place, each.category, each.name, str(each.device), each.size
    for made in known.values():  # no Python object leads to them: autograd keeps them for the backward
        storage = made.storage()
        if storage is not None and made.file and storage.device.type != "cuda" and storage.nbytes():
            place = place_at(made.file, made.line, made.module or None)
            yield place, ACTIVATIONS, "", str(storage.device), storage.nbytes()


def _together(parts: Iterable[MemorySnapshot]) -> MemorySnapshot:
    """The device's part first: what it tells of the source holds for the whole."""
    first, *others = parts
    if not others:
        return first
    spots = [spot for part in (first, *others) for spot in part.spots]
    return MemorySnapshot(
        source=first.source,
        devices=tuple(device for part in (first, *others) for device in part.devices),
        spots=tuple(sorted(spots, key=lambda each: -each.size_bytes)),
        at_peak=first.at_peak,
        curve_bytes=first.curve_bytes,
        notes=first.notes,
    )


# `torch_debugger.memory.record()`: while it is on, the line of every allocation is noted.
_MOST_EVENTS = 100_000


class record(ContextDecorator):  # noqa: N801  a context manager that is also a decorator, as torch's are
    """Notes which line makes what, for the snapshots that are taken inside; also a decorator.

        with torch_debugger.memory.record() as recording:
            train(model)
        print(recording)                       # the memory at the end of the block
        recording.last.save("memory.json")

    With CUDA it switches on torch's own history with Python stacks (about 2 us an allocation, the last
    `max_entries` events are kept), and off again if it was off before. On the CPU, or with `cpu=True`, an
    operation takes about 10 us longer, and only the thread that entered the block is seen.
    """

    last: Snapshot | None = None  # of the end of the block; None before

    def __init__(self, *, max_entries: int = _MOST_EVENTS, cpu: bool | None = None) -> None:
        self._max_entries = max_entries
        self._cpu = cpu
        self._lines: StorageLines | None = None
        self._switched = False

    def __enter__(self) -> record:
        on_cuda = torch.cuda.is_available()
        if on_cuda and not self._history_is_on():
            torch.cuda.memory._record_memory_history(max_entries=self._max_entries, stacks="python")
            self._switched = True
        if self._cpu or (self._cpu is None and not on_cuda):
            self._lines = StorageLines()
            self._lines.__enter__()
            active.append(self._lines)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.last = taken(user_frame(2))
        except RuntimeError as fault:  # a device that has failed answers nothing; the user's exception goes on
            say(f"No memory snapshot was taken at the end of the block: {fault}")
        finally:
            if self._lines is not None:
                active.remove(self._lines)
                self._lines.__exit__(None, None, None)
                self._lines = None
            if self._switched:
                torch.cuda.memory._record_memory_history(enabled=None)
                self._switched = False

    @staticmethod
    def _history_is_on() -> bool:
        if not torch.cuda.is_initialized():  # type: ignore[no-untyped-call]  # asking then ends the process
            return False
        is_enabled = getattr(torch._C, "_cuda_isHistoryEnabled", None)  # torch 2.4 and newer
        return bool(is_enabled()) if is_enabled is not None else False

    def stats(self) -> Stats | None:
        """Of the end of the block."""
        return self.last.stats() if self.last is not None else None

    def __str__(self) -> str:
        return str(self.last) if self.last is not None else "the block is not over yet"


# The storages that Python knows of: of every tensor that the garbage collector tracks, each once, by the name that
# leads to it and what it is for. What autograd alone holds has no Python object and is not among them.
_MOST_ROOTS = 200


@dataclass(frozen=True, slots=True)
class Live:
    size: int
    device: torch.device
    address: int
    category: str
    name: str
    place: Place  # of a parameter: the line that builds its layer


@dataclass(frozen=True, slots=True)
class _Use:
    tensor: torch.Tensor
    category: str
    name: str
    place: Place


def live_storages(frame: FrameType | None) -> dict[int, Live]:
    """By the address of torch's own storage object. `frame` is where the user's names are looked for."""
    tracked = [each for each in gc.get_objects() if issubclass(type(each), _LOOKED_FOR)]
    found: dict[int, Live] = {}
    with torch._C.DisableTorchFunctionSubclass():  # else a class of the user's would be asked
        for use in _uses(tracked, frame):
            memory = memory_of(use.tensor)
            if memory is None or memory._cdata in found:
                continue
            if address := _address(memory):
                size = memory.nbytes()
                found[memory._cdata] = Live(size, memory.device, address, use.category, use.name, use.place)
    return found


def _address(memory: torch.UntypedStorage) -> int:
    """0 where it has no bytes: on the meta device, of a fake tensor, of one that only wraps others."""
    try:
        return 0 if memory.device.type == "meta" or not memory.nbytes() else memory.data_ptr()
    except RuntimeError:
        return 0


_LOOKED_FOR = (torch.Tensor, nn.Module, torch.optim.Optimizer)


def _uses(tracked: list[Any], frame: FrameType | None) -> Iterator[_Use]:
    """What is known best comes first: a storage is told by the first of its uses."""
    modules = [each for each in tracked if issubclass(type(each), nn.Module)]
    for root in _roots(modules):
        yield from _of_model(root, name_root(root, frame))
    for each in tracked:
        if not issubclass(type(each), torch.optim.Optimizer):
            continue
        name = name_of(each, frame) or type(each).__name__.lower()
        states = own_attributes(each).get("state")
        for state in list(states.values()) if is_a(states, dict) else ():
            for key, value in state.items() if is_a(state, dict) else ():
                if issubclass(type(value), torch.Tensor):
                    yield _Use(value, STATE, f"{name} {key}", Place())
    names = holders(frame)
    tensors = [each for each in tracked if issubclass(type(each), torch.Tensor)]
    order = {tensor: place for place, tensor in enumerate(names)}  # the collector's own changes with time
    tensors.sort(key=lambda each: order.get(id(each), len(order)))
    for tensor in tensors:
        category = ACTIVATIONS if tensor.grad_fn is not None else TENSORS
        yield _Use(tensor, category, names.get(id(tensor), ""), Place())
        yield from _gradient(tensor, names.get(id(tensor), ""), Place())


def _roots(modules: list[nn.Module]) -> list[nn.Module]:
    """Those that are no part of another and hold anything."""
    inner = {id(child) for each in modules for child in _children(each)}
    roots = [_unwrapped(each) for each in modules if id(each) not in inner]
    return [each for each in roots if _children(each) or _tensors_of(each)][:_MOST_ROOTS]


def _unwrapped(root: nn.Module) -> nn.Module:
    """Not what torch.compile, DataParallel and DDP put around a model: the user knows it by its own name."""
    children = own_attributes(root).get("_modules")
    while is_a(children, dict) and len(children) == 1 and next(iter(children)) in WRAPPED:
        root = next(iter(children.values()))
        children = own_attributes(root).get("_modules")
    return root


def _children(module: nn.Module) -> list[nn.Module]:
    children = own_attributes(module).get("_modules")  # a scripted module keeps its children in no dictionary
    return [each for each in children.values() if each is not None] if is_a(children, dict) else []


def _tensors_of(module: nn.Module) -> list[tuple[str, torch.Tensor, str]]:
    """Name, tensor, category."""
    own = own_attributes(module)
    groups = [(PARAMETERS, own.get("_parameters")), (BUFFERS, own.get("_buffers"))]
    return [
        (name, tensor, category)
        for category, tensors in groups
        if is_a(tensors, dict)
        for name, tensor in tensors.items()
        if tensor is not None
    ]


def _of_model(root: nn.Module, root_name: str) -> Iterator[_Use]:
    places = constructor_places(root, root_name)
    waiting, met = [(root_name, root)], {id(root)}
    while waiting:
        path, module = waiting.pop()
        made = places.get(path, Place())
        place = Place(made.file, made.line, path, made.code)
        for name, tensor, category in _tensors_of(module):
            yield _Use(tensor, category, f"{path}.{name}", place)
            yield from _gradient(tensor, f"{path}.{name}", Place(module=path))
        children = own_attributes(module).get("_modules")
        for name, child in children.items() if is_a(children, dict) else ():
            if child is not None and id(child) not in met:
                met.add(id(child))
                waiting.append((f"{path}.{name}", child))


def _gradient(tensor: torch.Tensor, name: str, place: Place) -> Iterator[_Use]:
    if tensor.is_leaf and tensor.requires_grad and tensor.grad is not None:
        yield _Use(tensor.grad, GRADIENTS, f"{name}.grad" if name else "", place)


# Which line of the user's made which storage: written down as operations run, for storages that live.
#
# A dispatch mode sees every operation of its thread, the backward on a CPU included. A storage that is gone is
# forgotten at once, so what is kept is as large as what lives.
@dataclass(frozen=True, slots=True)
class StorageOrigin:
    storage: weakref.ref[Any]
    file: str  # empty: it was there before
    line: int
    module: str


class StorageLines(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.known: dict[int, StorageOrigin] = {}  # by the address of torch's own storage object
        self._paths: dict[int, str] = {}
        self._modules: list[str] = []
        self._hooks: list[RemovableHandle] = []

    def __enter__(self) -> Any:
        self._hooks = [
            register_module_forward_pre_hook(self._enter_module),
            register_module_forward_hook(self._leave_module, always_call=True),
        ]
        return super().__enter__()  # type: ignore[no-untyped-call]

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)  # type: ignore[no-untyped-call]
        for hook in self._hooks:
            hook.remove()
        self._hooks, self._modules = [], []

    def __torch_dispatch__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        made = function(*args, **(kwargs or {}))
        for tensor in _tensors(made):
            self._see(tensor, args)
        return made

    def _see(self, tensor: torch.Tensor, inputs: tuple[Any, ...]) -> None:
        storage = memory_of(tensor)
        if storage is None or storage._cdata in self.known or storage.device.type == "meta":
            return
        key = storage._cdata
        is_input = any(memory_of(each) is storage for each in _tensors(inputs))  # in place, or a view
        found = ("", 0) if is_input else _line(sys._getframe(2))
        module = self._modules[-1] if self._modules else ""
        self.known[key] = StorageOrigin(weakref.ref(storage, lambda _: self.known.pop(key, None)), *found, module)

    def _enter_module(self, module: nn.Module, inputs: Any) -> None:
        if not self._modules and id(module) not in self._paths:
            self._paths |= module_paths(module, name_root(module, user_frame(2)))
        around = self._modules[-1] if self._modules else ""
        self._modules.append(self._paths.get(id(module), around))

    def _leave_module(self, module: nn.Module, inputs: Any, output: Any) -> None:
        if self._modules:
            self._modules.pop()


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    """Operations of torch take and give tensors, and lists of them."""
    if issubclass(type(value), torch.Tensor):
        yield value
    elif is_a(value, (list, tuple)):
        for each in value:
            yield from _tensors(each)


def _line(frame: FrameType | None) -> tuple[str, int]:
    while frame is not None and not is_user_file(frame.f_code.co_filename):
        frame = frame.f_back
    return (frame.f_code.co_filename, frame.f_lineno) if frame is not None else ("", 0)
