"""A torch layer, what it was built with, and the lines that build it."""

from __future__ import annotations

from dataclasses import dataclass

from torch_debugger.records.place import Place
from torch_debugger.records.training import LocalTensor


@dataclass(frozen=True, slots=True)
class WrittenNumber:
    """The one place of a file that gives a name its number."""

    name: str
    value: int
    place: Place
    text: str  # HIDDEN = 32, "hidden": 32, hidden=32
    uses: int  # how often the file reads the name


@dataclass(frozen=True, slots=True)
class Construction:
    """How the user's source builds a module: the call, and the function it stands in."""

    place: Place  # the constructing lines, all of them
    maker: str = ""  # the user's function or class whose body holds them: double_conv
    scope: str = ""  # that function's source
    numbers: tuple[WrittenNumber, ...] = ()  # behind the names that the lines mention


@dataclass(frozen=True, slots=True)
class LayerFact:
    """The torch layer that was running when the script crashed."""

    path: str | None  # net.fc1
    kind: str  # Linear
    settings: dict[str, int | float | str]  # in_features, out_features, kernel_size, ...
    place: Place  # the line that constructs it
    call: Place  # the user's line that called it
    inputs: tuple[LocalTensor, ...]
    parameters: tuple[LocalTensor, ...]
    constructions: tuple[Construction, ...] = ()  # of the layer, then of the modules around it
    ran_before: bool = False  # its parameters have gradients: it went through a forward and a backward
    user_class: str = ""  # the user's own subclass that it is: MaskedLinear
    user_arguments: tuple[str, ...] = ()  # what that class's own constructor takes
