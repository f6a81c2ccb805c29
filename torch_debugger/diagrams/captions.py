"""What stands in a box and on a line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from torch_debugger.diagrams.lettering import shortened, text_width, visible
from torch_debugger.diagrams.parts import PIECE, REPEAT, Part
from torch_debugger.diagrams.wiring import MOST_LINES, Carried
from torch_debugger.records.op_graph import (
    INPUT,
    MODULE,
    OPERATION,
    UNKNOWN_FORM,
    GraphModule,
    ModelGraph,
    TensorForm,
)

NAME_SIZE, SMALL_SIZE = 12.0, 12.0  # smaller is not read at the size at which it is drawn
_LONGEST_NAME, _LONGEST_LINE = 34, 56
_MOST_WORDS = 3
_PAD = 10.0
LINE, SMALL_LINE = 16.0, 14.0


@dataclass(frozen=True)
class Caption:
    name: str  # bold, for modules
    beside: str = ""  # on the same line, quiet
    below: str = ""  # a quieter line
    full: str = ""  # all of it, for a tooltip

    def size(self) -> tuple[float, float]:
        first = text_width(self.name, NAME_SIZE, bold=True)
        if self.beside:
            first += text_width(f"  {self.beside}", NAME_SIZE)
        width = max(first, text_width(self.below, SMALL_SIZE)) + 2 * _PAD
        return max(44.0, width), (LINE + 12 if not self.below else LINE + SMALL_LINE + 12)


class Captions:
    def __init__(self, graph: ModelGraph, held: Mapping[int, list[str]], more: Callable[[Part], str]) -> None:
        self._more = more
        self._graph = graph
        self._modules: dict[str, GraphModule] = {module.path: module for module in graph.modules}
        self._held = held

    def of(self, part: Part, leaving: Iterable[TensorForm]) -> Caption:
        shapes = forms_text(leaving)
        if part.kind == MODULE:
            return self._module(part, shapes)
        if part.kind == OPERATION:
            node = self._graph.nodes[part.nodes[0]]
            held = _some(self._held.get(part.nodes[0], []))
            return _caption(part.name, held, shapes or forms_text(node.outputs), node.detail)
        if part.kind in (REPEAT, PIECE):
            return _caption(part.name, "", part.module or f"{part.boxes:,} operations", shapes)
        if part.nodes and not part.parts:
            node = self._graph.nodes[part.nodes[0]]
            shapes = shapes if part.kind == INPUT else self._taken(part.nodes[0])
            beside = "" if part.name.startswith(part.kind) else part.kind
            return _caption(part.name, beside, shapes or forms_text(node.outputs), "")
        return _caption(part.name)

    def _module(self, part: Part, shapes: str) -> Caption:
        module = self._modules.get(part.path)
        count = module.parameters if module is not None else 0
        called = "" if part.call == 1 else f"call {part.call}"
        beside = ", ".join(filter(None, [part.module if part.module != part.name else "", called]))
        params = "" if not count else f"{count_text(count)} params" if part.call == 1 else "same params"
        detail = module.detail if module is not None else ""
        full = " ".join(filter(None, [part.path, f"{part.module}({detail})", f"{count:,} parameters"]))
        below = " · ".join(filter(None, [shapes, params, self._more(part)]))
        return _caption(part.name, beside, below, full)

    def _taken(self, place: int) -> str:
        return forms_text(edge.form for edge in self._graph.edges if edge.target == place)


def _caption(name: str, beside: str = "", below: str = "", more: str = "") -> Caption:
    name, beside, below, more = (visible(text) for text in (name, beside, below, more))
    full = "\n".join(filter(None, [" ".join(filter(None, [name, beside])), below, more]))
    short = shortened(name, _LONGEST_NAME), shortened(beside, _LONGEST_NAME), shortened(below, _LONGEST_LINE)
    return Caption(*short, full)


def _some(names: list[str]) -> str:
    """position; weight_ih and 3 more"""
    return "" if not names else names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


def forms_text(forms: Iterable[TensorForm]) -> str:
    """[2, 64]; two of them; 3 tensors"""
    texts = list(dict.fromkeys(form_text(form) for form in forms if form != UNKNOWN_FORM))
    return ", ".join(texts) if len(texts) < 3 else f"{len(texts)} shapes"


def form_text(form: TensorForm) -> str:
    """[2, ?, 64]: ragged in the middle; nothing where the shape is not known."""
    if form == UNKNOWN_FORM:
        return ""
    return f"[{', '.join('?' if size < 0 else str(size) for size in form.shape)}]"


def words_on(carried: Carried, several: bool) -> str:
    """What a line says: the views on the way, and the shape where it is another one behind them.

    `several` tells that the box above gives several shapes, so each line says which one it is.
    """
    if len(carried.tensors) > MOST_LINES:
        return f"{len(carried.tensors):,} tensors"
    words = ", ".join(list(carried.words)[:_MOST_WORDS])
    if len(carried.words) > _MOST_WORDS:
        words += " ..."
    changed = carried.taken.keys() != carried.given.keys()
    shapes = forms_text(carried.taken) if changed or several else ""
    if words and len({form_text(form) for form in carried.taken}) > 1:
        shapes = ""
    return shortened(" ".join(filter(None, [words, shapes])), _LONGEST_LINE)


def count_text(count: int) -> str:
    """1,234; 36.9k; 11.7M"""
    for size, letter in ((1e9, "B"), (1e6, "M"), (1e4, "k")):
        if count >= size:
            scaled = count / (1e3 if letter == "k" else size)
            return f"{scaled:.3g}{letter}" if scaled < 999.5 else f"{scaled:,.0f}{letter}"
    return f"{count:,}"
