"""A condition of the user's own that ended the script, and the values that met in it."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch_debugger.records.nonfinite import Operand
from torch_debugger.records.place import Place


@dataclass(frozen=True, slots=True)
class AssertionEvidence:
    test: str  # the part that failed, as the line has it: x.shape[1:] == (1, 28, 28)
    asserted: bool  # by an assert; else the `if` around a raise was true
    left: str = ""  # of a comparison: the expression and its value; empty where it is none
    left_value: str = ""
    operation: str = ""  # ==, <, is
    right: str = ""
    right_value: str = ""
    sizes: tuple[int, ...] = ()  # of two shapes that were compared: the one that is
    wanted: tuple[int, ...] = ()  # and the one that was asked for
    first: int = 0  # the dimension at which those begin
    tensor: str = ""  # the name of the tensor that the condition is about
    shape: tuple[int, ...] = ()
    numbers: Operand | None = None  # of that tensor, where it is on the CPU
    made: Place = field(default_factory=Place)  # the line that gave it its value
