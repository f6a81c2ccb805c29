"""Models of the next token: does the attention in front of the loss see the token that is asked for, or does
a recurrent layer read the sequence backwards as well?

The targets are the tokens one place ahead, and the graph leads back to the embedding of these very
tokens. What autograd saved of each attention in between tells on which places its weights lie.
"""

from __future__ import annotations

import functools
from collections import deque
from typing import Any

import torch
from torch import nn

from torch_debugger.anatomy.frames import place_of, user_frame
from torch_debugger.anatomy.graph_nodes import made_shape, op_name, saved
from torch_debugger.anatomy.kinds import is_a
from torch_debugger.anatomy.model_calls import first_call
from torch_debugger.anatomy.nested import first_tensor
from torch_debugger.probes.forward import Forward
from torch_debugger.probes.layer_health import Consumers
from torch_debugger.probes.tokentargets import next_tokens
from torch_debugger.probes.watch import Watch
from torch_debugger.records import FutureLook, Place

_ATTENTIONS = (nn.TransformerEncoder, nn.TransformerEncoderLayer, nn.MultiheadAttention)
_PRODUCTS = ("Bmm", "Baddbmm")
_NEAR = 8  # ops between an attention's weights and what it gives
_HIDDEN = -1e4  # added to a score, this leaves nothing of it


class FutureTokens:
    def __init__(self, watch: Watch, forward: Forward) -> None:
        self.watch = watch
        self.roots = forward.roots
        self._call = Place()  # of the first attention of torch's own
        self._both_ways: list[
            tuple[int, str, Any, Place]
        ] = []  # of this step: recurrent layers that go back too
        forward.on_output.append(self._see)

    def _see(self, path: str, module: nn.Module, given: Any, made: Any) -> None:
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
    op = op_name(node)
    if op.startswith("ScaledDotProduct"):
        pair = [operand for operand, _ in node.next_functions[:2]]
    else:
        product = _scores(node) if op in ("Softmax", "SafeSoftmax") else None
        pair = [operand for operand, _ in product.next_functions[-2:]] if product is not None else []
    return len(pair) == 2 and all(operand in behind for operand in pair)


def _scores(softmax: Any) -> Any:
    """The product of queries and keys, a few ops in front of the softmax: scaled, masked, reshaped."""
    node = softmax
    for _ in range(8):
        operands = [operand for operand, _ in node.next_functions if operand is not None]
        if not operands or op_name(operands[0]) in _PRODUCTS:
            return operands[0] if operands else None
        node = operands[0]
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
