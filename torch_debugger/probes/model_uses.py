"""The probes that watch how models are used: what is made in them and how it is spread, in which mode."""

from __future__ import annotations

from torch_debugger.probes.backward import Backward
from torch_debugger.probes.forward import Forward
from torch_debugger.probes.fresh_parameters import FreshParameters
from torch_debugger.probes.frozen_layers import FrozenLayers
from torch_debugger.probes.graph_weights import GraphWeights
from torch_debugger.probes.optimizers import Optimizers
from torch_debugger.probes.padded_states import PaddedStates
from torch_debugger.probes.probe import Probe
from torch_debugger.probes.quiet_models import QuietModels
from torch_debugger.probes.untrained_calls import CallReplay, UntrainedCalls
from torch_debugger.probes.watch import Watch


def model_use_probes(
    watch: Watch,
    forward: Forward,
    backward: Backward,
    optimizers: Optimizers,
    replay: CallReplay,
    *,
    page: bool,
) -> list[Probe]:
    weights = GraphWeights(watch, backward, optimizers)
    forward.on_output.append(weights.see_output)
    looks = (FreshParameters(watch, optimizers).see_backward, FrozenLayers(watch, backward.roots).look)
    backward.on_look += [*looks, weights.see_backward]
    uses: list[Probe] = [PaddedStates(watch, forward, backward), QuietModels(watch, forward, optimizers)]
    uses += [weights, UntrainedCalls(watch, forward, replay)]
    if page:  # their code is a megabyte that nobody else needs
        from torch_debugger.probes.dataflow import DataFlow
        from torch_debugger.probes.spreads import Spreads

        uses += [DataFlow(watch, forward), Spreads(watch, forward, optimizers)]
    return uses
