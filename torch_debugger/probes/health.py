"""How layers and loops fare, looked at where a loss is seen: on deep steps and on some others."""

from __future__ import annotations

from types import FrameType

import torch

from torch_debugger.probes.alike_units import AlikeUnits
from torch_debugger.probes.backward import Backward
from torch_debugger.probes.evaluated_losses import EvaluatedLosses
from torch_debugger.probes.graph_keeping import GraphKeeping
from torch_debugger.probes.latent_sampling import LatentSamplings
from torch_debugger.probes.latents import Latents
from torch_debugger.probes.layer_health import LayerHealth, nodes_behind
from torch_debugger.probes.multiplied_masks import MultipliedMasks
from torch_debugger.probes.node_numbers import StepNumbers
from torch_debugger.probes.optimizers import Optimizers
from torch_debugger.probes.sample_spread import SampleSpreads
from torch_debugger.probes.skipped import SkippedSteps
from torch_debugger.probes.untied import Untied
from torch_debugger.probes.watch import Watch
from torch_debugger.probes.weighted_sums import WeightedSums
from torch_debugger.stats.unseen import no_grad


class Health:
    SOFTMAX_LOOKS = 3

    def __init__(self, watch: Watch, backward: Backward, optimizers: Optimizers) -> None:
        self.numbers = StepNumbers(watch)
        self.backward = backward
        self._layers, self._latents = LayerHealth(watch), Latents(watch)
        self._samplings = LatentSamplings(watch, backward.roots)
        self._sums = WeightedSums(watch, backward.roots)
        self._masks = MultipliedMasks(watch, backward.roots)
        self._softmax_looks = 0
        EvaluatedLosses(watch, backward.roots)
        SkippedSteps(watch, backward.roots, backward)
        Untied(watch, optimizers)
        backward.on_look += [
            GraphKeeping(watch, self.numbers).look,
            SampleSpreads(watch).look,
            self._look_at_graph,
        ]
        optimizers.before_update.append(AlikeUnits(watch, optimizers).look)

    @no_grad()
    def _look_at_graph(self, loss: torch.Tensor, frame: FrameType | None) -> None:
        if not self.backward.saved_hooks:  # to read what such a hook packed would run it
            consumers, names = nodes_behind(loss.grad_fn), self.backward.roots.path_of_parameter()
            self._layers.look(consumers, names)
            self._latents.look(consumers, names)
            self._samplings.look(loss.grad_fn, consumers, names, frame)
            if self._softmax_looks < self.SOFTMAX_LOOKS:
                self._softmax_looks += 1
                self._sums.look(consumers, frame)
                self._masks.look(consumers, frame)
