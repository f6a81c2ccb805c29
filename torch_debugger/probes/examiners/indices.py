"""Integer tensors that were used as indices, against the sizes they index."""

from __future__ import annotations

import re

import torch

from torch_debugger.probes.crash_frames import describe
from torch_debugger.probes.examiners.lookups import LABELS, Lookup, lookups_of
from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.probes.examiners.score_layer import find_score_layer
from torch_debugger.records import LayerFact
from torch_debugger.records.evidence import IndexEvidence
from torch_debugger.stats.unseen import no_grad

_WORDS = ("out of range", "out of bounds", "Class values must", "valid range", "index_size", "num_embeddings")
_SHOWN = 5
_DISTINCT = 1_000_000  # values sorted to count the different ones


def examine_indices(scene: Scene) -> IndexEvidence | None:
    """The lookup whose values are out of range, where the exception speaks of one."""
    message = str(scene.error)
    if not isinstance(scene.error, IndexError | RuntimeError) or not any(word in message for word in _WORDS):
        return None
    for lookup in lookups_of(scene):
        evidence = examine_lookup(scene, lookup, message)
        if evidence is not None:
            return evidence
    return None


def examine_lookup(scene: Scene, lookup: Lookup, message: str = "") -> IndexEvidence | None:
    """The values of one lookup that are out of range, if the message is about them."""
    if lookup.indices.is_floating_point() or not lookup.indices.numel():
        return None
    with no_grad(), torch.utils._python_dispatch._disable_current_modes():
        values = lookup.indices.reshape(-1).long()
        counted = values != lookup.ignored if lookup.ignored is not None else torch.ones_like(values).bool()
        outside = ((values < lookup.allowed) | (values >= lookup.size)) & counted
        if not outside.any() or not _is_told(message, lookup, values[outside]):
            return None
        return _evidence(scene, lookup, values, counted, outside)


def _is_told(message: str, lookup: Lookup, wrong: torch.Tensor) -> bool:
    """Whether the values and the size that the message names, if it does, are those of this lookup."""
    size = re.search(r"with size (\d+)", message)
    value = re.search(r"(?:[Ii]ndex|Target|takes value) (-?\d+) (?:is|out|which)", message)
    fits = size is None or int(size[1]) == lookup.size
    return fits and (value is None or bool((wrong == int(value[1])).any()))


def _evidence(
    scene: Scene, lookup: Lookup, values: torch.Tensor, counted: torch.Tensor, outside: torch.Tensor
) -> IndexEvidence | None:
    places, seen = outside.nonzero().flatten(), values[counted]
    indices = describe(lookup.index_name, lookup.indices)
    if indices is None:
        return None
    return IndexEvidence(
        operation=lookup.operation,
        indices=indices,
        size=lookup.size,
        allowed=lookup.allowed,
        count=len(places),
        total=len(seen),
        values=tuple(int(value) for value in values[places[:_SHOWN]]),
        positions=tuple(_position(int(place), lookup.indices.shape) for place in places[:_SHOWN]),
        lowest=int(seen.min()),
        highest=int(seen.max()),
        distinct=len(torch.unique(seen[:_DISTINCT])),
        counts_up=_counts_up(lookup.indices),
        table=describe(lookup.table_name, lookup.table) if lookup.table is not None else None,
        dimension=lookup.dimension,
        ignored=lookup.ignored,
        expression=lookup.expression,
        scores_from=_scores_from(scene, lookup),
    )


def _scores_from(scene: Scene, lookup: Lookup) -> LayerFact | None:
    """Of labels; and of what picks from a model's outputs, which a graph must tell from plain data."""
    if lookup.table is None or lookup.dimension != 1:
        return None
    is_output = lookup.operation in LABELS or lookup.table.grad_fn is not None
    return find_score_layer(scene, lookup.table, lookup.size) if is_output else None


def _position(place: int, shape: torch.Size) -> tuple[int, ...]:
    position: list[int] = []
    for size in reversed(shape):
        position.append(place % size)
        place //= size
    return tuple(reversed(position))


def _counts_up(indices: torch.Tensor) -> bool:
    if not indices.dim() or indices.shape[-1] < 2:
        return False
    return bool((indices == torch.arange(indices.shape[-1])).all())
