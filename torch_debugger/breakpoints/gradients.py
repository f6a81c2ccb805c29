"""Gradients of module outputs, by a pre-hook on the output's autograd node.

Never by full backward hooks: they break models with in-place modules.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import torch

from torch_debugger.anatomy.nested import tensors_in
from torch_debugger.breakpoints.asking import Asker
from torch_debugger.breakpoints.breakpoint import Breakpoint
from torch_debugger.breakpoints.calls import Call
from torch_debugger.breakpoints.scenes import Scene
from torch_debugger.breakpoints.user_frames import nearest_user_frame


def follow_gradients(
    call: Call, output: Any, posts: Sequence[Breakpoint], asker: Asker, make_scene: Callable[..., Scene]
) -> None:
    """Each tensor of the output is asked about when its own gradient arrives."""
    names = frozenset().union(*(post.condition.names for post in posts))
    recall_input = _remember(call.input, "input" in names)
    for tensor in tensors_in(output):
        if tensor.grad_fn is not None:
            recall = {"input": recall_input, "output": _remember(tensor, "output" in names)}
            _hook(tensor, call, posts, recall, asker, make_scene)


def _hook(
    tensor: torch.Tensor,
    call: Call,
    posts: Sequence[Breakpoint],
    recall: dict[str, Callable[[], Any]],
    asker: Asker,
    make_scene: Callable[..., Scene],
) -> None:
    index, module, path = tensor.output_nr, call.module, call.path

    def arrived(gradients: tuple[torch.Tensor | None, ...]) -> None:
        if gradients[index] is None or all(post.removed for post in posts):
            return
        tensors = {**{name: read() for name, read in recall.items()}, "grad": gradients[index]}
        scene = make_scene(module=module, path=path, tensors=tensors)
        for post in posts:
            asker.ask(post, scene, nearest_user_frame)

    assert tensor.grad_fn is not None
    tensor.grad_fn.register_prehook(arrived)


def _remember(value: Any, needed: bool) -> Callable[[], Any]:
    """Until the backward: cut off its graph where the condition names it, else only if others keep it."""
    found = list(tensors_in(value))
    if needed:
        kept = tuple(tensor.detach() for tensor in found)
        return lambda: kept[0] if len(kept) == 1 else kept or None
    references = [weakref.ref(tensor) for tensor in found]
    return lambda: references[0]() if len(references) == 1 else None
