"""Operations of a running model, gathered into a graph; which tensor came from where is known by identity."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

import torch
from torch import nn
from torch.utils.weak import WeakTensorKeyDictionary

from torch_debugger.model.nested_tensors import exchanged, tensors_in
from torch_debugger.model.tensor_memory import memory_id
from torch_debugger.records.model import (
    BUFFER,
    CONSTANT,
    MODULE,
    OPERATION,
    PARAMETER,
    GraphEdge,
    GraphModule,
    GraphNode,
    GraphScope,
    TensorForm,
)

_Value = TypeVar("_Value")
_ByTensor = MutableMapping[torch.Tensor, _Value]

MOST_NODES = 20_000  # more than any drawing can show: a loop over thousands of time steps


@dataclass
class _Draft:
    name: str
    kind: str
    op: str
    scope: str
    detail: str
    outputs: list[TensorForm] = field(default_factory=list)


class GraphRecorder:
    """Holds no tensor: what the model lets go of is freed as ever."""

    def __init__(self) -> None:
        self._drafts: list[_Draft] = []
        self.edges: list[GraphEdge] = []
        self.complete = True
        self._deaf = False
        self.names = UniqueNames()
        self._origins: _ByTensor[tuple[int, int]] = WeakTensorKeyDictionary()  # node, which output of it
        self._owned: _ByTensor[tuple[str, str]] = WeakTensorKeyDictionary()  # kind, name

    @property
    def nodes(self) -> tuple[GraphNode, ...]:
        return tuple(
            GraphNode(draft.name, draft.kind, draft.op, draft.scope, tuple(draft.outputs), draft.detail)
            for draft in self._drafts
        )

    def __len__(self) -> int:
        return len(self._drafts)

    @contextlib.contextmanager
    def deaf(self) -> Iterator[bool]:
        """Nothing inside is an operation of the model's own; tells whether it was so already."""
        before, self._deaf = self._deaf, True
        try:
            yield before
        finally:
            self._deaf = before

    def own(self, tensor: torch.Tensor, kind: str, name: str) -> None:
        """A parameter or buffer: it becomes a node when something reads it."""
        self._owned.setdefault(tensor, (kind, name))

    def knows(self, tensor: torch.Tensor) -> bool:
        return tensor in self._origins or tensor in self._owned

    def source(self, name: str, kind: str, tensor: torch.Tensor, scope: str = "") -> tuple[int, int]:
        """A tensor that no operation of the model made."""
        place = self._add(_Draft(self.names.unique(name), kind, kind, scope, "", [form_of(tensor)]))
        self._origins[tensor] = (place, 0)
        return place, 0

    def operation(
        self,
        op: str,
        scope: str,
        inputs: Iterable[torch.Tensor],
        made: Sequence[torch.Tensor],
        written: Sequence[torch.Tensor] = (),
        *,
        kind: str = OPERATION,
        name: str = "",
        detail: str = "",
    ) -> None:
        if len(self._drafts) >= MOST_NODES:
            self.complete = False
            return
        origins = [(*self._origin(tensor, scope), form_of(tensor)) for tensor in _distinct(inputs)]
        draft = _Draft(self.names.unique(name or f"{scope}/{op}"), kind, op, scope, detail)
        place = self._add(draft)
        self.edges += [GraphEdge(source, output, place, form) for source, output, form in origins]
        for tensor in _distinct(made):
            draft.outputs.append(form_of(tensor))
            self._origins[tensor] = (place, len(draft.outputs) - 1)
        self._write(place, draft, written)

    def replace(self, tensor: torch.Tensor, data: torch.Tensor, scope: str) -> None:
        """tensor.data = data"""
        self._origins[tensor] = self._origin(data, scope)

    def _write(self, place: int, draft: _Draft, written: Sequence[torch.Tensor]) -> None:
        """Whoever reads the tensor, or another view of the same memory, reads what was written."""
        memories = {memory_id(tensor) for tensor in written}
        for tensor in list(self._origins) if written else ():
            if memory_id(tensor) in memories and self._origins[tensor][0] != place:
                form = form_of(tensor)
                if form not in draft.outputs:
                    draft.outputs.append(form)
                self._origins[tensor] = (place, draft.outputs.index(form))

    def _origin(self, tensor: torch.Tensor, scope: str) -> tuple[int, int]:
        if tensor in self._origins:
            return self._origins[tensor]
        kind, name = self._owned.get(tensor, (CONSTANT, f"{scope}/{CONSTANT}"))
        return self.source(name, kind, tensor, scope)

    def _add(self, draft: _Draft) -> int:
        self._drafts.append(draft)
        return len(self._drafts) - 1


def form_of(tensor: torch.Tensor) -> TensorForm:
    ragged = tensor.is_nested and tensor.layout == torch.strided
    sizes = (-1,) * tensor.dim() if ragged else tensor.shape
    shape = tuple(size if type(size) is int else -1 for size in sizes)
    return TensorForm(shape, str(tensor.dtype).removeprefix("torch."), str(tensor.device))


def _distinct(tensors: Iterable[torch.Tensor]) -> list[torch.Tensor]:
    """`x * x` reads one tensor."""
    return list({id(tensor): tensor for tensor in tensors}.values())


# The calls of modules as scopes: which call of which module is running, and under which name.
_COMPILED = "OptimizedModule", "_orig_mod"  # what torch.compile makes, and where that keeps the module


