"""Attention that is computed op by op: softmax(q @ k^T) @ v in the graph of the loss, and what it keeps."""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any

import torch
from torch import nn

from torch_debugger.model.autograd_graph import (
    Dims,
    dims_after,
    dims_of,
    made_shape,
    op_name,
    saved,
    signed,
    summed_over,
)
from torch_debugger.model.nested_tensors import first_tensor
from torch_debugger.probes.loss_graph import Consumers
from torch_debugger.probes.loss_token_targets import next_tokens
from torch_debugger.probes.model.forward import Forward
from torch_debugger.probes.model.root_modules import RootModules
from torch_debugger.probes.watch import Watch
from torch_debugger.records import AttentionByHand, FutureLook, MultipliedMask, Place, WeightedSum
from torch_debugger.source.attention import attention_at, mask_product, softmax_call
from torch_debugger.source.calls import first_call
from torch_debugger.source.frames import place_of, user_frame
from torch_debugger.source.objects import is_a
from torch_debugger.stats.summary import SAMPLE, sampled

_VIEWS = ("Alias", "Clone", "Expand", "Reshape", "ReshapeAlias", "Squeeze", "ToCopy", "Unsqueeze", "UnsafeView",
          "View")  # fmt: skip
_DROPOUTS = ("Mul", "NativeDropout")  # on the CPU it is a product
_BEHIND = (*_DROPOUTS, *_VIEWS)
_BEFORE = ("Add", "Div", "MaskedFill", "Mul", "Sub", "Where", *_VIEWS)
_DEPTH = 8


@dataclass(frozen=True)
class _Attention:
    softmax: Any
    shape: tuple[int, ...]
    kept_bytes: int
    has_dropout: bool


class AttentionsByHand:
    SHORTEST = 128  # of a sequence: below, its square is small

    def __init__(self, watch: Watch, roots: RootModules) -> None:
        self.watch, self.roots = watch, roots

    def look(self, consumers: Consumers, frame: FrameType | None) -> None:
        """All that have the same shape are told together: the layers of one model."""
        found: dict[tuple[int, ...], list[_Attention]] = {}
        for node in consumers:
            attention = self._read(node, consumers) if op_name(node) == "Softmax" else None
            if attention is not None:
                found.setdefault(attention.shape, []).append(attention)
        for shape, alike in found.items():
            place = _call_of(alike[0].softmax, self.roots, frame) or Place()
            written = attention_at(place)
            if written is not None:
                self.watch.emit(
                    AttentionByHand(
                        shape=shape,
                        count=len(alike),
                        has_dropout=any(each.has_dropout for each in alike),
                        kept_bytes=sum(each.kept_bytes for each in alike),
                        names=(written.queries, written.keys, written.values),
                        place=place,
                        step=self.watch.step,
                    )
                )

    def _read(self, softmax: Any, consumers: Consumers) -> _Attention | None:
        """None where it is no attention, or a short one."""
        shape, weights = made_shape(softmax), saved(softmax, "_saved_result")
        if len(shape) < 3 or min(shape[-2:]) < self.SHORTEST or _dim(softmax) != len(shape) - 1:
            return None
        behind = list(_to_product(softmax, consumers))
        if not behind or op_name(behind[-1]) != "Bmm" or weights is None:
            return None
        if not _comes_from_product(softmax, _BEFORE, _DEPTH, is_learned=False):
            return None
        values = [saved(node, name) for node in behind for name in ("_saved_self", "_saved_other", "_saved_result1")]
        kept = [weights, *(each for each in values if is_a(each, torch.Tensor) and each.layout is torch.strided)]
        squares = [each.untyped_storage() for each in kept if each.numel() == weights.numel()]
        storages = {each.data_ptr(): each.nbytes() for each in squares}
        has_dropout = any(op_name(node) in _DROPOUTS for node in behind)
        return _Attention(softmax, shape, sum(storages.values()), has_dropout)


