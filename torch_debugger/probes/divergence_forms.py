"""What a divergence takes a tensor for, by its gradient there: numbers on their own device, read later."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch.nn.functional import softplus

from torch_debugger.anatomy.graph_nodes import op_name
from torch_debugger.anatomy.loss_region import Edge, size_of, slope
from torch_debugger.anatomy.node_values import Takers, value_of
from torch_debugger.records import DEVIATION_FORMS, DivergenceReading, FormFit

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
class Read:
    agreement: FormFit
    mean_factor: float
    size: float
    readings: tuple[DivergenceReading, ...]


@dataclass(frozen=True)
class Forms:
    numbers: torch.Tensor
    tensors: tuple[tuple[int, bool], ...]  # distance and whether it is positive

    def read(self, numbers: Sequence[float]) -> Read:
        agreement, (mean_factor, size), rest = FormFit(*numbers[:3]), numbers[3:5], numbers[5:]
        readings = [
            reading
            for at, (distance, positive) in enumerate(self.tensors)
            for reading in _readings(rest[at * _EACH : (at + 1) * _EACH], distance, positive)
            if reading.fit.misfit <= _LARGEST_MISFIT
        ]
        return Read(agreement, mean_factor, size, tuple(readings))


def _readings(numbers: Sequence[float], distance: int, positive: bool) -> list[DivergenceReading]:
    each = [numbers[at * (_FITS + 1) : (at + 1) * (_FITS + 1)] for at in range(len(_FORMS))]
    used = tuple(numbers[-len(_USES) :])
    return [
        DivergenceReading(form, distance, positive, FormFit(*fit), size, used)
        for form, (*fit, size) in zip(_FORMS, each, strict=True)
    ]


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
    numbers = [
        _fit(gradient, deviation * rate, rate / deviation),
        _mean_factor(means, gradients, takers),
        _size(deviation),
    ]
    tensors: list[tuple[int, bool]] = []
    for distance, edge in enumerate(chain):
        tensor, rate = value_of(edge, takers), slope(chain[distance:])
        if tensor is not None and rate is not None:
            tensor, rate = _flat(tensor), _flat(rate)
            for form, parts in _FORMS.items():
                first, second = parts(tensor)
                numbers += [_fit(gradient, first * rate, second * rate), _size(_DEVIATIONS[form](tensor))]
            numbers.append(_distances(deviation, tensor))
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


def _distances(deviation: torch.Tensor, tensor: torch.Tensor) -> torch.Tensor:
    found = [_USES[name](tensor) for name in DEVIATION_FORMS]
    return torch.stack([(deviation - each).norm() / each.norm() for each in found])


def _size(deviation: torch.Tensor) -> torch.Tensor:
    return deviation.square().mean().sqrt().reshape(1)


def _flat(tensor: torch.Tensor) -> torch.Tensor:
    """The same places of tensors of one size."""
    flat = tensor.detach().reshape(-1)
    flat = flat[:: -(-len(flat) // _MOST)]
    return flat.float() if flat.device.type == "mps" else flat.double()
