"""Operations of a running model, gathered into a graph; which tensor came from where is known by identity."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import torch
from torch.utils.weak import WeakTensorKeyDictionary

from torch_debugger.anatomy.memory_ids import memory_id
from torch_debugger.anatomy.unique_names import UniqueNames
from torch_debugger.records.op_graph import CONSTANT, OPERATION, GraphEdge, GraphNode, TensorForm

_Value = TypeVar("_Value")
_ByTensor = MutableMapping[torch.Tensor, _Value]

MOST_NODES = 20_000  # more than any drawing can show: a loop over thousands of time steps


@dataclass
class _Draft:
    name: str
    kind: str
    op: str
    scope: str
    detail: str
    outputs: list[TensorForm] = field(default_factory=list)

    def output_like(self, form: TensorForm) -> int:
        if form not in self.outputs:
            self.outputs.append(form)
        return self.outputs.index(form)


class Recorder:
    """Holds no tensor: what the model lets go of is freed as ever."""

    def __init__(self) -> None:
        self._drafts: list[_Draft] = []
        self.edges: list[GraphEdge] = []
        self.complete = True
        self._deaf = False
        self.names = UniqueNames()
        self._origins: _ByTensor[tuple[int, int]] = WeakTensorKeyDictionary()  # node, which output of it
        self._owned: _ByTensor[tuple[str, str]] = WeakTensorKeyDictionary()  # kind, name

    @property
    def nodes(self) -> tuple[GraphNode, ...]:
        return tuple(
            GraphNode(draft.name, draft.kind, draft.op, draft.scope, tuple(draft.outputs), draft.detail)
            for draft in self._drafts
        )

    def __len__(self) -> int:
        return len(self._drafts)

    @contextlib.contextmanager
    def deaf(self) -> Iterator[bool]:
        """Nothing inside is an operation of the model's own; tells whether it was so already."""
        before, self._deaf = self._deaf, True
        try:
            yield before
        finally:
            self._deaf = before

    def own(self, tensor: torch.Tensor, kind: str, name: str) -> None:
        """A parameter or buffer: it becomes a node when something reads it."""
        self._owned.setdefault(tensor, (kind, name))

    def knows(self, tensor: torch.Tensor) -> bool:
        return tensor in self._origins or tensor in self._owned

    def source(self, name: str, kind: str, tensor: torch.Tensor, scope: str = "") -> tuple[int, int]:
        """A tensor that no operation of the model made."""
        place = self._add(_Draft(self.names.unique(name), kind, kind, scope, "", [form_of(tensor)]))
        self._origins[tensor] = (place, 0)
        return place, 0

    def operation(
        self,
        op: str,
        scope: str,
        given: Iterable[torch.Tensor],
        made: Sequence[torch.Tensor],
        written: Sequence[torch.Tensor] = (),
        *,
        kind: str = OPERATION,
        name: str = "",
        detail: str = "",
    ) -> None:
        if len(self._drafts) >= MOST_NODES:
            self.complete = False
            return
        origins = [(*self._origin(tensor, scope), form_of(tensor)) for tensor in _distinct(given)]
        draft = _Draft(self.names.unique(name or f"{scope}/{op}"), kind, op, scope, detail)
        place = self._add(draft)
        self.edges += [GraphEdge(source, output, place, form) for source, output, form in origins]
        for tensor in _distinct(made):
            draft.outputs.append(form_of(tensor))
            self._origins[tensor] = (place, len(draft.outputs) - 1)
        self._write(place, draft, written)

    def replace(self, tensor: torch.Tensor, data: torch.Tensor, scope: str) -> None:
        """tensor.data = data"""
        self._origins[tensor] = self._origin(data, scope)

    def _write(self, place: int, draft: _Draft, written: Sequence[torch.Tensor]) -> None:
        """Whoever reads the tensor, or another view of the same memory, reads what was written."""
        memories = {memory_id(tensor) for tensor in written}
        for tensor in list(self._origins) if written else ():
            if memory_id(tensor) in memories and self._origins[tensor][0] != place:
                self._origins[tensor] = (place, draft.output_like(form_of(tensor)))

    def _origin(self, tensor: torch.Tensor, scope: str) -> tuple[int, int]:
        if tensor in self._origins:
            return self._origins[tensor]
        kind, name = self._owned.get(tensor, (CONSTANT, f"{scope}/{CONSTANT}"))
        return self.source(name, kind, tensor, scope)

    def _add(self, draft: _Draft) -> int:
        self._drafts.append(draft)
        return len(self._drafts) - 1


def form_of(tensor: torch.Tensor) -> TensorForm:
    ragged = tensor.is_nested and tensor.layout == torch.strided
    sizes = (-1,) * tensor.dim() if ragged else tensor.shape
    shape = tuple(size if type(size) is int else -1 for size in sizes)
    return TensorForm(shape, str(tensor.dtype).removeprefix("torch."), str(tensor.device))


def _distinct(tensors: Iterable[torch.Tensor]) -> list[torch.Tensor]:
    """`x * x` reads one tensor."""
    return list({id(tensor): tensor for tensor in tensors}.values())