class _Opened(NamedTuple):
    module: nn.Module
    scope: GraphScope
    nodes: int  # recorded before it began


class Scopes:
    def __init__(self, model: nn.Module, root: str, recorder: GraphRecorder) -> None:
        self._recorder = recorder
        self._root = root
        self._paths = {
            module: ".".join(part for part in path.split(".") if part != _COMPILED[1])
            for path, module in model.named_modules()
            if type(module).__name__ != _COMPILED[0]
        }
        self._calls: dict[nn.Module, int] = {}
        self._open: list[_Opened] = []
        self.found: list[GraphScope] = []
        if isinstance(model, torch.jit.ScriptModule):
            self.found.append(GraphScope(root, "", class_of(model), 1))

    def current(self) -> str:
        return self._open[-1].scope.name if self._open else self._root

    def modules(self) -> tuple[GraphModule, ...]:
        return tuple(
            GraphModule(path, class_of(module), _parameter_count(module), is_of_torch(module), described(module))
            for module, path in self._paths.items()
        )

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        with contextlib.ExitStack() as hooks:
            for module in self._paths:
                if isinstance(module, torch.jit.ScriptModule):
                    continue  # takes no hooks: its operations count as those of the module that calls it
                hooks.enter_context(module.register_forward_pre_hook(self._enter, prepend=True))
                hooks.enter_context(module.register_forward_hook(self._leave, with_kwargs=True))
            yield

    def all_modules(self) -> Iterator[tuple[nn.Module, GraphScope]]:
        """Each as if it had been called once, by the module that holds it."""
        names: dict[str, str] = {}
        for module, path in self._paths.items():
            name = self._recorder.names.unique(scoped(self._root, path))
            caller = names.get(path.rpartition(".")[0], "") if path else ""
            self.found.append(GraphScope(name, path, class_of(module), 1, described(module), caller))
            names[path] = name
            yield module, self.found[-1]

    def own_tensors(self) -> None:
        """Parameters, buffers and plain attributes by their place in the model."""
        for module, path in self._paths.items():
            groups = [(PARAMETER, module._parameters), (BUFFER, module._buffers), (CONSTANT, vars(module))]
            for kind, tensors in groups:
                for name, value in list(tensors.items()):
                    if isinstance(value, torch.Tensor):
                        self._recorder.own(value, kind, scoped(self._root, f"{path}.{name}"))

    def _enter(self, module: nn.Module, arguments: Any) -> None:
        path, call = self._paths[module], self._calls.get(module, 0) + 1
        self._calls[module] = call
        name = self._recorder.names.unique(self._name(path))
        with self._recorder.deaf():
            caller = self._open[-1].scope.name if self._open else ""
            scope = GraphScope(name, path, class_of(module), call, described(module), caller)
        self._open.append(_Opened(module, scope, len(self._recorder)))
        self.found.append(scope)

    def _name(self, path: str) -> str:
        """Below the call that made this one, where the module lies below that one's."""
        above = self._open[-1].scope if self._open else None
        if above is None or not path.startswith(f"{above.path}." if above.path else ""):
            return scoped(self._root, path)
        return scoped(above.name, path[len(above.path) :])

    def _leave(self, module: nn.Module, arguments: Any, keywords: Any, output: Any) -> Any:
        while (opened := self._open.pop()).module is not module:
            pass  # one that raised, and whose caller caught it
        with torch._C.DisableTorchFunction(), self._recorder.deaf():
            made = list(tensors_in(output))
            unseen = [tensor for tensor in made if not self._recorder.knows(tensor)]
            silent = len(self._recorder) == opened.nodes and not module._modules
            if not unseen and not (silent and made):
                return None
            inputs = list(tensors_in((arguments, keywords)))
            if silent:
                # What Identity gave and was given stay apart.
                output = exchanged(output, lambda each: each.view_as(each) if type(each) is torch.Tensor else each)
                made = list(tensors_in(output))
            self._recorder.operation(opened.scope.module, opened.scope.name, inputs, unseen or made, kind=MODULE)
            return output


def scoped(above: str, path: str) -> str:
    """net, layer1.0 -> net/layer1/0."""
    parts = [part for part in path.split(".") if part]
    return "/".join([above, *(legal_name(part) for part in parts)])


def class_of(module: nn.Module) -> str:
    """For a scripted or traced one that of the module it was made from."""
    scripted = isinstance(module, torch.jit.ScriptModule)
    return str(getattr(module, "original_name", "")) if scripted else type(module).__name__


def described(module: nn.Module) -> str:
    """What torch's own modules say of themselves; no code of the user's runs for it."""
    return module.extra_repr() if is_of_torch(module) else ""


def is_of_torch(module: nn.Module) -> bool:
    return type(module).__module__.startswith("torch.")


def _parameter_count(module: nn.Module) -> int:
    return sum(value.numel() for value in module.parameters() if not nn.parameter.is_lazy(value))


# Names of nodes in a graph: each once, without characters that mean something to TensorBoard.
class UniqueNames:
    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._counts = dict.fromkeys(taken, 1)

    def unique(self, name: str) -> str:
        """conv2d, conv2d_2, conv2d_3"""
        count = self._counts.get(name, 0) + 1
        self._counts[name] = count
        return name if count == 1 else self.unique(f"{name}_{count}")


def legal_name(part: str) -> str:
    """Of one part: a slash would begin another scope, a colon the number of an output."""
    return re.sub(r"[^\w.\-]", "_", part)
