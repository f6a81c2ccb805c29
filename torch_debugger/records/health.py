"""How layers and loops fare on a deep step: what saturates, what is the same, what is kept too long."""

from __future__ import annotations

from dataclasses import dataclass

from torch_debugger.records.place import Place


@dataclass(frozen=True, slots=True)
class KeptGraphs:
    """A variable of the user's that keeps the autograd graphs of earlier steps alive."""

    name: str  # losses, self.losses, history['loss'], total_loss
    form: str  # container | sum
    count: int  # tensors with a graph in it, or additions in the graph of the sum
    since: int  # the step at which its oldest tensor was first seen there; of a sum the first look
    scalar: bool  # its tensors have one element each
    place: Place  # the statement that adds to it
    added: str  # and what that adds: loss
    step: int


@dataclass(frozen=True, slots=True)
class TwinUnits:
    """Weight matrices whose units are all alike before an update of a deep step."""

    optimizer: str
    step: int
    alike: tuple[str, ...]  # with gradients that are alike too: the update keeps them so
    silent: tuple[str, ...]  # with gradients of exactly zero
    matrices: int  # that the optimizer holds and that have gradients
    place: Place  # the line that fills them, if it can be told
