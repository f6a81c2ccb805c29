"""An exception of the user's script, with everything its frames can tell."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch_debugger.records.evidence import CrashEvidence
from torch_debugger.records.layer import LayerFact
from torch_debugger.records.place import Place
from torch_debugger.records.training import LocalTensor


@dataclass(frozen=True, slots=True)
class LocalValue:
    """A local variable of a user's frame that is no tensor."""

    name: str
    kind: str  # int, list, numpy.ndarray, mypackage.Config
    text: str = ""  # plain numbers, and what the failing statement mentions; never a whole object
    size: int | None = None  # of a container


@dataclass(frozen=True, slots=True)
class CrashFrame:
    """One frame of the traceback, outermost first."""

    file: str
    line: int
    function: str
    code: str
    user: bool  # the user's own code: not torch, not the standard library, not site-packages
    module: str | None  # the path of the nn.Module whose method this is
    kind: str | None  # its class
    tensors: tuple[LocalTensor, ...]
    code_line: int = 0  # where `code`, the whole statement, starts; 0 where that is not known
    failing: str = ""  # the very expression that raised, as ast.unparse writes it; Python 3.11 on
    values: tuple[LocalValue, ...] = ()  # other locals of a user's frame


@dataclass(frozen=True, slots=True)
class FlowStep:
    """A module that ran, with the shapes that went in and came out."""

    path: str
    kind: str
    given: tuple[tuple[int, ...], ...]
    made: tuple[tuple[int, ...], ...]
    time_s: float = 0.0
    depth: int = 0  # nesting: 0 is the root
    made_bytes: int = 0
    parameters: int = 0  # elements, children included
    failed: bool = False  # it raised


@dataclass(frozen=True, slots=True)
class FlowFact:
    """Everything one forward pass ran, callers before what they call."""

    root: str
    steps: tuple[FlowStep, ...]
    step: int
    left_out: int = 0  # modules that ran too, beyond those kept


@dataclass(frozen=True, slots=True)
class CrashFact:
    kind: str  # RuntimeError
    message: str
    frames: tuple[CrashFrame, ...]
    place: Place  # the innermost user frame
    layer: LayerFact | None
    traceback: str  # complete, without frames of ours
    step: int
    flow: tuple[FlowStep, ...] = field(default_factory=tuple)
    qualified: str = ""  # torch.OutOfMemoryError
    bases: tuple[str, ...] = ()  # the names of its classes, itself first: OutOfMemoryError, RuntimeError, ...
    attributes: dict[str, str | int] = field(default_factory=dict)  # what it carries: errno, name, key
    causes: tuple[CrashFact, ...] = ()  # what it was raised from, or while handling; the nearest first
    raised_from: bool = False  # by an explicit `raise ... from`
    evidence: CrashEvidence = field(default_factory=CrashEvidence)
    pasted: bool = False  # read from the text of a traceback: no tensors, no values, no objects
