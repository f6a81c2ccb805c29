"""A function of the user's, called with what flows through chosen layers, forward or backward."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.utils.hooks import RemovableHandle

from torch_debugger.anatomy.compiling import uncompiled
from torch_debugger.anatomy.layers import ChosenLayers, Layers, chosen_layers, inner_model
from torch_debugger.anatomy.nested import named_leaves
from torch_debugger.anatomy.running import in_backward
from torch_debugger.errors import UsageError

PLACES = ("output", "input", "grad")


class Tap:
    """Hooks that are on; `remove()`, or the end of a `with` block, takes them off."""

    def __init__(self, chosen: ChosenLayers, look: Callable[..., Any], on: str) -> None:
        self.paths = tuple(chosen)
        self.absent = chosen.absent  # classes asked for, of which the model has no layer
        self._look = look
        self._nodes: list[RemovableHandle] = []  # hooks on autograd nodes
        self._most_nodes = 1024
        self._held = contextlib.ExitStack()
        with contextlib.ExitStack() as stack:
            stack.enter_context(uncompiled())
            stack.callback(self._let_nodes_go)
            for path, module in chosen.items():
                stack.callback(self._put_on(path, module, on).remove)
            self._held = stack.pop_all()

    def remove(self) -> None:
        self._held.close()

    def __enter__(self) -> Tap:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()

    def __repr__(self) -> str:
        absent = f", none of class {' or '.join(self.absent)}" if self.absent else ""
        return f"<Tap on {len(self.paths)} layers{absent}>"

    def _put_on(self, path: str, module: nn.Module, on: str) -> RemovableHandle:
        def before(module: nn.Module, arguments: Any, keywords: Any) -> None:
            if not in_backward():
                self._look(path, module, _given(arguments, keywords))

        def after(module: nn.Module, arguments: Any, keywords: Any, output: Any) -> None:
            if not in_backward():  # a checkpointed block that runs again was seen the first time
                self._look(path, module, _given(arguments, keywords), output)

        def follow(module: nn.Module, arguments: Any, output: Any) -> None:
            for way, tensor in named_leaves(output):
                if tensor.requires_grad:
                    self._listen(path + way, module, tensor)

        if on == "input":
            return module.register_forward_pre_hook(before, with_kwargs=True)
        if on == "output":
            return module.register_forward_hook(after, with_kwargs=True)
        return module.register_forward_hook(follow)

    def _listen(self, where: str, module: nn.Module, tensor: torch.Tensor) -> None:
        node, index = tensor.grad_fn, tensor.output_nr

        def on_node(gradients: tuple[torch.Tensor | None, ...]) -> None:
            if gradients[index] is not None:
                self._look(where, module, gradients[index])

        def on_leaf(gradient: torch.Tensor) -> None:
            self._look(where, module, gradient)

        leaf: Any = tensor
        self._nodes.append(leaf.register_hook(on_leaf) if node is None else node.register_prehook(on_node))
        if len(self._nodes) > self._most_nodes:
            self._forget_dead_nodes()

    def _forget_dead_nodes(self) -> None:
        """Of graphs that are gone."""
        self._nodes = [handle for handle in self._nodes if handle.hooks_dict_ref() is not None]
        self._most_nodes = 2 * len(self._nodes) + 1024

    def _let_nodes_go(self) -> None:
        for handle in self._nodes:
            handle.remove()
        self._nodes = []


def tap(model: nn.Module, layers: Layers, look: Callable[..., Any], *, on: str = "output") -> Tap:
    """Calls `look` with what flows through the layers, until the tap is removed.

        with tap(model, "encoder.*", lambda path, module, input, output: print(path, describe(output))):
            model(images)

        handle = tap(model, "encoder.*", lambda path, module, grad: norms.append(grad.norm()), on="grad")
        ...
        handle.remove()

    With `on="input"` it is called as look(path, module, input), before the layer runs. `input` is the
    tuple of what the layer was given; if that was by keywords too, their dictionary comes last. With
    `on="grad"` it is called as look(path, module, grad) with the gradient of each output. What it
    returns is ignored; what it raises is yours. Compiled models run uncompiled while they are tapped.
    """
    if on not in PLACES:
        raise UsageError(f"on={on!r} is unknown: it is {', '.join(map(repr, PLACES))}.")
    if not callable(look):
        raise UsageError(f"tap() takes a function to call, but got {type(look).__name__}.")
    return Tap(chosen_layers(inner_model(model), layers), look, on)


def _given(arguments: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Any, ...]:
    return (*arguments, keywords) if keywords else arguments
