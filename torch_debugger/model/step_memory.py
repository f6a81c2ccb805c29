"""The peak of a step's memory: a tape of its storages played through torch's allocator of GPU memory."""

from __future__ import annotations

import contextlib
import sys
import weakref
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch._subclasses.fake_tensor import DataDependentOutputException, FakeTensor, FakeTensorMode
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map, tree_map_only

from torch_debugger.model.cuda_memory import Block, CachingAllocator, Workspaces, with_reserve
from torch_debugger.model.reruns import leaving_no_trace
from torch_debugger.model.tensor_memory import storages_of
from torch_debugger.records.performance import ACTIVATIONS, COPIES, PARAMETERS, TEMPORARIES, WORKSPACE
from torch_debugger.source.files import is_user_file
from torch_debugger.system.clocks import time


@dataclass(frozen=True)
class MemoryPeak:
    peak_bytes: int  # as torch.cuda.max_memory_allocated() would say
    reserved_bytes: int  # as torch.cuda.max_memory_reserved() would say
    by_category: dict[str, int]  # at the peak; together they are the peak
    kept_by_module: dict[str, int]  # of the activations among them, largest first
    site: AllocationSite  # what was made when the peak was reached


def find_peak(events: Sequence[tuple[KeptStorage, bool]]) -> MemoryPeak:
    _, reserved, at, _ = _played(events)
    # Once more as far as the peak: what was in use then, for what it turned out to be for.
    peak, _, _, blocks = _played(events[: at + 1])
    categories, modules = Counter[str](), Counter[str]()
    for storage, block in blocks.items():
        categories[storage.category] += block.size
        if storage.category == ACTIVATIONS:
            modules[storage.kept_by] += block.size
    site = events[at][0].site if events else AllocationSite()
    return MemoryPeak(peak, reserved, dict(categories), dict(modules.most_common()), site)


def _played(events: Sequence[tuple[KeptStorage, bool]]) -> tuple[int, int, int, dict[KeptStorage, Block]]:
    """Bytes at the peak and bytes reserved, the event that reached the peak, and what is in use at the end."""
    allocator, blocks = CachingAllocator(), dict[KeptStorage, Block]()
    peak, at = 0, -1
    for number, (storage, made) in enumerate(events):
        if made:
            blocks[storage] = allocator.allocate(storage.size)
        else:
            allocator.release(blocks.pop(storage))
        if allocator.allocated > peak:
            peak, at = allocator.allocated, number
    return peak, allocator.reserved, at, blocks


# How much memory a training step of a model takes, measured on tensors that have shapes and no memory.
_ROUNDED = 512  # the caching allocator hands out memory in these steps


class TooLongError(BaseException):
    """Ends a measurement; no `except Exception` of the user's forward may keep it going."""


@dataclass
class StepMemory:
    """Bytes beyond the parameters, the optimizer's state and the batch itself."""

    peak_bytes: int = 0
    saved_bytes: int = 0
    by_module: dict[int, int] = field(default_factory=dict)  # id(module) -> saved by it, children included
    inputs: dict[int, int] = field(default_factory=dict)  # id(module) -> bytes it was given


def measure_step(
    module: nn.Module,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    *,
    keep: Callable[[torch.Tensor], torch.Tensor] = lambda tensor: tensor,
    autocast: bool = False,
    deadline: float = float("inf"),
) -> StepMemory:
    """Forward and backward of the model alone, on fake copies; `keep` may shorten each tensor of the batch.

    Raises what the model raises, and TooLongError after the deadline (of time.monotonic).
    """
    measured = StepMemory()
    fakes = FakeTensorMode(allow_non_fake_inputs=True)
    with fakes, leaving_no_trace(module):
        tensors = {name: _fake(fakes, each) for name, each in (*module.named_parameters(), *module.named_buffers())}

        def fake(item: Any) -> Any:
            is_real = isinstance(item, torch.Tensor) and not isinstance(item, FakeTensor)
            return keep(_fake(fakes, item)) if is_real else item

        batch = tree_map(fake, (args, dict(kwargs)))
        live = _LiveBytes()
        device = next((tensor.device.type for tensor in tensors.values()), "cpu")
        precision = torch.autocast(device, torch.bfloat16) if autocast else contextlib.nullcontext()
        known = [*tensors.values(), *(item for item in tree_leaves(batch) if isinstance(item, torch.Tensor))]
        with live, _saved_by_module(measured, {id(tensor.untyped_storage()) for tensor in known}, deadline):
            with precision, torch.enable_grad():
                made = torch.func.functional_call(module, tensors, *batch)
            # From the sum of what came out: the loss itself is not known here.
            outputs = [item for item in tree_leaves(made) if isinstance(item, torch.Tensor) and item.requires_grad]
            if outputs:
                torch.autograd.backward([output.float().sum() for output in outputs])
    measured.peak_bytes = live.peak
    return measured


