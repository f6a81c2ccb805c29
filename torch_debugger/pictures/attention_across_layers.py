"""Attention through all layers, rolled out: the layers multiplied with each other."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

from torch_debugger.pictures.attention_heatmaps import AxisTokens, LayerMaps, Tokens, draw_attention, tokens_of_axes
from torch_debugger.pictures.attention_recording import recorded_maps
from torch_debugger.pictures.attention_weights import AttentionMaps, Layers, fused, maps_of_weights
from torch_debugger.pictures.model_runs import Inputs
from torch_debugger.pictures.picture import Picture
from torch_debugger.pictures.token_grids import image_among, overlay, patches_of, seen_patches
from torch_debugger.system.errors import UsageError


class RolloutPicture(Picture):
    """`rollout` is [N, out, in]; for images `maps` is [N, rows, columns], else None."""

    layers: tuple[str, ...]
    rollout: NDArray[np.float64]
    maps: NDArray[np.float64] | None


def attention_rollout(
    source: Any,
    inputs: Inputs = None,
    *,
    tokens: Tokens = None,
    heads: str = "mean",
    layers: Layers = None,
    sample: int = 0,
) -> RolloutPicture:
    """How much of each input reaches each output through all layers (Abnar & Zuidema, 2020).

        pictures.attention_rollout(model, token_ids, tokens=words)     # a heat map
        seen = pictures.attention_rollout(vit, images, heads="max")    # over the image
        seen.rollout                                                   # [N, out, in], rows sum to 1
        seen.maps                                                      # [N, rows, columns] of patches

    `source` is a model, or its weights as `pictures.attention` takes them. Heads are put together by their
    "mean", "max" or "min", half of each layer is its residual, rows are made to sum to 1, and the layers are
    multiplied. Of an image without a class token, the mean over all outputs is drawn.
    """
    maps = square_maps(source, inputs, layers)
    maps.of_sample(sample)  # complains, where there is none
    rolled = multiplied(mixed(maps, heads))
    image = image_among(inputs)
    patches = patches_of(rolled.shape[-1], image)
    title = f"Attention rollout through {maps.depth()}, {heads} of heads{maps.example(sample)}"
    arrays = {"rollout": rolled}
    if image is not None and patches is not None:
        arrays["maps"] = seen_patches(rolled, patches)
        pixels, grid = image[sample], arrays["maps"][sample]
        picture = RolloutPicture(title, arrays, lambda: overlay(title, pixels, grid, "share passed on"))
    else:
        names = tokens_of_axes({"rollout": rolled.shape[1:]}, tokens, None, by_name=False)["rollout"]
        shown = LayerMaps("rollout", ["rollout"], rolled[sample][None], names)
        picture = RolloutPicture(title, arrays, lambda: draw_attention(title, [shown], "share passed on"))
    picture.layers, picture.rollout, picture.maps = maps.layers, rolled, arrays.get("maps")
    return picture


def multiplied(layers: NDArray[np.float64]) -> NDArray[np.float64]:
    """[N, out, in] of [layers, N, out, in], the first layer rightmost."""
    rolled: NDArray[np.float64] = layers[0]
    for layer in layers[1:]:
        rolled = layer @ rolled
    return rolled


# Attention through all layers as a flow: the greatest that the layers let pass from an input to an output.
_MOST_WORK = 4_000_000  # about ten seconds


class FlowPicture(Picture):
    """`flow` is [in], to one output; for an image `map` is [rows, columns], else None."""

    layers: tuple[str, ...]
    flow: NDArray[np.float64]
    map: NDArray[np.float64] | None


def attention_flow(
    source: Any,
    inputs: Inputs = None,
    *,
    output: int = 0,
    tokens: Tokens = None,
    heads: str = "mean",
    layers: Layers = None,
    sample: int = 0,
) -> FlowPicture:
    """The greatest flow from each input to one output, with attention as capacities (Abnar & Zuidema, 2020).

        pictures.attention_flow(vit, images)                           # to the class token, over the image
        seen = pictures.attention_flow(model, token_ids, output=-1)    # to the last token
        seen.flow                                                      # [in], each at most 1

    Capacities are what `pictures.attention_rollout` multiplies: heads put together, and half of each layer its
    residual. It is slow work, so layers x tokens^3 may be at most 4,000,000: 12 layers of 64 tokens.
    """
    maps = square_maps(source, inputs, layers)
    maps.of_sample(sample)  # complains, where there is none
    capacities = mixed(maps, heads)[:, sample]
    depth, size = capacities.shape[:2]
    if not -size <= output < size:
        raise UsageError(f"output={output} was asked for, but there are {size} tokens, counted from 0.")
    if depth * size**3 > _MOST_WORK:
        raise UsageError(
            f"the flow through {depth} layers of {size} tokens would take too long: "
            f"layers x tokens^3 may be at most {_MOST_WORK:,}. Choose fewer with `layers=`, or take "
            "`pictures.attention_rollout`."
        )
    flow = np.array([max_flow(capacities, output % size, each) for each in range(size)])
    image = image_among(inputs)
    patches = patches_of(len(flow), image)
    title = f"Attention flow to token {output % len(flow)}, {maps.depth()}{maps.example(sample)}"
    arrays = {"flow": flow}
    if image is not None and patches is not None:
        grid = arrays["map"] = seen_patches(flow[None], patches)
        picture = FlowPicture(title, arrays, lambda: overlay(title, image[sample], grid, "greatest flow"))
    else:
        names = tokens_of_axes({"flow": (len(flow), len(flow))}, tokens, None, by_name=False)["flow"]
        looking = [tokens[output]] if tokens is not None else [output % len(flow)]
        shown = LayerMaps("flow", ["flow"], flow[None, None], AxisTokens(looking, names.looked_at))
        picture = FlowPicture(title, arrays, lambda: draw_attention(title, [shown], "greatest flow"))
    picture.layers, picture.flow, picture.map = maps.layers, flow, arrays.get("map")
    return picture


# The greatest flow through layers of nodes: the widest path that is still open is filled, until none is left.
#
# Every edge leads from a node of one layer to one of the layer below, so a layer's edges are one matrix, and all its
# nodes are looked at together.
Matrix = NDArray[np.floating[Any]]
_LITTLE = 1e-6  # a path that carries less is closed: rows sum to 1


def max_flow(capacities: Matrix, source: int, sink: int) -> float:
    """From a node of the uppermost layer to one of the lowest; `capacities` is [layers, above, below].

    `capacities[-1]` are the edges that leave the uppermost nodes, `capacities[0]` those that end in the lowest.
    """
    open_paths = _OpenPaths(capacities, source, sink)
    total = 0.0
    while (width := open_paths.widest()) > _LITTLE:
        open_paths.fill(width)
        total += width
    return total


class _OpenPaths:
    def __init__(self, capacities: Matrix, source: int, sink: int) -> None:
        layers, nodes = capacities.shape[:2]
        self._down = capacities.transpose(0, 2, 1).astype(np.float64, order="C")  # [to below, from above]
        self._back = np.zeros_like(self._down)  # what was sent may be taken back; [to above, from below]
        self._source, self._sink = source, sink
        self._widths = np.zeros((layers + 1, nodes))  # what can reach each node by one path
        self._from = np.zeros((layers + 1, nodes), dtype=np.intp)  # the node before it on that path
        self._from_above = np.ones((layers + 1, nodes), dtype=bool)  # and the side it comes from

    def widest(self) -> float:
        """How much one more path from source to sink can carry."""
        layers = len(self._down)
        self._widths[:] = 0
        self._widths[layers, self._source] = np.inf
        changed = True
        while changed:
            for level in reversed(range(layers)):
                self._reach(level, level + 1, self._down[level], True)
            changed = False
            for level in range(1, layers - 1):  # nothing has to return to the uppermost nodes
                changed |= self._reach(level + 1, level, self._back[level], False)
        return float(self._widths[0, self._sink])

    def _reach(self, level: int, start: int, edges: Matrix, is_down: bool) -> bool:
        """Whether some nodes of `level` are reached by wider paths, from those of `start`."""
        carried = np.minimum(self._widths[start], edges)
        best = carried.argmax(axis=1)
        width = carried[np.arange(len(best)), best]
        wider = width > self._widths[level]
        self._widths[level, wider] = width[wider]
        self._from[level, wider] = best[wider]
        self._from_above[level, wider] = is_down
        return bool(wider.any())

    def fill(self, width: float) -> None:
        level, node = 0, self._sink
        while (level, node) != (len(self._down), self._source):
            before = int(self._from[level, node])
            if self._from_above[level, node]:
                self._down[level, node, before] -= width
                self._back[level, before, node] += width
                level += 1
            else:
                level -= 1
                self._down[level, before, node] += width
                self._back[level, node, before] -= width
            node = before


# What a layer passes on: its attention, heads put together, and the token itself through the residual.
def square_maps(source: Any, inputs: Any, layers: Layers) -> AttentionMaps:
    """Of layers in which the same tokens look at each other."""
    maps = recorded_maps(source, inputs, layers) if isinstance(source, nn.Module) else maps_of_weights(source, layers)
    first = maps.weights[0].shape
    for name, weights in zip(maps.layers, maps.weights, strict=True):
        out, looked_at = weights.shape[2:]
        if out != looked_at or weights.shape[0] != first[0] or looked_at != first[3]:
            which = f"`{name}` is {_size(weights.shape)}"
            if name != maps.layers[0]:
                which = f"`{maps.layers[0]}` is {_size(first)} and {which}"
            raise UsageError(
                "layers are followed through each other only where the same tokens look at themselves, but "
                f'{which}: choose others with `layers=`, such as `layers="encoder.*"`.'
            )
    return maps


def mixed(maps: AttentionMaps, heads: str) -> NDArray[np.float64]:
    """[layers, N, out, in]: half of it the attention, half the residual; rows sum to 1 (Abnar & Zuidema)."""
    together = np.stack([fused(np.moveaxis(weights, 1, 0), heads) for weights in maps.weights])
    passed = 0.5 * together.astype(np.float64) + 0.5 * np.eye(together.shape[-1])
    rows: NDArray[np.float64] = passed / passed.sum(axis=-1, keepdims=True)
    return rows


def _size(shape: tuple[int, ...]) -> str:
    examples = "1 example" if shape[0] == 1 else f"{shape[0]} examples or windows"
    return f"{shape[2]} by {shape[3]} for {examples}"
