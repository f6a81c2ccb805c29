"""What a variational model samples beside what its divergence assumes, from the autograd graph on a few looks.

The divergence's gradient, through the part of the loss that is arithmetic alone, says what it takes a tensor
for: exp(s) - 1 of a log-variance s, s - 1/s of a deviation. What multiplies the noise says what it is used as.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any

import torch

from torch_debugger.anatomy.graph_nodes import made_shape, op_name, saved
from torch_debugger.anatomy.kinds import is_a
from torch_debugger.anatomy.loss_region import COMPARING, Edge, LossRegion, chain_behind, size_of, takers_in
from torch_debugger.anatomy.node_values import Takers
from torch_debugger.anatomy.noise_lines import divergence_line, written_sampling
from torch_debugger.probes.divergence_forms import Forms, measure_forms
from torch_debugger.probes.layer_health import Consumers
from torch_debugger.probes.lossgraph import feeding_layer
from torch_debugger.probes.roots import Roots
from torch_debugger.probes.watch import Watch
from torch_debugger.records import SAMPLING_ORDERS, LatentSampling, NoiseLook, Place, WrittenSampling
from torch_debugger.stats.summary import sampled

_RIGHT, _SCALED, _EXCHANGED = SAMPLING_ORDERS
_CURVED = ("Exp", "Expm1", "Log", "Log1P", "Pow", "Mul", "Sqrt")  # without one of these there is no divergence
_FEWEST = 16  # numbers that a form is read from
_NOISE_SAMPLE = 4096


@dataclass(frozen=True)
class Sampled:
    """One mean + deviation * noise of the graph, or what stands in its place."""

    mean: Edge
    deviation: Edge
    noise: torch.Tensor | None
    result: Edge
    order: str = _RIGHT


@dataclass(frozen=True)
class ErrorTerm:
    op: str
    node: Any
    shape: tuple[int, ...]
    is_mean: bool  # over all its numbers


@dataclass(frozen=True)
class Seen:
    sampled: Sampled
    forms: Forms
    error: ErrorTerm | None
    source: str
    written: WrittenSampling


class LatentSamplings:
    LOOKS = 4
    EACH = 4  # samplings of one look

    def __init__(self, watch: Watch, roots: Roots) -> None:
        self.watch, self.roots = watch, roots
        self._looks = 0
        self._written: dict[str, WrittenSampling] = {}
        self._divergence = Place()

    def look(self, root: Any, consumers: Consumers, names: dict[int, str], frame: FrameType | None) -> None:
        if self._looks >= self.LOOKS:
            return
        found = list(samplings(consumers))
        if not found:
            return
        region = LossRegion(root)
        if not region.is_whole or not any(op_name(node) in _CURVED for node in region.nodes):
            return
        takers = takers_in(consumers)
        told = [self._look_at(each, region, takers, names, frame) for each in found]
        self._looks += any(told[: self.EACH])

    def _look_at(
        self, one: Sampled, region: LossRegion, takers: Takers, names: dict[int, str], frame: FrameType | None
    ) -> bool:
        chain = chain_behind(one.deviation)
        if one.result in region.takers or not any(edge in region.takers for edge in chain):
            return False  # a divergence estimated from the sample itself, or none at all
        if size_of(chain[0]) < _FEWEST:
            return False
        means = [edge for edge in chain_behind(one.mean) if edge in region.takers][:1]
        error = _error_term(region)
        gradients = region.gradients({*chain, *means, *([(error.node, 0)] if error else [])})
        forms = measure_forms(chain, means, gradients, takers)
        if forms is None:
            return False
        weight = _error_weight(error, gradients) if error else None
        numbers = [forms.numbers, _noise_numbers(one.noise, forms.numbers), _one(weight, forms.numbers)]
        seen = Seen(one, forms, error, feeding_layer(one.mean[0], names) or "", self._lines(one, frame))
        self.watch.transfer.send(torch.cat(numbers), functools.partial(self._tell, seen, self.watch.step))
        return True

    def _lines(self, one: Sampled, frame: FrameType | None) -> WrittenSampling:
        if one.order not in self._written:
            file = frame.f_code.co_filename if frame is not None else None
            models = [module for _, module in self.roots.alive()]
            self._written[one.order] = written_sampling(models, file, one.order)
            self._divergence = divergence_line(models, file)
        return self._written[one.order]

    def _tell(self, seen: Seen, step: int, found: Any) -> None:
        *numbers, mean, deviation, low, high, weight = found.tolist()
        read = seen.forms.read(numbers)
        drawn, error = seen.sampled.noise, seen.error
        noise = None if drawn is None else NoiseLook(mean, deviation, low, high, drawn.numel())
        look = LatentSampling(
            source=seen.source,
            shape=made_shape(*seen.sampled.deviation),
            order=seen.sampled.order,
            agreement=read.agreement,
            mean_factor=read.mean_factor,
            readings=read.readings,
            size=read.size,
            noise=noise,
            error_op=error.op if error else "",
            error_weight=weight,
            error_shape=error.shape if error else (),
            error_mean=error is not None and error.is_mean,
            written=seen.written,
            divergence=self._divergence,
            step=step,
        )
        self.watch.emit(look)


def samplings(consumers: Consumers) -> Iterator[Sampled]:
    for node in consumers:
        op = op_name(node)
        if op == "Add":
            yield from _sums(node)
        elif op == "Addcmul" and node.next_functions[0][0] is not None:
            yield from _fused(node)


def _sums(node: Any) -> Iterator[Sampled]:
    """In each order that it may be meant in; nothing is known of noise that is only added."""
    operands = node.next_functions
    for mean, other in (
        (operands, operands[::-1]) if len(operands) == 2 else ()
    ):  # of a custom Function, any number
        if other[0] is None or op_name(other[0]) != "Mul":
            continue
        factors = [edge for edge in other[0].next_functions if edge[0] is not None]
        if len(factors) == 1 and mean[0] is not None:
            noise = saved(other[0], "_saved_other")
            noise = noise if is_a(noise, torch.Tensor) else saved(other[0], "_saved_self")
            if is_a(noise, torch.Tensor) and noise.numel() > 1 and noise.layout is torch.strided:
                yield Sampled(mean, factors[0], noise.detach(), (node, 0))
                yield Sampled(factors[0], mean, noise.detach(), (node, 0), _EXCHANGED)
        elif len(factors) == 2 and factors[0] != factors[1] and mean[0] is None:
            for first, second in (factors, factors[::-1]):
                yield Sampled(first, second, None, (node, 0), _SCALED)


def _fused(node: Any) -> Iterator[Sampled]:
    for place, name in ((1, "_saved_tensor2"), (2, "_saved_tensor1")):
        edge, noise = node.next_functions[place], saved(node, name)
        other = node.next_functions[3 - place]
        if edge[0] is not None and other[0] is None and is_a(noise, torch.Tensor) and noise.numel() > 1:
            yield Sampled(node.next_functions[0], edge, noise.detach(), (node, 0))
            yield Sampled(edge, node.next_functions[0], noise.detach(), (node, 0), _EXCHANGED)


def _error_term(region: LossRegion) -> ErrorTerm | None:
    """The largest comparison in the loss, by one of torch's functions or the square of a difference."""
    found = {edge[0]: op_name(edge[0]) for edge in region.takers if op_name(edge[0]) in COMPARING}
    found |= {node: "Pow" for node in region.nodes if _is_squared_error(node)}
    terms = [ErrorTerm(op, node, _compared(node), _is_mean(node, region)) for node, op in found.items()]
    largest = max(terms, key=lambda term: torch.Size(term.shape).numel(), default=None)
    return largest if largest is not None and len(largest.shape) >= 2 else None


