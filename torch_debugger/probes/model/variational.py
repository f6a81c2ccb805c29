"""What a variational model samples beside what its divergence assumes, from the autograd graph on a few looks.

The divergence's gradient, through the part of the loss that is arithmetic alone, says what it takes a tensor
for: exp(s) - 1 of a log-variance s, s - 1/s of a deviation. What multiplies the noise says what it is used as.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any

import torch
from torch.nn.functional import softplus

from torch_debugger.model.autograd_graph import made_shape, op_name, saved
from torch_debugger.model.loss_graph import (
    COMPARING,
    Edge,
    LossRegion,
    Takers,
    chain_behind,
    size_of,
    slope,
    takers_in,
    value_of,
)
from torch_debugger.probes.loss_graph import Consumers, feeding_layer
from torch_debugger.probes.model.root_modules import RootModules
from torch_debugger.probes.watch import Watch
from torch_debugger.records import (
    DEVIATION_FORMS,
    SAMPLING_ORDERS,
    DivergenceReading,
    FormFit,
    LatentLook,
    LatentSampling,
    NoiseLook,
    Place,
    WrittenSampling,
)
from torch_debugger.source.objects import is_a
from torch_debugger.source.reparameterization import divergence_line, written_sampling
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


class LatentSamplings:
    LOOKS = 4
    EACH = 4  # samplings of one look

    def __init__(self, watch: Watch, roots: RootModules) -> None:
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
        reported = [self._look_at(each, region, takers, names, frame) for each in found]
        self._looks += any(reported[: self.EACH])

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
        like = forms.numbers
        noise = torch.full((4,), torch.nan, dtype=like.dtype, device=like.device)
        if one.noise is not None and one.noise.is_floating_point():
            values = sampled(one.noise, _NOISE_SAMPLE).to(like)
            noise = torch.stack((values.mean(), values.std(), *values.aminmax()))
        weight = torch.full((1,), torch.nan).to(like)
        gradient = gradients.get((error.node, 0)) if error else None
        if error and gradient is not None:  # of one number; a mean shares its own out
            share = torch.Size(error.shape).numel() if saved(error.node, "_saved_reduction") == 1 else 1
            weight = (gradient.float().mean() / share).reshape(1).to(like)
        source = feeding_layer(one.mean[0], names) or ""
        if one.order not in self._written:
            file = frame.f_code.co_filename if frame is not None else None
            models = [module for _, module in self.roots.alive()]
            self._written[one.order] = written_sampling(models, file, one.order)
            self._divergence = divergence_line(models, file)
        tell = functools.partial(self._tell, one, forms, error, source, self.watch.step)
        self.watch.transfer.send(torch.cat([like, noise, weight]), tell)
        return True

    def _tell(self, one: Sampled, forms: Forms, error: ErrorTerm | None, source: str, step: int, found: Any) -> None:
        *numbers, mean, deviation, low, high, weight = found.tolist()
        agreement, (mean_factor, size), rest = FormFit(*numbers[:3]), numbers[3:5], numbers[5:]
        drawn = one.noise
        look = LatentSampling(
            source=source,
            shape=made_shape(*one.deviation),
            order=one.order,
            agreement=agreement,
            mean_factor=mean_factor,
            readings=tuple(forms.readings(rest)),
            size=size,
            noise=None if drawn is None else NoiseLook(mean, deviation, low, high, drawn.numel()),
            error_op=error.op if error else "",
            error_weight=weight,
            error_shape=error.shape if error else (),
            error_mean=error is not None and error.is_mean,
            written=self._written[one.order],
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
    for mean, other in (operands, operands[::-1]) if len(operands) == 2 else ():  # of a custom Function, any number
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
    """The largest comparison in the loss, by one of torch's functions or the square of a difference from something
    that is not trained."""
    found = {edge[0]: op_name(edge[0]) for edge in region.takers if op_name(edge[0]) in COMPARING}
    for node in region.nodes:
        inner = node.next_functions[0][0] if op_name(node) == "Pow" else None
        if inner is not None and op_name(inner) == "Sub" and any(each is None for each, _ in inner.next_functions):
            found[node] = "Pow"
    terms = []
    for node, op in found.items():
        value = saved(node, "_saved_self")
        shape = tuple(value.shape) if is_a(value, torch.Tensor) else ()
        terms.append(ErrorTerm(op, node, shape, _is_mean(node, region)))
    largest = max(terms, key=lambda term: torch.Size(term.shape).numel(), default=None)
    return largest if largest is not None and len(largest.shape) >= 2 else None


def _is_mean(node: Any, region: LossRegion) -> bool:
    if saved(node, "_saved_reduction") is not None:
        return bool(saved(node, "_saved_reduction") == 1)
    takers = [taker for taker, _ in region.takers.get((node, 0), ())]
    return len(takers) == 1 and op_name(takers[0]) == "Mean" and made_shape(takers[0]) == ()


# What a divergence takes a tensor for, by its gradient there: numbers on their own device, read later.
_POSITIVE = ("Exp", "Softplus", "Sigmoid", "Sqrt", "Abs")
_MOST = 4096  # numbers that the forms are compared at

Two = tuple[torch.Tensor, torch.Tensor]
# The two parts of the divergence's gradient: the first less the second.
_FORMS: dict[str, Callable[[torch.Tensor], Two]] = {
    "log-variance": lambda s: (0.5 * s.exp(), torch.full_like(s, 0.5)),
    "log-deviation": lambda s: ((2 * s).exp(), torch.ones_like(s)),
    "deviation": lambda s: (s, 1 / s),
    "variance": lambda s: (torch.full_like(s, 0.5), 0.5 / s),
}
_DEVIATIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "log-variance": lambda s: (0.5 * s).exp(),
    "log-deviation": torch.exp,
    "deviation": torch.abs,
    "variance": lambda s: s.clamp_min(0).sqrt(),
}
_USES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "as it is": lambda s: s,
    "half": lambda s: 0.5 * s,
    "exp": torch.exp,
    "half of exp": lambda s: 0.5 * s.exp(),
    "exp of half": lambda s: (0.5 * s).exp(),
    "exp of twice": lambda s: (2 * s).exp(),
    "exp of minus half": lambda s: (-0.5 * s).exp(),
    "square root": lambda s: s.clamp_min(0).sqrt(),
    "square": torch.square,
    "softplus": softplus,
    "sigmoid": torch.sigmoid,
}
_FITS = 3  # numbers of a fit
_EACH = len(_FORMS) * (_FITS + 1) + len(_USES)  # of one tensor
_LARGEST_MISFIT = 0.01  # of a reading that is told


@dataclass(frozen=True)
class Forms:
    numbers: torch.Tensor
    tensors: tuple[tuple[int, bool], ...]  # distance and whether it is positive

    def readings(self, numbers: Sequence[float]) -> Iterator[DivergenceReading]:
        """Of each tensor, what each form would be; those that nearly fit."""
        for at, (distance, positive) in enumerate(self.tensors):
            own = numbers[at * _EACH : (at + 1) * _EACH]
            used = tuple(own[-len(_USES) :])
            for place, form in enumerate(_FORMS):
                *fit, size = own[place * (_FITS + 1) : (place + 1) * (_FITS + 1)]
                if FormFit(*fit).misfit <= _LARGEST_MISFIT:
                    yield DivergenceReading(form, distance, positive, FormFit(*fit), size, used)


def measure_forms(
    chain: list[Edge], means: list[Edge], gradients: dict[Edge, torch.Tensor], takers: Takers
) -> Forms | None:
    """`chain`: from what multiplies the noise back to the layer that it comes from. The whole gradient there is
    compared with what each form would give, since the divergence may have made the same tensors anew."""
    chain = [edge for edge in chain if size_of(edge) == size_of(chain[0])]
    value, rate = value_of(chain[0], takers), slope(chain)
    if value is None or rate is None or chain[-1] not in gradients:
        return None
    deviation, gradient, rate = _flat(value), _flat(gradients[chain[-1]]), _flat(rate)
    fit = _fit(gradient, deviation * rate, rate / deviation)
    numbers = [fit, _mean_factor(means, gradients, takers), _root_mean_square(deviation)]
    tensors: list[tuple[int, bool]] = []
    for distance, edge in enumerate(chain):
        tensor, rate = value_of(edge, takers), slope(chain[distance:])
        if tensor is not None and rate is not None:
            tensor, rate = _flat(tensor), _flat(rate)
            for form, parts in _FORMS.items():
                first, second = parts(tensor)
                numbers += [_fit(gradient, first * rate, second * rate), _root_mean_square(_DEVIATIONS[form](tensor))]
            used = [_USES[name](tensor) for name in DEVIATION_FORMS]
            numbers.append(torch.stack([(deviation - each).norm() / each.norm() for each in used]))
            tensors.append((distance, op_name(edge[0]) in _POSITIVE))
    return Forms(torch.cat([each.to(gradient) for each in numbers]), tuple(tensors))


def _fit(gradient: torch.Tensor, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """[a, b, share left over] of the best a * first + b * second, where the gradient is not zero."""
    there = (gradient != 0).to(gradient)
    first, second = first * there, second * there
    ff, ss, fs = first @ first, second @ second, first @ second
    fg, sg = first @ gradient, second @ gradient
    determinant = ff * ss - fs * fs
    a, b = (ss * fg - fs * sg) / determinant, (ff * sg - fs * fg) / determinant
    left = (gradient - a * first - b * second).norm() / gradient.norm()
    return torch.stack((a, b, left))


def _mean_factor(means: list[Edge], gradients: dict[Edge, torch.Tensor], takers: Takers) -> torch.Tensor:
    value = value_of(means[0], takers) if means and means[0] in gradients else None
    if value is None:
        return torch.full((1,), math.nan)
    mean, gradient = _flat(value), _flat(gradients[means[0]])
    factor = (mean @ gradient) / (mean @ mean)
    exact = (gradient - factor * mean).norm() <= 1e-3 * gradient.norm()
    return torch.where(exact, factor, math.nan).reshape(1)


def _root_mean_square(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.square().mean().sqrt().reshape(1)


def _flat(tensor: torch.Tensor) -> torch.Tensor:
    """The same places of tensors of one size."""
    flat = tensor.detach().reshape(-1)
    flat = flat[:: -(-len(flat) // _MOST)]
    return flat.float() if flat.device.type == "mps" else flat.double()


# The latent variables of a variational model, found in the graph by their form: mean + noise * deviation.
#
# What is needed for the KL divergence to a standard normal, autograd has saved: the deviation in the node of exp or
# of its square, the mean in the node of its square.
class Latents:
    def __init__(self, watch: Watch) -> None:
        self.watch = watch

    def look(self, consumers: Consumers, names: dict[int, str]) -> None:
        for noisy in consumers:
            factors = _operands(noisy) if op_name(noisy) == "Mul" else []
            sums = [each for each in consumers[noisy] if op_name(each) == "Add"] if len(factors) == 1 else []
            if not sums:
                continue
            # The result of exp(); of another function (softplus), what was squared for the KL term.
            is_exp = op_name(factors[0]) == "Exp"
            deviation = saved(factors[0], "_saved_result") if is_exp else _squared(factors[0], consumers)
            if not is_a(deviation, torch.Tensor):
                continue
            for mean_node in [other for each in sums for other in _operands(each) if other is not noisy]:
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
