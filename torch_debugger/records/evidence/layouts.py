"""How tensors were laid out where that, and not their sizes, ended the script."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch_debugger.records.place import Place


@dataclass(frozen=True, slots=True)
class ViewEvidence:
    """A view of a tensor whose elements do not lie in memory in the order of its dimensions."""

    expression: str  # x.view(b, -1), as ast.unparse writes it
    tensor: str  # what it is a view of: x, out.transpose(1, 2)
    shape: tuple[int, ...] | None  # None where the tensor is gone, as that of (a @ b).transpose(1, 2)
    asked: tuple[int, ...] | None  # the sizes of the view, where they can be worked out
    operation: str = ""  # the part of the source that reordered it: x.permute(0, 2, 1)
    made: Place = field(default_factory=Place)  # the statement of that part, where it is another one
    channels_last: bool = False


@dataclass(frozen=True, slots=True)
class PackingEvidence:
    """Padded sequences and their lengths, as pack_padded_sequence was given them."""

    place: Place  # the user's whole statement
    call: str  # the call in it, as ast.unparse writes it
    shape: tuple[int, ...]  # of the padded sequences
    batch_first: bool
    enforce_sorted: bool
    count: int  # of lengths
    device: str  # of the lengths
    lowest: int | None = None  # of the lengths, where they are on the CPU
    highest: int | None = None
    descending: bool | None = None
    empty: int = 0  # how many lengths are 0 or less
    layer: str = ""  # the recurrent layer that crashed; empty for a crash while packing
