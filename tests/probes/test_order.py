"""In which order probes are connected. What must come before what, and why, holds whatever else moves; beyond
that the order decides only which record comes first, and which look is left out where a step's looks take too long."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest

from tests.probes.watching import watched
from torch_debugger.runner.plumbing import Plumbing

# Installed and removed in this order; their end_step and begin_step run in it, too.
INSTALLED = """
Loaders Evaluation UserScalars Scaler Clipping Ranges Compiled Captured Cycles Checkpoints BatchSamples FirstStep
RankProcesses HangWatch GraphWeights PaddedStates QuietModels UntrainedCalls DataFlow Spreads NameSwitches Seeds
Schedulers Modes Passes Copies Collectives RankDigests WorkerBoards BatchClocks OwnBatches SharedHandles
CustomFunctions Backward Optimizers Forward Ledger Unreached Flags PlainTensors AsyncSteps RootModules
"""
# Who listens to what, in the order in which they hear of it.
LISTENING = {
    "watch.on_step": "SpeedSetup._step_done MemoryWatch._step_done GradientTrials.poll",
    "watch.between_steps": "StepNumbers._step_done StackSamples._follow RankProcesses._look BatchClocks._follow",
    "roots.on_call": "EvaluatedLosses._see_training SkippedSteps.called RootInputs._see_training "
    "BatchSamples._see_call DataFlow._begin RankDigests._see_call",
    "roots.on_output": "OutputSpreads._see_light",
    "roots.on_made": "UntrainedCalls._see_call",
    "roots.on_evaluation": "EvaluatedLosses._see_evaluation RootInputs._see_evaluation",
    "forward.on_every_enter": "ModuleSpans._enter",
    "forward.on_every_output": "ModuleSpans._leave",
    "forward.on_layer": "LayerInputs.see SequenceInputs.see",
    "forward.on_output": "OutputSpreads._see_deep FutureTokens._see GraphWeights.see_output PaddedStates._see "
    "QuietModels._see_output UntrainedCalls._see_first Spreads._hear_output",
    "forward.on_quiet": "LeftOut._see QuietModels._see UntrainedCalls._see_quiet",
    "backward.on_every_look": "Cycles.see_backward",
    "backward.on_look": "GraphKeeping.look SampleSpreads.look Health._look_at_graph BatchSamples._see_loss "
    "Targets.look SourceReading.look OutputSpreads.look HandMade.look GraphLooks.look MemoryWatch._before_backward "
    "FreshParameters.see_backward FrozenLayers.look GraphWeights.see_backward PaddedStates._look",
    "optimizers.before_update": "Untied._look AlikeUnits.look Ledger._read_gradients Spreads._hear_update "
    "Schedulers._before_update Modes._before_update Copies._before_update Scaler._before_update",
    "optimizers.looks.on_count": "Flags.end_step",
    "loaders.on_pass_begin": "Passes._begin WorkerGenerators._look WorkerBoards._begin BatchClocks._begin "
    "OwnBatches._begin_pass SharedHandles._begin",
    "loaders.on_pass_end": "Passes._end WorkerBoards._end BatchClocks._end SharedHandles._end",
}
BEFORE = (
    ("Cycles", "Optimizers", "both hook the end of an optimizer's step, and the optimizers' hook ends the step"),
    ("RankDigests", "Optimizers", "both hook its begin, and there --on-nan takes gradients away or ends the script"),
    ("Backward", "RootModules", "the loss is of a step whose models still know what was put into them"),
    ("Forward", "Unreached", "hooks of modules run in the order they are put on: the trace is of the watched calls"),
    ("Ledger", "Unreached", "what is never reached is read from this step's ledger"),
    ("Ledger", "RootModules", "the ledger asks who was trained in this step"),
    ("Flags", "RootModules", "flags are read of models that are still known when the run ends"),
    ("AsyncSteps", "RootModules", "the inputs of a step are kept for numbers that come later"),
    ("WorkerBoards", "BatchClocks", "the clocks tell of lines that the boards' last reading found"),
)
HEARD_BEFORE = (
    ("loaders.on_pass_begin", "WorkerBoards", "BatchClocks", "the clocks ask for the board of the pass"),
    ("loaders.on_pass_end", "WorkerBoards", "BatchClocks", "the clocks tell of lines that the boards then have read"),
)


def names_of(listeners: list[Callable[..., Any]]) -> list[str]:
    found = []
    for listener in listeners:
        if isinstance(listener, functools.partial):  # watch.probe(name of the probe, its method)
            listener = listener.args[1]
        found.append(f"{type(listener.__self__).__name__}.{listener.__name__}")  # type: ignore[attr-defined]
    return found


def listening(plumbing: Plumbing, event: str) -> list[str]:
    return names_of(functools.reduce(getattr, event.split("."), plumbing))  # type: ignore[arg-type]


def installed(plumbing: Plumbing) -> list[str]:
    return [type(probe).__name__ for probe in plumbing.watch.probes]


def test_the_order_of_today() -> None:
    with watched(check_custom_gradients=True) as seen:
        assert installed(seen.plumbing) == INSTALLED.split()
        assert {event: " ".join(listening(seen.plumbing, event)) for event in LISTENING} == LISTENING


@pytest.mark.parametrize(("first", "second", "why"), BEFORE, ids=lambda value: str(value).split(" ", maxsplit=1)[0])
def test_probes_that_come_before_others(first: str, second: str, why: str) -> None:
    with watched() as seen:
        order = installed(seen.plumbing)
    assert order.index(first) < order.index(second), why


def test_models_let_their_inputs_go_last() -> None:
    """Whoever ends a step after them finds no input; at the end of a run, no model."""
    with watched() as seen:
        assert installed(seen.plumbing)[-1] == "RootModules"


@pytest.mark.parametrize(("event", "first", "second", "why"), HEARD_BEFORE)
def test_listeners_that_hear_before_others(event: str, first: str, second: str, why: str) -> None:
    with watched() as seen:
        order = [name.partition(".")[0] for name in listening(seen.plumbing, event)]
    assert order.index(first) < order.index(second), why


def test_what_only_the_page_shows() -> None:
    with watched(page=False) as seen:
        left_out = set(INSTALLED.split()) - set(installed(seen.plumbing))
    assert left_out == {"DataFlow", "Spreads", "BatchSamples", "CustomFunctions"}


def test_without_samples_of_the_data() -> None:
    with watched(samples=False) as seen:
        assert "BatchSamples" not in installed(seen.plumbing)


def test_a_preflight_hears_of_a_backward_after_the_looks_that_it_tells() -> None:
    """It ends the script there: what listens behind it is never heard."""
    with watched(preflight=True) as seen:
        order = listening(seen.plumbing, "backward.on_look")
        assert "Uncompiled" in installed(seen.plumbing)
    number = order.index("Preflights.see_backward")
    assert order[:number] + order[number + 1 :] == LISTENING["backward.on_look"].split()
    assert order[number - 1] == "MemoryWatch._before_backward"
