"""Matrix products and convolutions of the device: their dtype and their sizes decide how fast it can be."""

from __future__ import annotations

from torch_debugger.profiling.attribution import Attribution
from torch_debugger.profiling.line_log import Line
from torch_debugger.profiling.timeline import Op, Timeline
from torch_debugger.records import ProductTime

_PRODUCTS = frozenset({
    "aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm", "aten::cudnn_convolution",
    "aten::convolution_backward", "aten::cudnn_convolution_transpose", "aten::_conv_depthwise2d",
    "aten::conv_depthwise3d",
})  # fmt: skip
_MOST = 60
# What cuDNN calls its own kernels around a convolution that wants another order than the tensors have.
_LAYOUT = ("nchwToNhwc", "nhwcToNchw")


def product_times(whose: Attribution) -> tuple[ProductTime, ...]:
    found: dict[tuple[str, str, str, Line], list[Op]] = {}
    for op in whose.timeline.ops:
        if op.device_ns and op.name in _PRODUCTS:
            found.setdefault((op.name, op.dtype, op.shapes, whose.line_of(op)), []).append(op)
    times = [
        ProductTime(name, dtype, shapes, whose.lines.place(line), len(ops), _seconds(ops))
        for (name, dtype, shapes, line), ops in found.items()
    ]
    return tuple(sorted(times, key=lambda each: -each.device_s)[:_MOST])


def _seconds(ops: list[Op]) -> float:
    return sum(op.device_ns for op in ops) / 1e9


def layout_ns(timeline: Timeline) -> int:
    return sum(
        work.ended_ns - work.began_ns for work in timeline.works if any(name in work.name for name in _LAYOUT)
    )