def _is_squared_error(node: Any) -> bool:
    """Of a difference from something that is not trained."""
    inner = node.next_functions[0][0] if op_name(node) == "Pow" else None
    return (
        inner is not None and op_name(inner) == "Sub" and any(each is None for each, _ in inner.next_functions)
    )


def _is_mean(node: Any, region: LossRegion) -> bool:
    if saved(node, "_saved_reduction") is not None:
        return bool(saved(node, "_saved_reduction") == 1)
    takers = [taker for taker, _ in region.takers.get((node, 0), ())]
    return len(takers) == 1 and op_name(takers[0]) == "Mean" and made_shape(takers[0]) == ()


def _compared(node: Any) -> tuple[int, ...]:
    value = saved(node, "_saved_self")
    return tuple(value.shape) if is_a(value, torch.Tensor) else ()


def _error_weight(error: ErrorTerm, gradients: dict[Edge, torch.Tensor]) -> torch.Tensor | None:
    """Of one number; a mean shares its own out."""
    gradient = gradients.get((error.node, 0))
    if gradient is None:
        return None
    share = torch.Size(error.shape).numel() if saved(error.node, "_saved_reduction") == 1 else 1
    return gradient.float().mean() / share


def _noise_numbers(noise: torch.Tensor | None, like: torch.Tensor) -> torch.Tensor:
    if noise is None or not noise.is_floating_point():
        return torch.full((4,), torch.nan, dtype=like.dtype, device=like.device)
    values = sampled(noise, _NOISE_SAMPLE).to(like)
    return torch.stack((values.mean(), values.std(), *values.aminmax()))


def _one(value: torch.Tensor | None, like: torch.Tensor) -> torch.Tensor:
    return torch.full((1,), torch.nan).to(like) if value is None else value.reshape(1).to(like)
