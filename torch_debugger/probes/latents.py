"""The latent variables of a variational model, found in the graph by their form: mean + noise * deviation.

What is needed for the KL divergence to a standard normal, autograd has saved: the deviation in the node of
exp or of its square, the mean in the node of its square.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import torch

from torch_debugger.anatomy.graph_nodes import op_name, saved
from torch_debugger.anatomy.kinds import is_a
from torch_debugger.probes.layer_health import Consumers
from torch_debugger.probes.lossgraph import feeding_layer
from torch_debugger.probes.watch import Watch
from torch_debugger.records import LatentLook


class Latents:
    def __init__(self, watch: Watch) -> None:
        self.watch = watch

    def look(self, consumers: Consumers, names: dict[int, str]) -> None:
        for deviation, mean_node in _reparameterised(consumers):
            mean = _squared(mean_node, consumers)
            if mean is not None and mean.shape == deviation.shape and mean.dim() == 2:
                source = feeding_layer(mean_node, names) or ""
                tell = functools.partial(self._tell, source, mean.shape[1], self.watch.step)
                self.watch.transfer.send(_measure(mean, deviation), tell)
                return

    def _tell(self, source: str, size: int, step: int, found: Any) -> None:
        self.watch.emit(LatentLook(source, size, float(found[0]), float(found[1]), step))


def _measure(mean: torch.Tensor, deviation: torch.Tensor) -> torch.Tensor:
    """[KL divergence a sample in nats, deviation of the means between samples]"""
    mean, deviation = mean.float(), deviation.float().clamp_min(1e-20)
    divergence = 0.5 * (mean.square() + deviation.square() - 1 - 2 * deviation.log()).sum(1).mean()
    return torch.stack((divergence, (mean - mean.mean(0)).square().mean().sqrt()))


def _reparameterised(consumers: Consumers) -> Iterator[tuple[torch.Tensor, Any]]:
    """(the deviation, the node that made the mean) of every mean + noise * deviation."""
    for noisy in consumers:
        made = _operands(noisy) if op_name(noisy) == "Mul" else []
        sums = [each for each in consumers[noisy] if op_name(each) == "Add"] if len(made) == 1 else []
        deviation = _deviation(made[0], consumers) if sums else None
        if deviation is not None:
            means = [other for each in sums for other in _operands(each) if other is not noisy]
            yield from ((deviation, mean) for mean in means)


def _deviation(node: Any, consumers: Consumers) -> torch.Tensor | None:
    """The result of exp(); of another function (softplus), what was squared for the KL term."""
    if op_name(node) == "Exp":
        result = saved(node, "_saved_result")
        return result if is_a(result, torch.Tensor) else None
    return _squared(node, consumers)


def _squared(mean_node: Any, consumers: Consumers) -> torch.Tensor | None:
    """What was squared for the KL term: the mean itself, or its distance from the prior's."""
    waiting = [(taker, 0) for taker in consumers[mean_node]]
    while waiting:
        node, distance = waiting.pop(0)
        value = saved(node, "_saved_self") if op_name(node) == "Pow" else None
        if is_a(value, torch.Tensor):
            return value
        if op_name(node) in ("Sub", "Div") and distance < 2:
            waiting += [(taker, distance + 1) for taker in consumers[node]]
    return None


def _operands(node: Any) -> list[Any]:
    return [operand for operand, _ in node.next_functions if operand is not None]