def _fake(mode: Any, tensor: torch.Tensor) -> torch.Tensor:
    fake: torch.Tensor = mode.from_tensor(tensor.detach(), static_shapes=True)
    return fake.requires_grad_(tensor.requires_grad and tensor.is_floating_point())


class _LiveBytes(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts the storages that operations make, for as long as they live."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.now = self.peak = 0
        self._seen: dict[int, weakref.ref[Any]] = {}

    def __torch_dispatch__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        made = function(*args, **(kwargs or {}))
        inputs = {id(each.untyped_storage()) for each in tree_leaves((args, kwargs)) if isinstance(each, torch.Tensor)}
        for item in tree_leaves(made):
            if isinstance(item, torch.Tensor) and id(item.untyped_storage()) not in inputs:
                self._count(item.untyped_storage())
        return made

    def _count(self, storage: Any) -> None:
        key = id(storage)
        if key in self._seen:
            return
        size = -(-storage.nbytes() // _ROUNDED) * _ROUNDED

        def gone(_: Any) -> None:
            self.now -= size
            self._seen.pop(key, None)

        self._seen[key] = weakref.ref(storage, gone)
        self.now += size
        self.peak = max(self.peak, self.now)


@contextlib.contextmanager
def _saved_by_module(measured: StepMemory, owned: set[int], deadline: float) -> Iterator[None]:
    """What autograd keeps for backward, each storage once, told to the modules under way."""
    stack: list[int] = []
    known: dict[int, Any] = dict.fromkeys(owned)

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        key = id(storage)
        if key not in known:
            known[key] = weakref.ref(storage, lambda _: known.pop(key, None))
            size = storage.nbytes()
            measured.saved_bytes += size
            for owner in set(stack):
                measured.by_module[owner] = measured.by_module.get(owner, 0) + size
        return tensor

    def enter(module: nn.Module, inputs: Any) -> None:
        if time.monotonic() > deadline:  # here and not between two operations: C++ would abort
            raise TooLongError
        stack.append(id(module))
        measured.inputs[id(module)] = sum(part.nbytes for part in inputs if isinstance(part, torch.Tensor))

    def leave(module: nn.Module, inputs: Any, made: Any) -> None:
        if stack and stack[-1] == id(module):
            stack.pop()

    saving = torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor)
    with register_module_forward_pre_hook(enter), register_module_forward_hook(leave), saving:
        yield


# Every storage that a training step makes, in the order in which they come and go.
_SILENT = ("prim", "profiler")  # namespaces of functions that make no tensor
_CAST = torch.ops.aten._to_copy.default
_NUMBER = torch.ops.aten._local_scalar_dense.default
_COUNTER_BYTES = 8  # an optimizer's count of steps stays on the CPU


@dataclass(frozen=True, slots=True)
class AllocationSite:
    """Where something was made; in the backward pass, where its forward was."""

    phase: str = ""  # forward | backward | optimizer step
    module: str = ""  # encoder.layers.0; empty outside of any
    file: str = ""
    line: int = 0


@dataclass(eq=False, slots=True)
class KeptStorage:
    """One storage. What it is for may show later than it was made: when autograd keeps it, or a parameter."""

    size: int
    category: str
    site: AllocationSite
    kept_by: str = ""  # the module for whose backward it is kept


@dataclass(eq=False)
class StorageTape(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Under it, operations are written down; `exchange` may put another tensor in an argument's place."""

    paths: Mapping[int, str]  # id of a module -> its path
    exchange: Callable[[torch.Tensor], torch.Tensor] = lambda tensor: tensor
    workspaces: Workspaces = field(default_factory=Workspaces)
    events: list[tuple[KeptStorage, bool]] = field(default_factory=list)  # True: made, False: gone
    phase: str = "forward"

    def __post_init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._known: dict[int, tuple[weakref.ref[Any], KeptStorage]] = {}
        self._modules: list[str] = []
        self._forward_sites: dict[int, AllocationSite] = {}  # by the number of the autograd node

    def __torch_dispatch__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if function.namespace in _SILENT:
            return function(*args, **(kwargs or {}))
        args, kwargs = tree_map_only(torch.Tensor, self.exchange, (args, kwargs or {}))
        if function is _NUMBER:
            return self._number(function, args)
        made = with_reserve(function, function(*args, **kwargs))
        self._see(function, args, made)
        return made

    def hold(self, tensor: torch.Tensor, category: str) -> None:
        """Something that is there before the step begins, or whose purpose is known now."""
        for storage in storages_of(tensor):
            known = self._known.get(id(storage))
            if known is None:
                self._add(storage, category, AllocationSite())
            else:
                known[1].category = category

    def keep(self, tensor: torch.Tensor) -> torch.Tensor:
        """Autograd saves this one for the backward pass."""
        for storage in storages_of(tensor):
            known = self._known.get(id(storage))
            if known is not None and known[1].category == TEMPORARIES:
                known[1].category = ACTIVATIONS
                known[1].kept_by = self._module()
        return tensor

    @contextlib.contextmanager
    def running(self, phase: str) -> Iterator[None]:
        self.phase, before = phase, self.phase
        try:
            yield
        finally:
            self.phase = before

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """To modules, and to what autograd saves."""
        with (
            register_module_forward_pre_hook(lambda module, _: self._modules.append(self.paths.get(id(module), ""))),
            register_module_forward_hook(lambda *_: self._leave(), always_call=True),
            torch.autograd.graph.saved_tensors_hooks(self.keep, lambda tensor: tensor),
        ):
            yield

    def _leave(self) -> None:
        if self._modules:
            self._modules.pop()

    def _module(self) -> str:
        """The innermost that has a path: a loss function has none."""
        return next((path for path in reversed(self._modules) if path), "")

    def _number(self, function: Any, args: tuple[Any, ...]) -> Any:
        """What a loop or an optimizer does with a number is of no weight here; what a forward does may be."""
        try:
            return function(*args)
        except DataDependentOutputException:
            if self._modules:
                raise
            return args[0].dtype.is_floating_point or args[0].dtype is not torch.bool

    def _see(self, function: Any, args: tuple[Any, ...], made: Any) -> None:
        site = None
        source = self._known.get(id(args[0].untyped_storage())) if function is _CAST and args else None
        category = COPIES if source is not None and source[1].category == PARAMETERS else TEMPORARIES
        for storage in _all_storages(made):
            if id(storage) not in self._known and all(storage is not other for other in _all_storages(args)):
                site = site or self._site()
                self._add(storage, category, site)
        for size, stays in self.workspaces.of(function, args, made):
            workspace = KeptStorage(size, WORKSPACE, site or self._site())
            self.events += [(workspace, True), (workspace, False)][: (1 if stays else 2) if size else 0]

    def _add(self, storage: Any, category: str, site: AllocationSite) -> None:
        size = storage.nbytes()
        if not size or (self.phase == "optimizer step" and size <= _COUNTER_BYTES):
            return
        key, record = id(storage), KeptStorage(size, category, site)

        def gone(_: Any) -> None:
            self._known.pop(key, None)
            self.events.append((record, False))

        self._known[key] = (weakref.ref(storage, gone), record)
        self.events.append((record, True))

    def _site(self) -> AllocationSite:
        node = torch._C._current_autograd_node() if self.phase == "backward" else None
        if node is not None and not self._modules:
            forward = self._forward_sites.get(node._sequence_nr(), AllocationSite())
            return AllocationSite(self.phase, forward.module, forward.file, forward.line)
        frame: Any = sys._getframe(3)
        while frame is not None and not is_user_file(frame.f_code.co_filename):
            frame = frame.f_back
        place = (frame.f_code.co_filename, frame.f_lineno) if frame is not None else ("", 0)
        site = AllocationSite(self.phase, self._module(), *place)
        if self.phase == "forward":
            self._forward_sites[torch._C._autograd._get_sequence_nr() - 1] = site
        return site


def _all_storages(value: Any) -> list[Any]:
    tensors = [each for each in tree_leaves(value) if isinstance(each, torch.Tensor)]
    return [storage for tensor in tensors for storage in storages_of(tensor)]
