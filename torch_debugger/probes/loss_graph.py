"""The autograd graph as evidence: what lies between a loss and the model's parameters.

Read on deep steps, before backward frees it. No op is patched; saved tensors are looked at
only while no saved-tensor hooks are in use (reading one of a checkpointed block would run it).
"""

from __future__ import annotations

import functools
import itertools
from collections import deque
from dataclasses import dataclass
from types import FrameType
from typing import Any

import torch

from torch_debugger.model.autograd_graph import made_shape, saved
from torch_debugger.probes.watch import Watch
from torch_debugger.records import BatchNormLook, LocalTensor, Rectifier, Squasher
from torch_debugger.source.frames import locals_of
from torch_debugger.source.objects import is_a
from torch_debugger.stats.dispatch_modes import no_grad
from torch_debugger.stats.summary import SAMPLE, sampled


@dataclass(frozen=True)
class RectifierLook:
    """A ReLU met in the graph; `counts` is [dead units, outputs that are not zero], on its device."""

    source: str
    units: int
    samples: int
    counts: torch.Tensor

    def record(self, dead: float, alive: float, step: int) -> Rectifier:
        zeros = 1.0 - alive / (self.units * self.samples)
        name = f"relu after {self.source}"
        return Rectifier(name, self.source, self.units, int(dead), zeros, self.samples, step)


def read_rectifiers(root: Any, names: dict[int, str], limit: int = 4000) -> list[RectifierLook]:
    """Every ReLU on the way from the loss, and how many of its units gave anything."""
    found: list[RectifierLook] = []
    seen: set[Any] = {root}
    queue = deque([root])
    while queue and len(seen) < limit:
        node = queue.popleft()
        look = _look_at_relu(node, names) if node.name() == "ReluBackward0" else None
        if look is not None:
            found.append(look)
        for operand, _ in node.next_functions:
            if operand is not None and operand not in seen:
                seen.add(operand)
                queue.append(operand)
    return found[::-1]


@no_grad()
def _look_at_relu(node: Any, names: dict[int, str]) -> RectifierLook | None:
    result = saved(node, "_saved_result")
    source = feeding_layer(node, names) if result is not None else None
    if source is None or result.dim() < 2 or result.layout is not torch.strided or not result.numel():
        return None
    # Units are channels of images, features of everything else; the rest is samples.
    feeders = [operand.name() for operand, _ in node.next_functions if operand is not None]
    is_convolution = any("Convolution" in name or "BatchNorm" in name for name in feeders)
    unit_dim = 1 if result.dim() >= 4 or (result.dim() == 3 and is_convolution) else result.dim() - 1
    # By the highest output, which is no less than 0: counting per unit would take nine bytes an element.
    highest = result.amax([dim for dim in range(result.dim()) if dim != unit_dim])
    units = highest.numel()
    counts = torch.stack(((highest == 0).sum(), torch.count_nonzero(result)))
    return RectifierLook(source, units, result.numel() // units, counts)


def feeding_layer(node: Any, names: dict[int, str], depth: int = 6) -> str | None:
    """The module path of the nearest parameter upstream: net.fc1 for net.fc1.weight."""
    queue, seen = deque([(node, 0)]), {node}
    while queue:
        current, distance = queue.popleft()
        for operand, _ in current.next_functions:
            if operand is None or operand in seen:
                continue
            seen.add(operand)
            variable = getattr(operand, "variable", None)
            if variable is not None and id(variable) in names:
                return names[id(variable)].rsplit(".", 1)[0]
            if distance < depth:
                queue.append((operand, distance + 1))
    return None


def local_tensors(frame: FrameType | None, limit: int = 24) -> tuple[LocalTensor, ...]:
    """The tensors among a frame's variables, by name."""
    variables = locals_of(frame).items() if frame is not None else ()
    tensors = itertools.islice(((name, value) for name, value in variables if is_a(value, torch.Tensor)), limit)
    return tuple(
        LocalTensor(name, tuple(t.shape), str(t.dtype).removeprefix("torch."), str(t.device), t.requires_grad)
        for name, t in tensors
    )


# Layers that show in the loss's graph how they fare: sigmoids and tanhs, and batch normalisation.
#
# Read on deep steps from what autograd saved; nothing is computed twice.
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
                plain = is_a(result, torch.Tensor) and result.layout is torch.strided and result.numel() >= 2
                if source is not None and plain:
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


def biased_layer(norm: Any, consumers: Consumers, names: dict[int, str]) -> str:
    """The layer right in front of a batch norm, where it adds a bias that nothing else ever sees."""
    layer = norm.next_functions[0][0]
    if layer is None or not layer.name().startswith(("Addmm", "Convolution", "MkldnnConvolution")):
        return ""
    # The leaf that it adds to each of its channels: its only parameter of one dimension.
    leaves = [operand for operand, _ in layer.next_functions if hasattr(operand, "variable")]
    bias = next((leaf for leaf in leaves if leaf.variable.dim() == 1), None)
    if bias is None or id(bias.variable) not in names:
        return ""
    layers = consumers.get(bias, [])  # a layer may be called several times
    takers = [taker.name() for each in layers for taker in consumers[each]]
    alone = len(takers) == len(layers) and all(taker in _BATCH_NORMS for taker in takers)
    return names[id(bias.variable)].rpartition(".")[0] if alone else ""


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
    for taker in consumers[node] if depth > 0 else ():
        op = taker.name().split("Backward", 1)[0]
        operands = [operand for operand, _ in taker.next_functions if operand is not None]
        # Dropout on the CPU multiplies with a mask that has no gradient.
        passes = op.startswith(_PASSING) or (op == "Mul" and len(operands) == 1)
        if op in _LAYERS or (passes and _feeds_a_layer(taker, consumers, depth - 1)):
            return True
    return False
