"""A checkpoint against the model or optimizer it was loaded into, and the file it was read from."""

from __future__ import annotations

from dataclasses import dataclass

from torch_debugger.records.layer import LayerFact


@dataclass(frozen=True, slots=True)
class StateEntry:
    """One tensor of a state dict."""

    name: str  # layer1.0.weight
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class InnerState:
    """An entry of a checkpoint that is a state dict itself: checkpoint["model"]"""

    key: str
    entries: tuple[StateEntry, ...]
    of_optimizer: bool = False


@dataclass(frozen=True, slots=True)
class ModelLoad:
    """What a module's load_state_dict was given, and what it wanted."""

    name: str  # as the user calls it: model
    kind: str  # its class: Net, DataParallel
    given: str  # the class of what was given: dict, str, NoneType
    strict: bool = True
    wrapped: str = ""  # the attribute under which a wrapper keeps the model: module, _orig_mod
    wanted: tuple[StateEntry, ...] = ()
    saved: tuple[StateEntry, ...] = ()
    others: tuple[str, ...] = ()  # keys that hold no tensor
    inside: tuple[InnerState, ...] = ()
    of_optimizer: bool = False  # what was given is an optimizer's state
    layers: tuple[LayerFact, ...] = ()  # those whose shapes differ


@dataclass(frozen=True, slots=True)
class OptimizerLoad:
    """What an optimizer's load_state_dict was given, and what it has."""

    name: str
    kind: str  # Adam
    given: str
    keys: tuple[str, ...] = ()
    inside: tuple[str, ...] = ()  # keys that hold an optimizer's state
    of_model: bool = False  # it holds tensors under dotted names: a model's state
    groups: tuple[int, ...] = ()  # parameters in each group of the optimizer
    saved_groups: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class RefusedGlobal:
    """A class or function that a file names and torch.load will not import by itself."""

    name: str  # argparse.Namespace
    user_class: bool = False  # defined in the user's own files
    function: bool = False
    module_class: bool = False  # an nn.Module: a whole model was saved
    written: str = ""  # how the user's line can name it; empty where it needs an import


@dataclass(frozen=True, slots=True)
class StorageLocation:
    """Where a stored tensor was to be put."""

    location: str  # cuda:0
    available: int  # devices of that kind here
    asked: str = ""  # the map_location that the user gave; empty for none
    asked_itself: bool = False  # the location is that map_location and not the file's


@dataclass(frozen=True, slots=True)
class FileFact:
    """A file that was to be read or written, by its size and its first bytes."""

    path: str
    writing: bool = False
    exists: bool = True
    folder: bool = False
    parent_exists: bool = True
    size_bytes: int = 0
    form: str = ""  # empty, cut-zip, html, lfs-pointer, ...; see probes/examiners/file_forms.py
    start: str = ""  # the first characters of a text
    near: tuple[str, ...] = ()  # files of that folder with a similar name
    expected_bytes: int = 0  # of the tensors to write, or as a pointer tells
    free_bytes: int = -1  # of the disk
    buffer: bool = False  # no file: an io.BytesIO of the user's
    os_name: str = ""  # what the user's line calls the os module


@dataclass(frozen=True, slots=True)
class CheckpointEvidence:
    """Each part only where the crash is of its kind."""

    model: ModelLoad | None = None
    optimizer: OptimizerLoad | None = None
    refused: tuple[RefusedGlobal, ...] = ()
    refused_all: bool = False  # these are all in the file; else only the first is known
    location: StorageLocation | None = None
    file: FileFact | None = None
