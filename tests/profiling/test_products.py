"""Products of the device: by op, dtype, sizes and the line of the forward; and what cuDNN turns round."""

from __future__ import annotations

from torch._C._autograd import DeviceType

from torch_debugger.profiling.attribution import TimeAttribution, _busiest_thread, layout_ns, product_times
from torch_debugger.profiling.attribution import profile_fact as told
from torch_debugger.profiling.profiled_steps import ModuleLog
from torch_debugger.profiling.timeline import DeviceWork, LineLog, Op, Timeline, read_timeline

FILE = __file__


def op(name: str, began: int, sequence: int, backward: bool = False, **others: object) -> Op:
    made = Op(name, began, began + 10, 1, sequence, backward, "[[4, 4], [4, 4]]", "float32")
    made.device_ns = 1000
    for field, value in others.items():
        setattr(made, field, value)
    return made


def whose(ops: list[Op]) -> TimeAttribution:
    lines = LineLog()
    lines.times_ns, lines.lines = [0, 100, 200], [(FILE, 1), (FILE, 3), ("", 0)]
    return TimeAttribution(Timeline(ops), lines, ModuleLog({}), 1, 0, 1000)


def test_a_product_of_the_backward_belongs_to_the_line_of_the_forward() -> None:
    forward, backward = op("aten::mm", 10, 7), op("aten::mm", 150, 7, backward=True)
    [found] = product_times(whose([forward, backward]))
    assert (found.place.line, found.calls, found.device_s) == (1, 2, 2e-6)
    assert (found.dtype, found.shapes, found.is_convolution) == ("float32", "[[4, 4], [4, 4]]", False)


def test_dtypes_and_lines_are_kept_apart_and_other_ops_left_out() -> None:
    half = op("aten::mm", 20, -1, dtype="float16", device_ns=5000)
    found = product_times(whose([op("aten::mm", 10, -1), half, op("aten::mm", 110, -1), op("aten::relu", 30, -1)]))
    assert [(each.dtype, each.place.line) for each in found] == [("float16", 1), ("float32", 1), ("float32", 3)]


def test_what_ran_on_the_host_is_none() -> None:
    assert product_times(whose([op("aten::mm", 10, -1, device_ns=0)])) == ()


def test_kernels_that_turn_tensors_round() -> None:
    name = "void cudnn::ops::nchwToNhwcKernel<__nv_bfloat16, float>"
    works = [
        DeviceWork(name, 0, 30, None, 0),
        DeviceWork("nhwcToNchwKernel", 40, 50, None, 0),
        DeviceWork("gemm", 60, 90, None, 0),
    ]
    assert layout_ns(Timeline(works=works)) == 40


class Event:
    """As kineto gives them."""

    def __init__(self, name: str, began: int, number: int, linked: int = 0, **others: object) -> None:
        self.facts: dict[str, object] = {
            "name": name,
            "start_ns": began,
            "duration_ns": 10,
            "end_ns": began + 10,
            "correlation_id": number,
            "linked_correlation_id": linked,
            "device_type": DeviceType.CPU,
            "start_thread_id": 1,
            "sequence_nr": -1,
            "fwd_thread_id": 0,
            "scope": 0,
            "is_async": False,
            "shapes": [[4, 4], [4, 4]],
            "dtypes": ["c10::BFloat16", "c10::BFloat16"],
            "nbytes": 0,
            **others,
        }

    def __getattr__(self, name: str) -> object:
        value = self.facts[name]
        return lambda: value


class Results:
    def __init__(self, *events: Event) -> None:
        self._events = events

    def events(self) -> tuple[Event, ...]:
        return self._events


def test_a_kernel_goes_to_its_op_although_calls_of_the_runtime_have_the_same_numbers() -> None:
    launch = Event("cudaLaunchKernel", 0, 5)
    product = Event("aten::mm", 20, 5)
    kernel = Event("gemm", 40, 9, linked=5, device_type=DeviceType.CUDA)
    timeline = read_timeline(Results(launch, product, kernel))
    assert timeline.works[0].op is not None and timeline.works[0].op.name == "aten::mm"
    assert timeline.works[0].op.dtype == "bfloat16"


def test_a_stretch_that_was_named_is_no_work_of_the_device() -> None:
    named = Event("Optimizer.step#SGD.step", 0, 1, scope=7)
    there = Event("Optimizer.step#SGD.step", 5, 2, device_type=DeviceType.CUDA, duration_ns=100, end_ns=105)
    kernel = Event("add", 40, 9, device_type=DeviceType.CUDA)
    timeline = read_timeline(Results(named, there, kernel))
    assert [work.name for work in timeline.works] == ["add"] and timeline.busy_ns() == 10


def test_waits_outside_of_any_op_have_no_thread() -> None:
    wait = Op("cudaDeviceSynchronize", 0, 5, 2**64 - 1, -1, False, "")
    assert wait.waits_in(1)
    assert not Op("cudaStreamSynchronize", 0, 5, 2, -1, False, "").waits_in(1)


def test_the_thread_of_the_training_is_not_that_of_the_backward() -> None:
    """In the latter only the nodes are known as backward, not the many ops inside of them."""
    forward = [Event("aten::mm", 10, 1), Event("cudaLaunchKernel", 12, 2)]
    node = Event("autograd::engine::evaluate_function: MmBackward0", 100, 3, start_thread_id=2, end_ns=200)
    inside = [Event("aten::mm", 110 + 20 * n, 4 + n, start_thread_id=2) for n in range(3)]
    timeline = read_timeline(Results(*forward, node, *inside))
    fact = told(timeline, LineLog(), ModuleLog({}), (0, 1000), on_device=True)
    assert _busiest_thread(timeline) == 1
    assert fact.launches == 1


def test_the_bytes_of_a_copy_come_from_what_its_op_was_given() -> None:
    copy = Event("aten::copy_", 10, 1, shapes=[[512, 3], [512, 3]], dtypes=["float", "float"])
    work = Event("Memcpy HtoD (Pageable -> Device)", 20, 2, linked=1, device_type=DeviceType.CUDA)
    alone = Event("Memcpy HtoD (Pageable -> Device)", 40, 3, linked=9, device_type=DeviceType.CUDA)
    assert [each.size_bytes for each in read_timeline(Results(copy, work, alone)).works] == [6144, 0]
