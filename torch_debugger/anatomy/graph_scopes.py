"""The calls of modules as scopes: which call of which module is running, and under which name."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from torch import nn

from torch_debugger.anatomy.graph_recorder import Recorder
from torch_debugger.anatomy.nested import exchanged, tensors_in
from torch_debugger.anatomy.unique_names import legal_name
from torch_debugger.records.op_graph import BUFFER, CONSTANT, MODULE, PARAMETER, GraphModule, GraphScope

_COMPILED = "OptimizedModule", "_orig_mod"  # what torch.compile makes, and where that keeps the module


class _Opened(NamedTuple):
    module: nn.Module
    scope: GraphScope
    nodes: int  # recorded before it began


class Scopes:
    def __init__(self, model: nn.Module, root: str, recorder: Recorder) -> None:
        self._recorder = recorder
        self._root = root
        self._paths = {
            module: _as_written(path)
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
            GraphModule(path, class_of(module), _held(module), is_of_torch(module), described(module))
            for module, path in self._paths.items()
        )

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        handles: list[Any] = []
        try:
            for module in self._paths:
                if isinstance(module, torch.jit.ScriptModule):
                    continue  # takes no hooks: its operations count as those of the module that calls it
                handles.append(module.register_forward_pre_hook(self._enter, prepend=True))
                handles.append(module.register_forward_hook(self._leave, with_kwargs=True))
            yield
        finally:
            for handle in handles:
                handle.remove()

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
            held = [(PARAMETER, module._parameters), (BUFFER, module._buffers), (CONSTANT, vars(module))]
            for kind, tensors in held:
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
            given = list(tensors_in((arguments, keywords)))
            if silent:
                output = exchanged(output, _apart)  # what Identity gave and was given are told apart
                made = list(tensors_in(output))
            self._recorder.operation(opened.scope.module, opened.scope.name, given, unseen or made, kind=MODULE)
            return output


def _apart(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.view_as(tensor) if type(tensor) is torch.Tensor else tensor


def _as_written(path: str) -> str:
    return ".".join(part for part in path.split(".") if part != _COMPILED[1])


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


def _held(module: nn.Module) -> int:
    return sum(value.numel() for value in module.parameters() if not nn.parameter.is_lazy(value))
