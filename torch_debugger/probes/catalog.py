"""How layers and loops fare, looked at where a loss is seen: on deep steps and on some others."""

from __future__ import annotations

from types import FrameType

import torch

from torch_debugger.model.autograd_graph import dropped_share, made_shape, op_name, saved
from torch_debugger.probes.data.batch_times import BatchClocks, OwnBatches
from torch_debugger.probes.data.inputs_targets import LayerInputs, RootInputs, Targets
from torch_debugger.probes.data.loaders import Loaders
from torch_debugger.probes.data.randomness import Seeds, SourceReading, WorkerGenerators
from torch_debugger.probes.data.workers import SharedHandles, Stalls, WorkerBoards
from torch_debugger.probes.gradients_autograd_nodes import GraphKeeping, StepNumbers
from torch_debugger.probes.gradients_changed_weights import GraphWeights
from torch_debugger.probes.loss_backward import Backward, SkippedSteps
from torch_debugger.probes.loss_graph import Consumers, LayerHealth, feeding_layer, nodes_behind
from torch_debugger.probes.metrics import EvaluatedLosses
from torch_debugger.probes.model.attention import AttentionsByHand, FutureTokens, MultipliedMasks, WeightedSums
from torch_debugger.probes.model.copies import Copies
from torch_debugger.probes.model.forward import Forward
from torch_debugger.probes.model.freezing import FrozenLayers, NameSwitches
from torch_debugger.probes.model.inference import CallReplay, QuietModels, UntrainedCalls
from torch_debugger.probes.model.parameters import FreshParameters
from torch_debugger.probes.model.recurrent import PaddedStates, SequenceInputs
from torch_debugger.probes.model.root_modules import RootModules
from torch_debugger.probes.model.training_mode import Modes, Passes
from torch_debugger.probes.model.value_ranges import OutputSpreads, SampleSpreads
from torch_debugger.probes.model.variational import Latents, LatentSamplings
from torch_debugger.probes.model.weights import AlikeUnits, HandMade, Untied
from torch_debugger.probes.optimizers import Optimizers
from torch_debugger.probes.optimizers_schedulers import Schedulers
from torch_debugger.probes.probe import Probe
from torch_debugger.probes.ranks_collectives import Collectives
from torch_debugger.probes.ranks_in_sync import RankDigests
from torch_debugger.probes.schedule import DEEP
from torch_debugger.probes.watch import Watch
from torch_debugger.records import AxesLook, DropoutLook, Place, ReusedWeight
from torch_debugger.settings import Settings
from torch_debugger.source.calls import call_with_sizes, first_call
from torch_debugger.stats.dispatch_modes import no_grad


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


# What the whole graph behind a loss shows: dropouts by their masks, axes read in another order, weights that are used
# again and again, and attention that sees what it should predict. On a few deep steps; all of it is what autograd
# saved.
Shape = tuple[int, ...]
_VIEWS = ("View", "UnsafeView", "ReshapeAlias")


class GraphLooks:
    LOOKS = 3  # at the whole graph
    EACH = 8  # facts of a kind in one look
    USES = 8  # of a weight in one forward, from which on it is a recurrent one

    def __init__(self, watch: Watch, backward: Backward, future: FutureTokens) -> None:
        self.watch = watch
        self.backward = backward
        self.future = future
        self.attentions = AttentionsByHand(watch, backward.roots)
        self._looks = 0
        self._calls: dict[tuple[str, Shape], Place] = {}

    @no_grad()
    def look(self, loss: torch.Tensor, frame: FrameType | None) -> None:
        if self.watch.depth != DEEP or self._looks >= self.LOOKS or self.backward.saved_hooks:
            return
        self._looks += 1
        nodes, names = nodes_behind(loss.grad_fn), self.backward.roots.path_of_parameter()
        self._tell_dropouts(nodes, names)
        self._tell_axes(nodes, names)
        self._tell_reused(nodes, names)
        self.future.look(nodes, names)
        self.attentions.look(nodes, frame)

    def _models(self) -> list[torch.nn.Module]:
        return [module for _, module in self.backward.roots.alive()]

    def _tell_dropouts(self, nodes: Consumers, names: dict[int, str]) -> None:
        shares = [(node, dropped_share(node)) for node in nodes]
        found = [(feeding_layer(node, names) or "", share) for node, share in shares if share is not None]
        for source, share in list(dict.fromkeys(found))[: self.EACH]:
            place = first_call(self._models(), ("dropout",))
            self.watch.emit(DropoutLook(source, share, place, self.watch.step))

    def _tell_axes(self, nodes: Consumers, names: dict[int, str]) -> None:
        views = [node for node in nodes if op_name(node) in _VIEWS]
        for node in views:
            before, after = tuple(saved(node, "_saved_self_sym_sizes") or ()), made_shape(node)
            form = misread_axes(before, after)
            place = self._call(form, after) if form else Place()
            if place.file:
                source = feeding_layer(node, names) or ""
                self.watch.emit(AxesLook(source, form, before, after, place, self.watch.step))

    def _tell_reused(self, nodes: Consumers, names: dict[int, str]) -> None:
        leaves = [(getattr(node, "variable", None), takers) for node, takers in nodes.items()]
        matrices = [(leaf, len(takers)) for leaf, takers in leaves if leaf is not None and leaf.dim() >= 2]
        reused = [(names[id(leaf)], uses) for leaf, uses in matrices if uses >= self.USES and id(leaf) in names]
        for name, uses in reused[: self.EACH]:
            self.watch.emit(ReusedWeight(name, uses, self.watch.step))

    def _call(self, form: str, after: Shape) -> Place:
        if (form, after) not in self._calls:
            self._calls[form, after] = call_with_sizes(self._models(), after, products=form == "heads merged")
        return self._calls[form, after]


