"""What a check of a custom autograd Function's gradient found."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch_debugger.records.place import Place


@dataclass(frozen=True, slots=True)
class GradientCheckFact:
    """A custom Function, checked once on copies of the inputs it met in training."""

    function: str  # Cube
    outcome: str  # right | wrong | deliberate | unchecked
    place: Place  # its backward
    step: int
    inputs: str = ""  # x [4, 5], weight [3, 5]
    input: str = ""  # the one with a wrong gradient; empty where nothing was compared
    element: str = ""  # x[2, 3]
    output_element: str = ""  # output[0, 1]
    analytical: float = 0.0
    numerical: float = 0.0
    relative_error: float = 0.0
    pattern: str = ""  # missing-factor
    words: str = ""  # what is wrong, or why it could not be checked
    advice: str = ""
    others: tuple[str, ...] = field(default=())  # further inputs with a wrong gradient
    ended: bool = False  # the script's own gradcheck had found it and ended the script