def _to_product(node: Any, consumers: Consumers) -> Iterator[Any]:
    """The nodes behind the weights, up to the product with the values; each the only one to take them."""
    for _ in range(_DEPTH):
        takers = consumers[node]
        if len(takers) != 1:
            return
        (node,) = takers
        yield node
        if op_name(node) not in _BEHIND:
            return


def _comes_from_product(softmax: Any, passing: tuple[str, ...], depth: int, is_learned: bool = True) -> bool:
    """Scores of attention: products of queries and keys, scaled and masked; by something that is learned or not."""
    node = softmax.next_functions[0][0]
    for _ in range(depth):
        if node is None or op_name(node) not in passing:
            break
        operands = _operands(node)
        node = operands[0] if operands and (is_learned or len(operands) == 1) else None
    return node is not None and op_name(node) == "Bmm"


def _operands(node: Any) -> list[Any]:
    return [operand for operand, _ in node.next_functions if operand is not None]


def _dim(softmax: Any) -> int:
    return int(signed(saved(softmax, "_saved_dim"))) % max(1, len(made_shape(softmax)))


def _modules_and_file(roots: RootModules, frame: FrameType | None) -> tuple[list[nn.Module], str | None]:
    return [module for _, module in roots.alive()], frame.f_code.co_filename if frame is not None else None


def _call_of(softmax: Any, roots: RootModules, frame: FrameType | None) -> Place | None:
    return softmax_call(*_modules_and_file(roots, frame), _dim(softmax), len(made_shape(softmax)))


# Masks that are multiplied into scores before a softmax: read from the graph of the loss on a few looks.
_MULTIPLIED_MASKS_DEPTH = 6
_PASSING = ("Alias", "Clone", "Div", "Mul", "Reshape", "Squeeze", "Unsqueeze", "UnsafeView", "View")


class MultipliedMasks:
    def __init__(self, watch: Watch, roots: RootModules) -> None:
        self.watch, self.roots = watch, roots

    def look(self, consumers: Consumers, frame: FrameType | None) -> None:
        for node in consumers:
            factor = _factor_before(node) if op_name(node) == "Softmax" else None
            if factor is None:
                continue
            behind = [other for taker in consumers[node] if (other := _factor(taker)) is not None]
            numbers = []  # of each: share of zeros, share of numbers that are neither 0 nor 1
            for tensor in (factor, *behind):
                values = sampled(tensor.detach(), SAMPLE).float()
                others = (values != 0) & (values != 1)
                numbers += [(values == 0).float().mean().to(factor.device), others.float().mean().to(factor.device)]
            call = _call_of(node, self.roots, frame)
            place = mask_product(*_modules_and_file(self.roots, frame), call) or call or Place()
            tell = functools.partial(self._tell, made_shape(node), place, self.watch.step)
            self.watch.transfer.send(torch.stack(numbers), tell)

    def _tell(self, shape: tuple[int, ...], place: Place, step: int, found: Any) -> None:
        (zeros, other), *behind = found.reshape(-1, 2).tolist()
        again = any(share > 0 and rest == 0 for share, rest in behind)
        self.watch.emit(MultipliedMask(shape, 0 < zeros < 1 and other == 0, zeros, again, place, step))


def _factor_before(softmax: Any) -> torch.Tensor | None:
    """The tensor of numbers that the scores were multiplied with, scaling by one number aside."""
    node = softmax.next_functions[0][0]
    for _ in range(_MULTIPLIED_MASKS_DEPTH):
        if node is None or op_name(node) not in _PASSING:
            return None
        factor = _factor(node)
        if factor is not None:
            return factor
        node = next(iter(_operands(node)), None)
    return None


def _factor(node: Any) -> torch.Tensor | None:
    """Of a product with something that needs no gradient."""
    if op_name(node) != "Mul" or len(_operands(node)) != 1:
        return None
    other = saved(node, "_saved_other")
    other = other if isinstance(other, torch.Tensor) else saved(node, "_saved_self")
    plain = is_a(other, torch.Tensor) and other.layout is torch.strided and other.numel() > 1
    return other if plain else None


