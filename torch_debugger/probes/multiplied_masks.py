"""Masks that are multiplied into scores before a softmax: read from the graph of the loss on a few looks."""

from __future__ import annotations

import functools
from types import FrameType
from typing import Any

import torch

from torch_debugger.anatomy.graph_nodes import made_shape, op_name, saved, signed
from torch_debugger.anatomy.kinds import is_a
from torch_debugger.anatomy.mask_products import mask_product
from torch_debugger.anatomy.softmax_calls import softmax_call
from torch_debugger.probes.layer_health import Consumers
from torch_debugger.probes.roots import Roots
from torch_debugger.probes.watch import Watch
from torch_debugger.records import MultipliedMask, Place
from torch_debugger.stats.summary import SAMPLE, sampled

_DEPTH = 6
_PASSING = ("Alias", "Clone", "Div", "Mul", "Reshape", "Squeeze", "Unsqueeze", "UnsafeView", "View")


class MultipliedMasks:
    def __init__(self, watch: Watch, roots: Roots) -> None:
        self.watch, self.roots = watch, roots

    def look(self, consumers: Consumers, frame: FrameType | None) -> None:
        for node in consumers:
            factor = _factor_before(node) if op_name(node) == "Softmax" else None
            if factor is not None:
                self._tell_of(node, factor, consumers, frame)

    def _tell_of(self, node: Any, factor: torch.Tensor, consumers: Consumers, frame: FrameType | None) -> None:
        behind = [other for taker in consumers[node] if (other := _factor(taker)) is not None]
        numbers = [_zeros_and_ones(tensor) for tensor in (factor, *behind)]
        place = self._place(node, frame)
        tell = functools.partial(self._tell, made_shape(node), place, self.watch.step)
        self.watch.transfer.send(torch.cat([each.to(numbers[0].device) for each in numbers]), tell)

    def _place(self, node: Any, frame: FrameType | None) -> Place:
        file = frame.f_code.co_filename if frame is not None else None
        modules = [module for _, module in self.roots.alive()]
        shape, dim = made_shape(node), int(signed(saved(node, "_saved_dim")))
        call = softmax_call(modules, file, dim % max(1, len(shape)), len(shape))
        return mask_product(modules, file, call) or call or Place()

    def _tell(self, shape: tuple[int, ...], place: Place, step: int, found: Any) -> None:
        (zeros, other), *behind = found.reshape(-1, 2).tolist()
        again = any(share > 0 and rest == 0 for share, rest in behind)
        self.watch.emit(MultipliedMask(shape, 0 < zeros < 1 and other == 0, zeros, again, place, step))


def _factor_before(softmax: Any) -> torch.Tensor | None:
    """The tensor of numbers that the scores were multiplied with, scaling by one number aside."""
    node = softmax.next_functions[0][0]
    for _ in range(_DEPTH):
        if node is None or op_name(node) not in _PASSING:
            return None
        factor = _factor(node)
        if factor is not None:
            return factor
        node = next((operand for operand, _ in node.next_functions if operand is not None), None)
    return None


def _factor(node: Any) -> torch.Tensor | None:
    """Of a product with something that needs no gradient."""
    operands = [operand for operand, _ in node.next_functions if operand is not None]
    if op_name(node) != "Mul" or len(operands) != 1:
        return None
    other = saved(node, "_saved_other")
    other = other if isinstance(other, torch.Tensor) else saved(node, "_saved_self")
    plain = is_a(other, torch.Tensor) and other.layout is torch.strided and other.numel() > 1
    return other if plain else None


def _zeros_and_ones(tensor: torch.Tensor) -> torch.Tensor:
    """[share of zeros, share of numbers that are neither 0 nor 1]"""
    values = sampled(tensor.detach(), SAMPLE).float()
    others = (values != 0) & (values != 1)
    return torch.stack(((values == 0).float().mean(), others.float().mean()))
