"""What a wrong gradient lacks, named after what stands in the function: a number, an input, the output."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from torch_debugger.trials.gradcheck.rows import Slot
from torch_debugger.trials.gradcheck.sample import Sample

Named = tuple[str, torch.Tensor]

_TELLING = 5  # smaller sizes are factors of many derivatives anyway: 3 of a cube


def name_factor(sample: Sample, factor: float) -> str:
    """Where such a number may come from: a mean taken for a sum, or a sum for a mean."""
    leaf = sample.culprit.leaf
    counts = {leaf.stop - leaf.start: "elements"}
    counts |= {size: f"entries of dimension {number}" for number, size in enumerate(leaf.shape)}
    for count, word in counts.items():
        if count < _TELLING:
            continue
        if abs(abs(factor) / count - 1) < 1e-3:
            return f"; `{leaf.name}` has {count} {word}, as if forward took a mean and backward a sum"
        if abs(abs(factor) * count - 1) < 1e-3:
            return f"; `{leaf.name}` has {count} {word}, as if forward took a sum and backward a mean"
    return ""


def name_missing_factor(sample: Sample) -> str | None:
    """A tensor that, multiplied to backward's gradient, makes it right at every element."""
    for name, values in _tensors(sample):
        share = _share_of(sample.numerical, sample.analytical * values)
        if share and bool(sample.agree(sample.analytical * values * share, sample.numerical).all()):
            return _times(share) + name
        share = _share_of(sample.analytical, sample.numerical * values)
        if share and bool(sample.agree(sample.analytical, sample.numerical * values * share).all()):
            return f"{1 / share:.4g} / {name}"
    return None


def name_missing_term(sample: Sample) -> str | None:
    """The incoming gradient, alone or times a tensor, that is exactly what is missing."""
    missing = sample.numerical - sample.analytical
    incoming = _incoming(sample)
    if incoming is None or not bool(missing.any()):
        return None
    for name, values in (("", torch.ones_like(incoming)), *_tensors(sample)):
        term = incoming * values
        share = _share_of(missing, term)
        if share and _agree_closely(missing, term * share, sample):
            return f"{_times(share)}`grad_output`" + (f" * {name}" if name else "")
    return None


def _agree_closely(missing: torch.Tensor, term: torch.Tensor, sample: Sample) -> bool:
    # The missing part is a difference of two larger numbers: its rounding is theirs.
    floor = sample.tolerance * (missing.abs() + sample.numerical.abs().max() * 0.1)
    return bool(((missing - term).abs() <= floor).all()) and float(term.abs().max()) > 10 * float(floor.min())


def _share_of(wanted: torch.Tensor, part: torch.Tensor) -> float:
    """The number that takes `part` closest to `wanted`."""
    size = float(part @ part)
    return float(wanted @ part) / size if size else 0.0


def _times(share: float) -> str:
    return "" if abs(share - 1) < 1e-3 else "-" if abs(share + 1) < 1e-3 else f"{share:.4g} * "


def _tensors(sample: Sample) -> Iterator[Named]:
    """The inputs and the output, where they have one value for each element of the wrong gradient."""
    point, leaf = sample.point, sample.culprit.leaf
    for slot in (leaf, *(other for other in point.x if other is not leaf)):
        values = _laid_on(point.inputs, slot, sample)
        if values is not None:
            yield f"`{slot.name}`", values
    output = _laid_on(point.at_point, sample.culprit.output, sample)
    if output is not None:
        word = f"the {sample.culprit.output.name}"
        yield word, output
        yield f"(1 - {word})", 1 - output
        yield f"(1 - {word} ** 2)", 1 - output.square()
    own = _laid_on(point.inputs, leaf, sample)
    if own is not None:
        yield f"`{leaf.name}` ** 2", own.square()


def _incoming(sample: Sample) -> torch.Tensor | None:
    return _laid_on(sample.culprit.weights, sample.culprit.output, sample)


def _laid_on(row: torch.Tensor, slot: Slot, sample: Sample) -> torch.Tensor | None:
    leaf = sample.culprit.leaf
    if slot.shape != leaf.shape or slot.complex or leaf.complex:
        return None
    return row.cpu()[slot.start : slot.stop][sample.places - leaf.start]