# Softmaxes that weigh a sum: over which dimension their weights add up to 1, and over which they are used.
#
# Read from the graph of the loss on a few looks; nothing is computed.
_WEIGHTED_SUMS_DEPTH = 10  # ops between a softmax and its sum
_SCALING = ("Mul", "Div", "Add", "Sub", "MaskedFill", "View", "UnsafeView", "Clone", "Where")


class WeightedSums:
    def __init__(self, watch: Watch, roots: RootModules) -> None:
        self.watch, self.roots = watch, roots

    def look(self, consumers: Consumers, frame: FrameType | None) -> None:
        for node in consumers:
            sums = list(weighted_over(node, consumers)) if op_name(node) == "Softmax" else []
            dim = _dim(node) if sums else 0
            if not sums or any(dim in over for over in sums):
                continue
            place = _call_of(node, self.roots, frame) or Place()
            pairs = _comes_from_product(node, _SCALING, _WEIGHTED_SUMS_DEPTH)
            # How many samples the losses are taken over: the first size of what is made one number.
            ends = [operand for each in consumers if made_shape(each) == () for operand in _operands(each)]
            shape = tuple(made_shape(node))
            batch = shape[0] in {made[0] for made in map(made_shape, ends) if made}
            self.watch.emit(WeightedSum(shape, dim, tuple(sorted(sums[0])), pairs, batch, place, self.watch.step))


def weighted_over(softmax: Any, consumers: Consumers) -> Iterator[frozenset[int]]:
    """The dimensions of the softmax that each sum over its weighted values runs over."""
    waiting: list[tuple[Any, Dims, bool, int]] = [(softmax, dims_of(made_shape(softmax)), False, 0)]
    while waiting:
        node, dims, weighs, depth = waiting.pop()
        for taker in consumers[node]:
            over = summed_over(taker, node, dims)
            if over is not None:
                if weighs or op_name(taker) in ("Bmm", "Mm"):
                    yield over
                continue
            after = dims_after(taker, node, dims) if depth < _WEIGHTED_SUMS_DEPTH else None
            if after is not None:
                waiting.append((taker, after, weighs or op_name(taker) == "Mul", depth + 1))


# Models of the next token: does the attention in front of the loss see the token that is asked for, or does a
# recurrent layer read the sequence backwards as well?
#
# The targets are the tokens one place ahead, and the graph leads back to the embedding of these very tokens. What
# autograd saved of each attention in between tells on which places its weights lie.
_ATTENTIONS = (nn.TransformerEncoder, nn.TransformerEncoderLayer, nn.MultiheadAttention)
_NEAR = 8  # ops between an attention's weights and what it gives
_HIDDEN = -1e4  # added to a score, this leaves nothing of it


