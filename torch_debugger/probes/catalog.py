"""Which probes there are, and how they are put together: each is made with what its constructor asks for.

Whoever listens to another (`backward.on_look.append(...)`) asks for it in its constructor, which finds it by its type:
what is needed is made first. A new probe is a class in this table.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar, get_type_hints

from torch_debugger.probes.async_steps import AsyncSteps
from torch_debugger.probes.data.batch_times import BatchClocks, OwnBatches
from torch_debugger.probes.data.inputs_targets import LayerInputs, RootInputs, Targets
from torch_debugger.probes.data.loaders import Loaders
from torch_debugger.probes.data.randomness import Seeds, SourceReading, WorkerGenerators
from torch_debugger.probes.data.workers import SharedHandles, WorkerBoards
from torch_debugger.probes.gradients_autograd_nodes import CustomFunctions, GraphKeeping
from torch_debugger.probes.gradients_changed_weights import GraphWeights
from torch_debugger.probes.gradients_scaling_clipping import Clipping, Scaler
from torch_debugger.probes.gradients_unreached import Unreached
from torch_debugger.probes.loss_backward import Backward, SkippedSteps
from torch_debugger.probes.loss_graph_looks import GraphLooks, Health
from torch_debugger.probes.memory import MemoryWatch
from torch_debugger.probes.metrics import EvaluatedLosses, Evaluation, UserScalars
from torch_debugger.probes.model.copies import Copies
from torch_debugger.probes.model.forward import Forward
from torch_debugger.probes.model.freezing import Flags, FrozenLayers, NameSwitches
from torch_debugger.probes.model.inference import QuietModels, UntrainedCalls
from torch_debugger.probes.model.module_state import Checkpoints, PlainTensors
from torch_debugger.probes.model.parameters import FreshParameters, Ledger
from torch_debugger.probes.model.recurrent import PaddedStates, SequenceInputs
from torch_debugger.probes.model.root_modules import RootModules
from torch_debugger.probes.model.torch_compile import Captured, Compiled, Uncompiled
from torch_debugger.probes.model.training_mode import Modes, Passes
from torch_debugger.probes.model.value_ranges import OutputSpreads, Ranges, SampleSpreads, Spreads
from torch_debugger.probes.model.weights import AlikeUnits, BadWeights, HandMade, Untied
from torch_debugger.probes.optimizers import Optimizers
from torch_debugger.probes.optimizers_schedulers import Schedulers
from torch_debugger.probes.optimizers_step_order import Cycles
from torch_debugger.probes.probe import Probe
from torch_debugger.probes.ranks_collectives import Collectives
from torch_debugger.probes.ranks_in_sync import RankDigests
from torch_debugger.probes.speed import SpeedSetup
from torch_debugger.probes.watch import Watch
from torch_debugger.settings import Settings

Made = TypeVar("Made")


class Probes:
    """One of each kind, made when it is first asked for."""

    def __init__(self) -> None:
        self._made: dict[Any, Any] = {}

    def put(self, kind: Any, made: Any) -> None:
        """What is made elsewhere, or stands in for a protocol."""
        self._made[kind] = made

    def get(self, kind: type[Made]) -> Made:
        if kind not in self._made:
            needed = get_type_hints(kind.__init__, localns={"Watch": Watch})  # which the file of Probe cannot import
            needed.pop("return", None)
            self._made[kind] = kind(**{name: self.get(each) for name, each in needed.items()})
        found: Made = self._made[kind]
        return found

    def made(self, kind: type[Made]) -> Made | None:
        """None where nobody has asked for one."""
        return self._made.get(kind)

    def in_order(self, kinds: Iterable[type]) -> list[Probe]:
        """All of these made; of those that are probes, each behind those that it names in `after`."""
        made: list[object] = [self.get(kind) for kind in kinds]
        waiting = {type(probe).__name__: probe for probe in made if isinstance(probe, Probe)}
        ordered: list[Probe] = []
        while waiting:
            first = next(name for name, probe in waiting.items() if waiting.keys().isdisjoint(probe.after))
            ordered.append(waiting.pop(first))
        return ordered


def kinds_of_probes(settings: Settings, of_the_runner: Sequence[type]) -> list[type]:
    """Everything that looks at the training, in the order in which it hears of it; the runner's own stand in the
    middle, where a pre-flight ends the script at a backward: what is told of that backward stands before it."""
    kinds: list[type] = [Loaders, Evaluation, UserScalars, Scaler, BadWeights, Clipping, Ranges]
    kinds += [Uncompiled if settings.preflight or settings.step_rehearsal else Compiled]
    kinds += [Captured, Cycles, Checkpoints]
    kinds += [GraphKeeping, EvaluatedLosses, SkippedSteps, Untied, SampleSpreads, Health, AlikeUnits, RootInputs]
    if settings.page and settings.samples:
        from torch_debugger.probes.data.samples import BatchSamples

        kinds.append(BatchSamples)
    kinds += [LayerInputs, SequenceInputs, Targets, SourceReading, OutputSpreads, HandMade, GraphLooks]
    kinds += [SpeedSetup, MemoryWatch, Ledger, Unreached]
    kinds += of_the_runner
    kinds += [FreshParameters, FrozenLayers, GraphWeights, PaddedStates, QuietModels, UntrainedCalls]
    if settings.page:
        from torch_debugger.probes.model.graph import DataFlow  # a megabyte of code that nobody else needs

        kinds += [DataFlow, Spreads]
    kinds += [NameSwitches, Seeds, Schedulers, Modes, Passes, WorkerGenerators, Copies, Collectives, RankDigests]
    kinds += [WorkerBoards, BatchClocks, OwnBatches, SharedHandles]
    if settings.check_custom_gradients:
        kinds.append(CustomFunctions)
    # What the others read of a step is let go after they have read it, and so are the models when the run ends.
    return [*kinds, Backward, Optimizers, Forward, Flags, PlainTensors, AsyncSteps, RootModules]
