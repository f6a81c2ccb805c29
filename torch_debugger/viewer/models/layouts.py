"""The drawing of a model as data for the page: the inside of each part laid out once, whatever else is open."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from torch_debugger.diagrams.captions import count_text
from torch_debugger.diagrams.model_data import groups_of
from torch_debugger.diagrams.model_parts import ModelParts
from torch_debugger.diagrams.parts import Part
from torch_debugger.diagrams.scene import HEAD, PAD, TIP
from torch_debugger.records import ModelFlow
from torch_debugger.records.op_graph import ModelGraph
from torch_debugger.viewer.models.arithmetic import Arithmetic

FIRST_BOXES = 40  # that are seen when a page opens


@lru_cache(maxsize=8)
def layout_of(graph: ModelGraph, flow: ModelFlow | None) -> dict[str, Any]:
    """Kept, as it takes a moment: a graph is the same for the whole of a run."""
    arithmetic = Arithmetic(flow)

    def flops(part: Part) -> str:
        found = arithmetic.of_part(part)
        if found is None or (not found.known and not found.missing):
            return ""
        return f"{'at least ' if found.missing else ''}{count_text(found.known)} FLOPs" if found.known else ""

    model = ModelParts(graph, flops, folds=True)
    opened = model.openings.automatic(most=FIRST_BOXES)
    groups = groups_of(model, opened)
    return {
        "pad": PAD,
        "head": HEAD,
        "tip": TIP,
        "opened": [key for key in groups if key in opened],
        "groups": groups,
    }
