"""Products of the device: by op, dtype, sizes and the line of the forward; and what cuDNN turns round."""

from __future__ import annotations

from torch_debugger.profiling.attribution import Attribution
from torch_debugger.profiling.line_log import LineLog
from torch_debugger.profiling.module_log import ModuleLog
from torch_debugger.profiling.products import layout_ns, product_times
from torch_debugger.profiling.timeline import Op, Timeline, Work

FILE = __file__


def op(name: str, began: int, sequence: int, backward: bool = False, **others: object) -> Op:
    made = Op(name, began, began + 10, 1, sequence, backward, "[[4, 4], [4, 4]]", "float32")
    made.device_ns = 1000
    for field, value in others.items():
        setattr(made, field, value)
    return made


def whose(ops: list[Op]) -> Attribution:
    lines = LineLog()
    lines.times_ns, lines.lines = [0, 100, 200], [(FILE, 1), (FILE, 3), ("", 0)]
    return Attribution(Timeline(ops), lines, ModuleLog({}), 1, 0, 1000)


def test_a_product_of_the_backward_belongs_to_the_line_of_the_forward() -> None:
    forward, backward = op("aten::mm", 10, 7), op("aten::mm", 150, 7, backward=True)
    [found] = product_times(whose([forward, backward]))
    assert (found.place.line, found.calls, found.device_s) == (1, 2, 2e-6)
    assert (found.dtype, found.shapes, found.is_convolution) == ("float32", "[[4, 4], [4, 4]]", False)


def test_dtypes_and_lines_are_kept_apart_and_other_ops_left_out() -> None:
    half = op("aten::mm", 20, -1, dtype="float16", device_ns=5000)
    found = product_times(
        whose([op("aten::mm", 10, -1), half, op("aten::mm", 110, -1), op("aten::relu", 30, -1)])
    )
    assert [(each.dtype, each.place.line) for each in found] == [("float16", 1), ("float32", 1), ("float32", 3)]


def test_what_ran_on_the_host_is_none() -> None:
    assert product_times(whose([op("aten::mm", 10, -1, device_ns=0)])) == ()


def test_kernels_that_turn_tensors_round() -> None:
    name = "void cudnn::ops::nchwToNhwcKernel<__nv_bfloat16, float>"
    works = [
        Work(name, 0, 30, None, 0),
        Work("nhwcToNchwKernel", 40, 50, None, 0),
        Work("gemm", 60, 90, None, 0),
    ]
    assert layout_ns(Timeline(works=works)) == 40
