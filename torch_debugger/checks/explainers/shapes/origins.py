"""Where a number of features or channels comes from, as far as the shape flow and the call tell."""

from __future__ import annotations

import ast
import math

from torch_debugger.checks.explainers.blame import product_text
from torch_debugger.checks.explainers.entries import straight_from_data
from torch_debugger.checks.explainers.expressions import Line
from torch_debugger.checks.explainers.settings import Setting
from torch_debugger.checks.explainers.shapes.join_shapes import joined_tensors
from torch_debugger.records import CrashFact, LayerFact


def origin_text(crash: CrashFact, setting: Setting, unit: str = "") -> str:
    """; 3456 = 6 x 24 x 24 comes out of `net.conv` (or nothing); for data as it came in, the other way out."""
    if straight_from_data(crash, setting.layer):
        return f", or give it {setting.built_for}{unit or ' features'}" if not setting.layer.ran_before else ""
    return _joined(crash, setting.layer, setting.got) or _made(crash, setting.got, unit)


def _made(crash: CrashFact, size: int, unit: str) -> str:
    made = crash.flow[-1].made if crash.flow else ()
    if not made or len(made[0]) < 2:
        return ""
    shape, source = made[0], f"comes out of `{crash.flow[-1].path}`"
    if not unit and len(shape) > 2 and math.prod(shape[1:]) == size:
        return f"; {size} = {product_text(shape[1:])} {source}"
    if size in (shape[1] if unit else shape[-1],):
        return f"; {size}{unit} {'come' if unit else 'comes'} out of `{crash.flow[-1].path}`"
    return ""


def _joined(crash: CrashFact, layer: LayerFact, size: int) -> str:
    """; 24 = 16 + 8, joined by `torch.cat([up, skip], dim=1)`"""
    for frame in reversed(crash.frames):
        if not frame.user or (frame.file, frame.line) != (layer.call.file, layer.call.line):
            continue
        line = Line(frame, crash.flow)
        for node in line.all_nodes():
            tensors, dimension = joined_tensors(line, node)
            sizes = [
                tensor.shape[dimension]
                for tensor in tensors
                if -len(tensor.shape) <= dimension < len(tensor.shape)
            ]
            if isinstance(node, ast.Call) and len(sizes) > 1 and sum(sizes) == size:
                return f"; {size} = {' + '.join(map(str, sizes))}, joined by `{line.source(node)}`"
    return ""
