"""Looks at the whole graph behind a loss: how layers fare, and what autograd saved of dropouts, axes and attention."""

from __future__ import annotations

from types import FrameType

import torch

from torch_debugger.model.autograd_graph import dropped_share, made_shape, op_name, saved
from torch_debugger.probes.loss_backward import Backward
from torch_debugger.probes.loss_graph import Consumers, LayerHealth, feeding_layer, nodes_behind
from torch_debugger.probes.model.attention import AttentionsByHand, FutureTokens, MultipliedMasks, WeightedSums
from torch_debugger.probes.model.variational import Latents, LatentSamplings
from torch_debugger.probes.schedule import DEEP
from torch_debugger.probes.watch import Watch
from torch_debugger.records import AxesLook, DropoutLook, Place, ReusedWeight
from torch_debugger.source.calls import call_with_sizes, first_call
from torch_debugger.stats.dispatch_modes import no_grad


class Health:
    SOFTMAX_LOOKS = 3

    def __init__(self, watch: Watch, backward: Backward) -> None:
        self.backward = backward
        self._layers, self._latents = LayerHealth(watch), Latents(watch)
        self._samplings = LatentSamplings(watch, backward.roots)
        self._sums = WeightedSums(watch, backward.roots)
        self._masks = MultipliedMasks(watch, backward.roots)
        self._softmax_looks = 0
        backward.on_look.append(self._look_at_graph)

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
        backward.on_look.append(self.look)

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
            if form and (form, after) not in self._calls:
                self._calls[form, after] = call_with_sizes(self._models(), after, products=form == "heads merged")
            place = self._calls[form, after] if form else Place()
            if place.file:
                source = feeding_layer(node, names) or ""
                self.watch.emit(AxesLook(source, form, before, after, place, self.watch.step))

    def _tell_reused(self, nodes: Consumers, names: dict[int, str]) -> None:
        leaves = [(getattr(node, "variable", None), takers) for node, takers in nodes.items()]
        matrices = [(leaf, len(takers)) for leaf, takers in leaves if leaf is not None and leaf.dim() >= 2]
        reused = [(names[id(leaf)], uses) for leaf, uses in matrices if uses >= self.USES and id(leaf) in names]
        for name, uses in reused[: self.EACH]:
            self.watch.emit(ReusedWeight(name, uses, self.watch.step))


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
