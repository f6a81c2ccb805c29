"""Every storage that a training step makes, in the order in which they come and go."""

from __future__ import annotations

import contextlib
import sys
import weakref
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch._subclasses.fake_tensor import DataDependentOutputException
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map_only

from torch_debugger.anatomy.memory_ids import storages_of
from torch_debugger.anatomy.sources import is_user_file
from torch_debugger.anatomy.workspaces import Workspaces, with_reserve
from torch_debugger.records.memory import ACTIVATIONS, COPIES, PARAMETERS, TEMPORARIES, WORKSPACE

_SILENT = ("prim", "profiler")  # namespaces of functions that make no tensor
_CAST = torch.ops.aten._to_copy.default
_NUMBER = torch.ops.aten._local_scalar_dense.default
_COUNTER_BYTES = 8  # an optimizer's count of steps stays on the CPU


@dataclass(frozen=True, slots=True)
class Site:
    """Where something was made; in the backward pass, where its forward was."""

    phase: str = ""  # forward | backward | optimizer step
    module: str = ""  # encoder.layers.0; empty outside of any
    file: str = ""
    line: int = 0


@dataclass(eq=False, slots=True)
class Held:
    """One storage. What it is for may show later than it was made: when autograd keeps it, or a parameter."""

    size: int
    category: str
    site: Site
    kept_by: str = ""  # the module for whose backward it is kept


@dataclass(eq=False)
class StorageTape(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Under it, operations are written down; `exchange` may put another tensor in an argument's place."""

    paths: Mapping[int, str]  # id of a module -> its path
    exchange: Callable[[torch.Tensor], torch.Tensor] = lambda tensor: tensor
    workspaces: Workspaces = field(default_factory=Workspaces)
    events: list[tuple[Held, bool]] = field(default_factory=list)  # True: made, False: gone
    phase: str = "forward"

    def __post_init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._known: dict[int, tuple[weakref.ref[Any], Held]] = {}
        self._modules: list[str] = []
        self._forward_sites: dict[int, Site] = {}  # by the number of the autograd node

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
                self._add(storage, category, Site())
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
        hooks = (
            register_module_forward_pre_hook(
                lambda module, _: self._modules.append(self.paths.get(id(module), ""))
            ),
            register_module_forward_hook(lambda *_: self._leave(), always_call=True),
        )
        try:
            with torch.autograd.graph.saved_tensors_hooks(self.keep, lambda tensor: tensor):
                yield
        finally:
            for hook in hooks:
                hook.remove()

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
        for storage in _all_storages(made):
            if id(storage) not in self._known and all(storage is not given for given in _all_storages(args)):
                site = site or self._site()
                self._add(storage, self._category(function, args), site)
        for size, stays in self.workspaces.of(function, args, made):
            held = Held(size, WORKSPACE, site or self._site())
            self.events += [(held, True), (held, False)][: (1 if stays else 2) if size else 0]

    def _category(self, function: Any, args: tuple[Any, ...]) -> str:
        if function is _CAST and args:
            source = self._known.get(id(args[0].untyped_storage()))
            if source is not None and source[1].category == PARAMETERS:
                return COPIES
        return TEMPORARIES

    def _add(self, storage: Any, category: str, site: Site) -> None:
        size = storage.nbytes()
        if not size or (self.phase == "optimizer step" and size <= _COUNTER_BYTES):
            return
        key, held = id(storage), Held(size, category, site)

        def gone(_: Any) -> None:
            self._known.pop(key, None)
            self.events.append((held, False))

        self._known[key] = (weakref.ref(storage, gone), held)
        self.events.append((held, True))

    def _site(self) -> Site:
        node = torch._C._current_autograd_node() if self.phase == "backward" else None
        if node is not None and not self._modules:
            forward = self._forward_sites.get(node._sequence_nr(), Site())
            return Site(self.phase, forward.module, forward.file, forward.line)
        frame: Any = sys._getframe(3)
        while frame is not None and not is_user_file(frame.f_code.co_filename):
            frame = frame.f_back
        place = (frame.f_code.co_filename, frame.f_lineno) if frame is not None else ("", 0)
        site = Site(self.phase, self._module(), *place)
        if self.phase == "forward":
            self._forward_sites[torch._C._autograd._get_sequence_nr() - 1] = site
        return site


def _all_storages(value: Any) -> list[Any]:
    tensors = [each for each in tree_leaves(value) if isinstance(each, torch.Tensor)]
    return [storage for tensor in tensors for storage in storages_of(tensor)]