def misread_axes(before: Shape, after: Shape) -> str:
    """How a view, which leaves all numbers in their order, differs from the axes that it names; else empty."""
    if len(before) == len(after) >= 3:
        sizes, others = ([size for size in shape if size > 1] for shape in (before, after))
        return "exchanged" if sizes != others and sorted(before) == sorted(after) else ""
    if (len(before), len(after)) == (3, 4) and _splits(before, after):
        return "heads split"
    return "heads merged" if (len(before), len(after)) == (4, 3) and _splits(after, before) else ""


def _splits(joined: Shape, split: Shape) -> bool:
    """[batch, steps, heads * size] beside [batch, heads, steps, size]: the steps lie behind the heads."""
    heads, steps = split[1], split[2]
    fits = split[0] == joined[0] and steps == joined[1] and heads * split[3] == joined[2]
    return fits and heads != steps and min(heads, steps) > 1


# Everything that is looked at of the data on its way through the model, put in place at once.
def look_at_data(
    watch: Watch, roots: RootModules, forward: Forward, backward: Backward, settings: Settings
) -> list[Probe]:
    """Gives back those that want to hear of steps."""
    probes: list[Probe] = []
    RootInputs(watch, roots)
    if settings.page and settings.samples:
        from torch_debugger.probes.data.samples import BatchSamples

        probes.append(BatchSamples(watch, roots, backward))
    inputs = LayerInputs(watch, roots)
    forward.on_layer.append(inputs.see)
    forward.on_layer.append(SequenceInputs(watch, roots).see)
    backward.on_look.append(Targets(watch, inputs, backward).look)
    backward.on_look += [SourceReading(watch).look, OutputSpreads(watch, forward).look]
    backward.on_look.append(HandMade(watch, backward).look)
    backward.on_look.append(GraphLooks(watch, backward, FutureTokens(watch, forward)).look)
    return probes


# The probes that watch how models are used: what is made in them and how it is spread, in which mode.
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
        from torch_debugger.probes.model.graph import DataFlow
        from torch_debugger.probes.model.value_ranges import Spreads

        uses += [DataFlow(watch, forward), Spreads(watch, forward, optimizers)]
    return uses


# The probes that watch how the training loop is written, and whether those of other ranks are alike.
def loop_probes(watch: Watch, roots: RootModules, optimizers: Optimizers, loaders: Loaders) -> list[Probe]:
    passes = Passes(watch, roots, optimizers, loaders)
    WorkerGenerators(watch, loaders)
    copies = Copies(watch, roots, optimizers)
    early = [NameSwitches(watch, roots), Seeds(watch, optimizers), Schedulers(watch, optimizers)]
    collectives = Collectives(watch)
    ranks = [collectives, RankDigests(watch, roots, optimizers, collectives)]
    boards = WorkerBoards(watch, loaders)
    stalls = Stalls(watch)
    late = [boards, BatchClocks(watch, loaders, boards, stalls), OwnBatches(watch, loaders, stalls)]
    late.append(SharedHandles(watch, loaders))
    return [*early, Modes(watch, roots, optimizers), passes, copies, *ranks, *late]
