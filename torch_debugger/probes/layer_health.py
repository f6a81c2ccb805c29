"""Layers that show in the loss's graph how they fare: sigmoids and tanhs, and batch normalisation.

Read on deep steps from what autograd saved; nothing is computed twice.
"""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Iterator
from typing import Any

import torch

from torch_debugger.anatomy.graph_nodes import made_shape, saved
from torch_debugger.anatomy.kinds import is_a
from torch_debugger.probes.lossgraph import feeding_layer
from torch_debugger.probes.watch import Watch
from torch_debugger.records import BatchNormLook, Squasher
from torch_debugger.stats.summary import SAMPLE, sampled

_LIMIT = 4000  # nodes
_CALLS = 32  # of one activation
_SQUASHERS = {"SigmoidBackward0": "sigmoid", "TanhBackward0": "tanh"}
_BATCH_NORMS = ("NativeBatchNormBackward0", "CudnnBatchNormBackward0", "MiopenBatchNormBackward0")
_LAYERS = ("Addmm", "Mm", "Bmm", "Convolution", "MkldnnConvolution", "Baddbmm")
_PASSING = (
    "View", "T", "Reshape", "Transpose", "Unsqueeze", "Squeeze", "Permute", "Clone", "UnsafeView", "Expand",
    "NativeDropout", "NativeLayerNorm", "MaxPool", "AvgPool",
)  # fmt: skip

Consumers = dict[Any, list[Any]]


class LayerHealth:
    # Where the slope is a twenty-fifth of its largest value or less.
    sigmoid_edge = 0.01
    tanh_edge = 0.98

    def __init__(self, watch: Watch) -> None:
        self.watch = watch

    def look(self, consumers: Consumers, names: dict[int, str]) -> None:
        squashers: dict[tuple[str, str], list[torch.Tensor]] = {}  # by layer and function: its results
        for node in consumers:
            if node.name() in _SQUASHERS and _feeds_a_layer(node, consumers):
                result, source = saved(node, "_saved_result"), feeding_layer(node, names)
                if source is not None and _has_numbers(result):
                    squashers.setdefault((source, _SQUASHERS[node.name()]), []).append(result)
            elif node.name() in _BATCH_NORMS:
                self._look_at_batch_norm(node, names, biased_layer(node, consumers, names))
        for (source, function), results in squashers.items():
            self._look_at_squasher(source, function, results[:_CALLS])

    def _look_at_squasher(self, source: str, function: str, results: list[torch.Tensor]) -> None:
        """A recurrent one is called many times in a step, and told once."""
        middle, edge = (0.5, 0.5 - self.sigmoid_edge) if function == "sigmoid" else (0.0, self.tanh_edge)
        sizes = [(sampled(result, SAMPLE) - middle).abs() for result in results]
        share = torch.stack([(size >= edge).float().mean() for size in sizes]).mean()
        shape = tuple(results[0].shape)
        tell = functools.partial(self._tell_squasher, source, function, shape, self.watch.step)
        self.watch.transfer.send(share.reshape(1), tell)

    def _tell_squasher(self, source: str, function: str, shape: tuple[int, ...], step: int, found: Any) -> None:
        self.watch.emit(Squasher(source, function, shape, float(found[0]), step))

    def _look_at_batch_norm(self, node: Any, names: dict[int, str], biased: str) -> None:
        name = feeding_layer(node, names, depth=0)
        mean, inverse = saved(node, "_saved_result1"), saved(node, "_saved_result2")
        running, variance = saved(node, "_saved_running_mean"), saved(node, "_saved_running_var")
        if name is None or not saved(node, "_saved_training"):
            return
        if mean is None or inverse is None or running is None or variance is None or not mean.numel():
            return
        gap = ((running - mean).abs() * inverse).mean()
        ratio = (variance * inverse * inverse).clamp(1e-20, 1e20).log().mean().exp()
        tell = functools.partial(self._tell_batch_norm, name, made_shape(node), self.watch.step, biased)
        self.watch.transfer.send(torch.stack((gap, ratio)).float(), tell)

    def _tell_batch_norm(self, name: str, shape: tuple[int, ...], step: int, biased: str, found: Any) -> None:
        self.watch.emit(BatchNormLook(name, shape, float(found[0]), float(found[1]), step, biased))


def _has_numbers(result: Any) -> bool:
    return is_a(result, torch.Tensor) and result.layout is torch.strided and result.numel() >= 2


def biased_layer(norm: Any, consumers: Consumers, names: dict[int, str]) -> str:
    """The layer right in front of a batch norm, where it adds a bias that nothing else ever sees."""
    layer = norm.next_functions[0][0]
    bias = _bias_of(layer) if layer is not None else None
    if bias is None or id(bias.variable) not in names:
        return ""
    layers = consumers.get(bias, [])  # a layer may be called several times
    takers = [taker.name() for each in layers for taker in consumers[each]]
    alone = len(takers) == len(layers) and all(taker in _BATCH_NORMS for taker in takers)
    return names[id(bias.variable)].rpartition(".")[0] if alone else ""


def _bias_of(layer: Any) -> Any:
    """The leaf that a layer adds to each of its channels: its only parameter of one dimension."""
    if not layer.name().startswith(("Addmm", "Convolution", "MkldnnConvolution")):
        return None
    leaves = [operand for operand, _ in layer.next_functions if hasattr(operand, "variable")]
    return next((leaf for leaf in leaves if leaf.variable.dim() == 1), None)


def nodes_behind(root: Any) -> Consumers:
    """Every node behind the loss, with the nodes that take what it made."""
    consumers: Consumers = {root: []}
    queue = deque([root])
    while queue and len(consumers) < _LIMIT:
        node = queue.popleft()
        for operand, _ in node.next_functions:
            if operand is None:
                continue
            if operand not in consumers:
                consumers[operand] = []
                queue.append(operand)
            consumers[operand].append(node)
    return consumers


def _feeds_a_layer(node: Any, consumers: Consumers, depth: int = 6) -> bool:
    """A hidden activation: what takes it multiplies it with weights. A gate is multiplied with activations."""
    return depth > 0 and any(
        op in _LAYERS or (_passes(taker, op) and _feeds_a_layer(taker, consumers, depth - 1))
        for taker, op in _takers(node, consumers)
    )


def _takers(node: Any, consumers: Consumers) -> Iterator[tuple[Any, str]]:
    return ((taker, taker.name().split("Backward", 1)[0]) for taker in consumers[node])


def _passes(taker: Any, op: str) -> bool:
    """Also dropout on the CPU, which multiplies with a mask that has no gradient."""
    operands = [operand for operand, _ in taker.next_functions if operand is not None]
    return op.startswith(_PASSING) or (op == "Mul" and len(operands) == 1)
