"""Points, their colors and the faces between them, which TensorBoard's mesh tab shows in space."""

from __future__ import annotations

from torch_debugger.records import MeshSummary
from torch_debugger.runlog.events import text
from torch_debugger.runlog.summaries.values import array_tensor, event, metadata, value
from torch_debugger.runlog.wire import bytes_field, number_field, varint

_NAME, _KIND, _CONFIG, _SHAPE, _COMPONENTS = 2, 3, 5, 6, 7  # of MeshPluginData
_KINDS = {"VERTEX": 1, "FACE": 2, "COLOR": 3}


def mesh_event(record: MeshSummary) -> bytes:
    given = {"VERTEX": record.vertices, "FACE": record.faces, "COLOR": record.colors}
    parts = {kind: part for kind, part in given.items() if part is not None}
    components = sum(1 << _KINDS[kind] for kind in parts)
    values = []
    for kind, part in parts.items():
        content = (
            bytes_field(_NAME, text(record.tag))
            + number_field(_KIND, _KINDS[kind])
            + bytes_field(_CONFIG, text(record.config))
            + bytes_field(_SHAPE, *map(varint, part.shape))
            + number_field(_COMPONENTS, components)
        )
        values.append(value(f"{record.tag}_{kind}", metadata("mesh", content), array_tensor(part)))
    return event(record, *values)
