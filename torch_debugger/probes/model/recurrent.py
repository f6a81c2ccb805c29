"""Recurrent layers of which only the state after the last step is used, and how their sequences end.

On deep steps: what the layer was given, then, at the loss, which of its outputs the graph goes through.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from types import FrameType
from typing import Any

import torch
from torch import nn

from torch_debugger.model.autograd_graph import op_name, saved, signed
from torch_debugger.model.hooks import in_transform
from torch_debugger.model.nested_tensors import first_tensor, tensors_in
from torch_debugger.probes.loss_backward import Backward
from torch_debugger.probes.loss_graph import Consumers, nodes_behind
from torch_debugger.probes.model.forward import Forward
from torch_debugger.probes.probe import Probe
from torch_debugger.probes.watch import Watch
from torch_debugger.records import PaddedState, Place, SequenceInput
from torch_debugger.source.calls import last_step_taken
from torch_debugger.source.frames import locals_of, place_of, user_frame
from torch_debugger.source.objects import is_a
from torch_debugger.stats.dispatch_modes import no_grad
from torch_debugger.stats.summary import measure_ends

# What keeps steps apart: the loss sees the last one alone if that is all that is taken behind it.
_PASSING = frozenset({
    "Addmm", "Clone", "Gelu", "LeakyRelu", "Mm", "Mul", "NativeDropout", "NativeLayerNorm", "Permute", "Relu",
    "T", "Tanh", "Transpose", "UnsafeView", "View",
})  # fmt: skip
_COMPARED = 64  # sequences
_Output = tuple[Any, int]  # a node, and which of its outputs


@dataclass
class _Read:
    """A recurrent layer that has run in this step."""

    path: str
    layer: nn.RNNBase
    rows: torch.Tensor  # [sequences, steps] of tokens, or of numbers that stand for vectors
    tokens: bool
    lengths: str
    call: Place
    output: _Output
    states: list[_Output]


class PaddedStates(Probe):
    name = "padded sequences"
    deep_only = True
    EACH = 6  # looks at a layer
    LARGEST = 2**22  # elements of what is looked at

    def __init__(self, watch: Watch, forward: Forward, backward: Backward) -> None:
        super().__init__(watch)
        self._looks: dict[str, int] = {}
        self._tokens: dict[tuple[int, ...], torch.Tensor] = {}  # by their shape
        self._reads: list[_Read] = []
        self._has_initial_state = False  # some layer of this step began with a state that has a graph
        forward.on_output.append(self._see)
        backward.on_look.append(self._look)

    def end_step(self) -> None:
        self._tokens, self._reads, self._has_initial_state = {}, [], False  # nothing of a graph outlives its step

    @no_grad()
    def _see(self, path: str, module: nn.Module, inputs: Any, made: Any) -> None:
        if in_transform() or not isinstance(module, (nn.Embedding, nn.RNNBase)):
            return
        tensors, outputs = list(tensors_in(inputs)), list(tensors_in(made))
        if isinstance(module, nn.Embedding):
            if tensors and tensors[0].dim() == 2:
                self._tokens[tuple(tensors[0].shape)] = tensors[0]
            return
        self._has_initial_state = self._has_initial_state or any(state.requires_grad for state in tensors[1:])
        if not tensors or tensors[0].dim() != 3 or self._looks.get(path, 0) >= self.EACH:
            return  # packed sequences have two dimensions
        if not outputs or tensors[0].is_meta:
            return
        read = tensors[0].detach()
        if read.numel() > self.LARGEST or min(read.shape[:2]) < 2 or outputs[0].grad_fn is None:
            return
        self._looks[path] = self._looks.get(path, 0) + 1
        frame = user_frame(2)
        tokens = self._tokens.get(tuple(read.shape[:2]))
        rows = tokens if tokens is not None else _numbered(read, 0 if module.batch_first else 1)
        rows = rows if module.batch_first else rows.T
        ends: list[_Output] = [(each.grad_fn, each.output_nr) for each in outputs]
        # A variable that looks like the sequences' lengths: whole numbers, one for each row.
        variables = locals_of(frame) if frame is not None else {}
        named = [name for name in variables if "len" in name.lower() or name in ("n", "sizes")]
        values = [(name, variables[name]) for name in named if is_a(variables[name], torch.Tensor)]
        lengths = [name for name, each in values if each.shape == (len(rows),) and not each.is_floating_point()]
        known = (lengths[0] if lengths else "", place_of(frame))
        self._reads.append(_Read(path, module, rows, tokens is not None, *known, ends[0], ends[1:]))

    def _look(self, loss: torch.Tensor, frame: FrameType | None) -> None:
        reads, self._reads = self._reads, []
        consumers = nodes_behind(loss.grad_fn) if reads else {}
        for read in reads:
            states = {node for node, _ in read.states}
            if any(taker not in states for taker in _takers(read.output, consumers)):
                steps = read.rows.shape[1]
                used = "last step" if _is_last_only(read.output, steps, consumers, states) else ""
            else:
                # A state that is handed on to another recurrent layer, a decoder's, is another story.
                final = any(_takers(state, consumers) for state in read.states) and not self._has_initial_state
                used = "final state" if final else ""
            if used:
                tell = functools.partial(self._tell, read, used, self.watch.step)
                self.watch.transfer.send(measure_ends(read.rows), tell)

    def _tell(self, read: _Read, used: str, step: int, found: Any) -> None:
        last, ended, in_tails, elsewhere, shortest, longest, _ = found.tolist()
        count, length = read.rows.shape
        taken = last_step_taken(read.call) if used == "last step" else read.call
        self.watch.emit(
            PaddedState(
                read.path, type(read.layer).__name__, used, count, length, read.tokens,
                read.tokens or last == 0, ended, in_tails, elsewhere, int(shortest), int(longest),
                read.lengths, read.layer.batch_first, read.call, taken, step,
            )
        )  # fmt: skip


def _numbered(vectors: torch.Tensor, batch_dim: int) -> torch.Tensor:
    """0 for the vector that ends most sequences, 1 for every other."""
    ends = vectors.select(1 - batch_dim, -1)[:_COMPARED]
    alike = (ends[:, None] == ends[None]).all(-1).sum(1)
    return (vectors != ends[alike.argmax()]).any(-1).long()


def _takers(output: _Output, consumers: Consumers) -> list[Any]:
    return [taker for taker in consumers.get(output[0], ()) if output in taker.next_functions]


def _is_last_only(output: _Output, steps: int, consumers: Consumers, leave_out: set[Any], depth: int = 8) -> bool:
    """Whatever takes this takes its last step alone, in the end."""
    takers = [taker for taker in _takers(output, consumers) if taker not in leave_out]
    return bool(takers) and all(
        _takes_last(taker, steps)
        or (
            op_name(taker) in _PASSING
            and depth > 0
            and _is_last_only((taker, 0), steps, consumers, leave_out, depth - 1)
        )
        for taker in takers
    )


def _takes_last(node: Any, steps: int) -> bool:
    number = {"Select": "_saved_index", "Slice": "_saved_start"}.get(op_name(node))
    sizes = tuple(saved(node, "_saved_self_sym_sizes") or ()) if number else ()
    if number is None or len(sizes) != 3 or sizes.count(steps) != 1:
        return False
    dim, place = int(signed(saved(node, "_saved_dim"))), int(signed(saved(node, number)))
    return sizes[dim] == steps and place in (-1, steps - 1)


# Layers that take the first axis of their input for time, on a few deep steps: what they are given.
class SequenceInputs:
    EACH = 4  # looks at a layer
    LAYERS = 4

    def __init__(self, watch: Watch, forward: Forward) -> None:
        self.watch = watch
        self.roots = forward.roots
        self._looks: dict[str, int] = {}
        forward.on_layer.append(self.see)

    def see(self, path: str, module: nn.Module, arguments: Any) -> None:
        if not isinstance(module, (nn.RNNBase, nn.MultiheadAttention)) or module.batch_first:
            return
        sequence, looks = first_tensor(arguments), self._looks.get(path, 0)
        if sequence is None or sequence.dim() != 3 or looks >= self.EACH:  # a packed sequence has no third dimension
            return
        if looks or len(self._looks) < self.LAYERS:
            self._looks[path] = looks + 1
            root = next((root for root, _ in self.roots.alive() if root.name == path.split(".")[0]), None)
            fed = first_tensor(root.call) if root is not None and root.call is not None else None
            known = (path, type(module).__name__, tuple(sequence.shape), tuple(fed.shape) if fed is not None else ())
            self.watch.emit(SequenceInput(*known, place_of(user_frame(2)), self.watch.step))
