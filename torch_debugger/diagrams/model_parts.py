"""A recorded model, ready to be drawn: parts, captions, and the inside of each part when it is needed."""

from __future__ import annotations

from collections.abc import Callable, Collection

from torch_debugger.diagrams.captions import Caption, Captions, form_text
from torch_debugger.diagrams.containers import with_containers
from torch_debugger.diagrams.insides import Member, inside_of
from torch_debugger.diagrams.layered import box_size
from torch_debugger.diagrams.openings import MOST_BOXES, Openings
from torch_debugger.diagrams.parts import Part, parts_of
from torch_debugger.diagrams.pieces import bundle_ends, cut_into_pieces
from torch_debugger.diagrams.repeats import fold_repeats
from torch_debugger.diagrams.scene import Opened, Scene, scene_of
from torch_debugger.diagrams.wiring import Wiring
from torch_debugger.records.op_graph import ModelGraph


def _nothing(part: Part) -> str:
    return ""


class ModelParts:
    """`more` tells what else a box says below its name; `folds` folds repeats also in a small model."""

    def __init__(self, graph: ModelGraph, more: Callable[[Part], str] = _nothing, folds: bool = False) -> None:
        self.graph = graph
        self.root, flows = parts_of(graph)
        self.lines = flows.lines
        with_containers(self.root, {module.path: module.module for module in graph.modules})
        bundle_ends(self.root)
        self.openings = Openings(self.root, graph.modules)
        fold_repeats(self.root, graph, flows.lines, too_large=folds or self.root.boxes > MOST_BOXES)
        cut_into_pieces(self.root, flows.lines)
        self._wiring = Wiring(self.root, graph, flows.lines)
        self._captions = Captions(graph, flows.held, more)

    def caption(self, part: Part) -> Caption:
        return self._captions.of(part, self._wiring.leaving[part.key])

    def opened(self, part: Part, keys: Collection[str]) -> Opened:
        """The part with its inside, and so on for those of its parts whose keys are given."""
        inner = [
            self.opened(each, keys) if each.parts and each.key in keys else self.caption(each)
            for each in part.parts
        ]
        members = [self._member(each, shown) for each, shown in zip(part.parts, inner, strict=True)]
        inside = inside_of(part, self._wiring.inside[part.key], members)
        return Opened(part, inside, self.caption(part), inner)

    def _member(self, part: Part, shown: Opened | Caption) -> Member:
        several = len({form_text(form) for form in self._wiring.leaving[part.key]}) > 1
        if isinstance(shown, Opened):
            return Member(shown.size, several, shown.inside)
        return Member(box_size(*shown.size()), several)

    def scene(self, keys: Collection[str]) -> Scene:
        return scene_of(self.opened(self.root, keys))
