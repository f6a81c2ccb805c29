"""Everything that is looked at of the data on its way through the model, put in place at once."""

from __future__ import annotations

from torch_debugger.probes.backward import Backward
from torch_debugger.probes.forward import Forward
from torch_debugger.probes.future_tokens import FutureTokens
from torch_debugger.probes.graph_looks import GraphLooks
from torch_debugger.probes.hand_made_weights import HandMade
from torch_debugger.probes.inputs import LayerInputs
from torch_debugger.probes.output_spreads import OutputSpreads
from torch_debugger.probes.probe import Probe
from torch_debugger.probes.root_inputs import RootInputs
from torch_debugger.probes.roots import Roots
from torch_debugger.probes.sequence_inputs import SequenceInputs
from torch_debugger.probes.source_reading import SourceReading
from torch_debugger.probes.targets import Targets
from torch_debugger.probes.watch import Watch
from torch_debugger.settings import Settings


def look_at_data(
    watch: Watch, roots: Roots, forward: Forward, backward: Backward, settings: Settings
) -> list[Probe]:
    """Gives back those that want to hear of steps."""
    probes: list[Probe] = []
    RootInputs(watch, roots)
    if settings.page and settings.samples:
        from torch_debugger.probes.batch_samples import BatchSamples

        probes.append(BatchSamples(watch, roots, backward))
    inputs = LayerInputs(watch, roots)
    forward.on_layer.append(inputs.see)
    forward.on_layer.append(SequenceInputs(watch, roots).see)
    backward.on_look.append(Targets(watch, inputs, backward).look)
    backward.on_look += [SourceReading(watch).look, OutputSpreads(watch, forward).look]
    backward.on_look.append(HandMade(watch, backward).look)
    backward.on_look.append(GraphLooks(watch, backward, FutureTokens(watch, forward)).look)
    return probes