class FutureTokens:
    def __init__(self, watch: Watch, forward: Forward) -> None:
        self.watch = watch
        self.roots = forward.roots
        self._call = Place()  # of the first attention of torch's own
        self._both_ways: list[tuple[int, str, Any, Place]] = []  # of this step: recurrent layers that go back too
        forward.on_output.append(self._see)

    def _see(self, path: str, module: nn.Module, inputs: Any, made: Any) -> None:
        if isinstance(module, _ATTENTIONS) and not self._call.file:
            self._call = place_of(user_frame(2), path)
        output = first_tensor(made) if isinstance(module, nn.RNNBase) and module.bidirectional else None
        if output is not None and output.dim() == 3:  # one that is not packed
            known = [each for each in self._both_ways if each[0] == self.watch.step]
            self._both_ways = [*known, (self.watch.step, path, output.grad_fn, place_of(user_frame(2), path))]

    def look(self, consumers: Consumers, names: dict[int, str]) -> None:
        read = next_tokens(list(consumers), names)
        if read is None:
            return
        places = read.counted.shape[1]
        behind = _made_from(read.embedding, consumers)
        layers, self._both_ways = self._both_ways, []
        for step, path, node, call in layers:
            if step == self.watch.step and node in behind and _reaches(node, read.apart, consumers):
                self.watch.emit(FutureLook(read.name, places, 1, 1, call, step, path))
        reading = [node for node in behind if _attends_to_itself(node, behind)]
        rows = [_next_weights(node, places) for node in reading if _reaches(node, read.apart, consumers)]
        if not rows:
            return
        counted = read.counted.all(0)
        seen = torch.stack([((row > 0) & counted[: len(row)]).any() for row in rows])
        tell = functools.partial(self._tell, read.name, places, len(rows), self.watch.step)
        self.watch.transfer.send(seen.sum().reshape(1), tell)

    def _tell(self, name: str, length: int, attentions: int, step: int, found: Any) -> None:
        models = [module for _, module in self.roots.alive()]
        own = first_call(models, ("scaled_dot_product_attention", "softmax"))
        place = self._call if self._call.file else own
        self.watch.emit(FutureLook(name, length, attentions, int(found[0]), place, step))


def _made_from(embedding: Any, consumers: Consumers) -> dict[Any, None]:
    """Everything that depends on these tokens."""
    found, queue = {embedding: None}, deque([embedding])
    while queue:
        for taker in consumers.get(queue.popleft(), ()):
            if taker not in found:
                found[taker] = None
                queue.append(taker)
    return found


def _reaches(node: Any, apart: set[Any], consumers: Consumers) -> bool:
    """Whether the loss gets its results place by place; a code of the whole sequence may know all of it. Heads
    that are stacked on the rows are taken apart a few ops on."""
    nodes = {node}
    for _ in range(_NEAR):
        if nodes & apart:
            return True
        nodes = {taker for each in nodes for taker in consumers.get(each, ())}
    return False


def _attends_to_itself(node: Any, behind: dict[Any, None]) -> bool:
    """An attention whose queries and keys both come from these tokens."""
    pair = []
    if op_name(node).startswith("ScaledDotProduct"):
        pair = [operand for operand, _ in node.next_functions[:2]]
    elif op_name(node) in ("Softmax", "SafeSoftmax"):
        product = _scores(node)
        pair = [operand for operand, _ in product.next_functions[-2:]] if product is not None else []
    return len(pair) == 2 and all(operand in behind for operand in pair)


def _scores(softmax: Any) -> Any:
    """The product of queries and keys, a few ops in front of the softmax: scaled, masked, reshaped."""
    node = softmax
    for _ in range(8):
        node = next(iter(_operands(node)), None)
        if node is None or op_name(node) in ("Bmm", "Baddbmm"):
            return node
    return None


def _next_weights(node: Any, places: int) -> torch.Tensor:
    """For each place, the largest weight on the one after it; nothing where the shapes are others."""
    none = torch.zeros(0)
    if not op_name(node).startswith("ScaledDotProduct"):
        return _above(saved(node, "_saved_result"), places, none)
    if saved(node, "_saved_is_causal"):
        return none
    mask = saved(node, "_saved_attn_mask")
    mask = mask if mask is not None else saved(node, "_saved_attn_bias")
    if mask is None:
        query = made_shape(node)
        return torch.ones(places - 1) if len(query) == 4 and query[2] >= places else none
    return _above((mask > _HIDDEN).float() if mask.is_floating_point() else mask.float(), places, none)


def _above(weights: Any, places: int, none: torch.Tensor) -> torch.Tensor:
    square = is_a(weights, torch.Tensor) and weights.dim() >= 2 and weights.shape[-1] == weights.shape[-2]
    if not square or weights.shape[-1] < places:
        return none
    row: torch.Tensor = weights.diagonal(offset=1, dim1=-2, dim2=-1).reshape(-1, weights.shape[-1] - 1).amax(0)
    return row[: places - 1]
