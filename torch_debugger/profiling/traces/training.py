"""What a trace says of a training beside its operators: the wait for data, optimizers, switches of torch."""

from __future__ import annotations

import re
from collections.abc import Callable

from torch_debugger.profiling.timeline import Op
from torch_debugger.profiling.traces.gathering import Gathered, Stretch
from torch_debugger.profiling.traces.header import Header
from torch_debugger.profiling.traces.intervals import Cover
from torch_debugger.profiling.traces.operators import is_operator
from torch_debugger.profiling.traces.step_parts import Window, loader_waits
from torch_debugger.records import OptimizerFact, Place, SpeedSettings, TracedTraining

_UPDATE = re.compile(r"Optimizer\.step#(\w+)\.step")
_WITH_WORKERS, _WITHOUT = "_MultiProcessingDataLoaderIter", "_SingleProcessDataLoaderIter"
_BACKWARD = "autograd::engine::evaluate_function: "
_FULL_PRECISION = re.compile(r"sgemm|f32f32_f32f32|simt")


def traced_training(
    gathered: Gathered, windows: list[Window], place_at: Callable[[int], Place]
) -> TracedTraining:
    """Seconds of all steps. What lies in two parts counts for the first of them."""
    waits, updates = loader_waits(gathered), update_stretches(gathered)
    ops = [op for op in gathered.ops if op.parent is None and is_operator(op)]
    backward = [op for op in gathered.ops if op.name.startswith(_BACKWARD)]
    parts = {
        "data_wait": [(each.began_ns, each.ended_ns) for each in waits],
        "optimizer": [(each.began_ns, each.ended_ns) for each in updates],
        "backward": [(op.began_ns, op.ended_ns) for op in backward],
        "forward": [(op.began_ns, op.ended_ns) for op in ops if op.thread == gathered.training_thread],
    }
    seconds, cover, before = {}, Cover(), 0.0
    whole_s = sum(ended - began for _, began, ended in windows) / 1e9
    for name, intervals in parts.items():
        cover = cover.with_(intervals)
        covered = sum(cover.within(began, ended) for _, began, ended in windows) / 1e9
        seconds[name], before = covered - before, covered
    seconds["other"] = whole_s - before
    return TracedTraining(
        "cuda" if gathered.works else "cpu",
        len(windows),
        whole_s / max(1, len(windows)),
        seconds,
        _workers(waits),
        place_at(waits[0].began_ns) if waits else Place(),
    )


def _workers(waits: list[Stretch]) -> bool | None:
    names = " ".join({each.name for each in waits})
    if (_WITH_WORKERS in names) == (_WITHOUT in names):  # none, or loaders of both kinds
        return None
    return _WITH_WORKERS in names


def update_stretches(gathered: Gathered) -> list[Stretch]:
    """On a device from the first kernel of an update to its last; else on the host."""
    found = [each for each in gathered.stretches if _UPDATE.match(each.name)]
    on_device = [each for each in found if each.device >= 0]
    return on_device or found


def optimizers(gathered: Gathered) -> tuple[OptimizerFact, ...]:
    """Each kind that was stepped, with the form of its update as its operators show it."""
    found: dict[str, OptimizerFact] = {}
    steps = [each for each in gathered.stretches if each.device < 0 and _UPDATE.match(each.name)]
    for step in steps:
        named = _UPDATE.match(step.name)
        assert named is not None
        if named[1] not in found:
            ops = [
                op for op in gathered.ops
                if op.thread == step.thread and step.began_ns <= op.began_ns < step.ended_ns
            ]  # fmt: skip
            form, count = _form(ops)
            found[named[1]] = OptimizerFact(
                "optimizer", named[1], Place(), (), tuple(f"unnamed[{number}]" for number in range(count)), 0,
                form=form,
            )  # fmt: skip
    return tuple(found.values())


def _form(ops: list[Op]) -> tuple[str, int]:
    """And how many parameters were updated, where that can be counted."""
    names = [op.name for op in ops]
    if any(name.startswith("aten::_fused_") for name in names):
        return "fused", 0
    if any(name.startswith("aten::_foreach_") for name in names):
        return "in lists", 0
    return "one by one", names.count("aten::addcdiv_")  # of the kinds of Adam, one for each parameter


def settings_of(gathered: Gathered, header: Header) -> SpeedSettings:
    """The names of kernels show whether TF32 is off: then some compute in full precision."""
    full = any(_FULL_PRECISION.search(work.name) for work in gathered.works)
    return SpeedSettings(
        device="cuda" if gathered.works else "cpu",
        device_name=header.device_name,
        capability=header.capability,
        cores=0,
        threads=0,
        tf32_matmul=not full,
        tf32_cudnn=not full,
        cudnn_benchmark=True,  # not known, and so no reason for advice
        deterministic=False,
        anomaly_mode=False,
        step=0,
        device_bytes=header.device_bytes,
    )
