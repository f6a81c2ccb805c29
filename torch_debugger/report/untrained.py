"""What is said of a script that has finished without training anything: what was seen, and what can be done."""

from __future__ import annotations

from torch_debugger.records import UntrainedModel
from torch_debugger.report.result import RunResult

_NAMED = 3  # models


def trained_nothing(result: RunResult) -> bool:
    """A script without a step that ended by itself, and is a whole script."""
    unseen = not result.torch_seen or bool(result.untrained)
    return unseen and result.steps == 0 and result.outcome == "finished" and not result.part


def what_was_seen(result: RunResult) -> str:
    """: `net` (Net) was called 20 times; no backward() and no optimizer step was seen"""
    if result.untrained:
        return f": {_calls(result.untrained)}; no backward() and no optimizer step was seen"
    if result.run is not None and result.run.torch:
        return "; it imported torch, but no model was called and nothing was trained"
    return " without importing torch: there was nothing to watch"


def what_can_be_done(result: RunResult) -> str:
    """Of the models' outputs, and where to look next."""
    if not result.untrained:
        if result.run is None or not result.run.torch:
            return ""
        return (
            "torch_debugger.describe(x) shows what a tensor holds, torch_debugger.activations(model, x) what "
            "each layer of a model gives."
        )
    name, looks = result.untrained[0].model, sum(each.looks for each in result.untrained)
    outputs = "the output" if looks == 1 else f"{looks:,} outputs"
    clean = f"No NaN in {outputs} looked at. " if looks and result.verdict is None else ""
    return (
        f"{clean}torch_debugger.activations({name}, x) shows what each layer gives, "
        f"torch_debugger.doctor({name}, loss_fn, (x, y)) tries the model before it is trained, and a script "
        "that trains it is watched step by step."
    )


def _calls(models: tuple[UntrainedModel, ...]) -> str:
    """`net` (Net) was called 20 times, `aux` (Sequential) once"""
    told = [f"`{each.model}` ({each.kind}) {'' if at else 'was called '}{_times(each.calls)}" for at, each in
            enumerate(models[:_NAMED])]  # fmt: skip
    more = len(models) - _NAMED
    return ", ".join(told) + (f" and {more} more model{'s' if more > 1 else ''}" if more > 0 else "")


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"
