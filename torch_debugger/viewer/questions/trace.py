"""One trace of torch.profiler: its steps, advice, operators, kernels, memory, ranks and Python stacks."""

from __future__ import annotations

import dataclasses
import os
from typing import Any

from torch_debugger.records import TraceReport
from torch_debugger.report.json_form import finding_to_json
from torch_debugger.report.profile import opening
from torch_debugger.viewer.asked import Asked
from torch_debugger.viewer.profiled_times import modules_of_fact, profile_of_fact

_MOST_STEPS = 200


def answer(asked: Asked) -> dict[str, Any]:
    trace = asked.shelf.traces.find(asked.text("trace"))
    report = trace.report
    part = asked.text("part", "overview")
    if part in _PARTS:
        return _PARTS[part](report)
    advice = [finding_to_json(each, os.getcwd(), None) for each in trace.findings]
    return _overview(report) | {"findings": advice}


def _overview(report: TraceReport) -> dict[str, Any]:
    return {
        "summary": opening(report.profile),
        "file": report.file,
        "steps": [dataclasses.asdict(step) for step in report.steps[:_MOST_STEPS]],
        "step_s": report.step_s,
        "parts": report.parts,
        "device": dataclasses.asdict(report.device) if report.device is not None else None,
        "notes": list(report.notes),
        "modules": modules_of_fact(report.profile),
        "profile": profile_of_fact(report.profile),
        "has": {
            "operators": bool(report.ops),
            "kernels": bool(report.kernels),
            "memory": report.memory is not None,
            "stacks": bool(report.stacks),
        },
    }


def _operators(report: TraceReport) -> dict[str, Any]:
    return {
        "steps": max(1, len(report.steps)),
        "on_device": report.device is not None,
        "by_name": [dataclasses.asdict(each) for each in report.ops],
        "by_shape": [dataclasses.asdict(each) for each in report.ops_by_shape],
    }


def _kernels(report: TraceReport) -> dict[str, Any]:
    kernels = [dataclasses.asdict(each) for each in report.kernels]
    return {"steps": max(1, len(report.steps)), "kernels": kernels}


def _memory(report: TraceReport) -> dict[str, Any]:
    return {
        "memory": dataclasses.asdict(report.memory) if report.memory is not None else None,
        "allocations": [dataclasses.asdict(each) for each in report.allocations],
    }


def _stacks(report: TraceReport) -> dict[str, Any]:
    return {"stacks": [[each.parent, each.name, each.total_s, each.calls] for each in report.stacks]}


_PARTS = {"operators": _operators, "kernels": _kernels, "memory": _memory, "stacks": _stacks}
