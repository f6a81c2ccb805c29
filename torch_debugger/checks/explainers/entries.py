"""Where the user's code enters the model and its layers, and with what."""

from __future__ import annotations

from dataclasses import dataclass

from torch_debugger.checks.explainers.statements import Change, Statement, statement_at, statement_of
from torch_debugger.records import CrashFact, LayerFact, LocalTensor


@dataclass(frozen=True, slots=True)
class Entry:
    """The user's outermost call of a module."""

    statement: Statement
    module: str  # its path
    inputs: tuple[LocalTensor, ...]

    def change(self, pattern: str) -> Change:
        """Write `pattern` ("{}.unsqueeze(0)") around the first argument."""
        return self.statement.change([self.module.rpartition(".")[2]], pattern)


def model_entry(crash: CrashFact) -> Entry | None:
    for frame, inner in zip(crash.frames, crash.frames[1:], strict=False):
        if frame.user and not inner.user and inner.module is not None:
            given = tuple(item for item in inner.tensors if item.name.startswith(("args[", "kwargs[")))
            return Entry(statement_of(frame, inner.module), inner.module, given)
    return None


def straight_from_data(crash: CrashFact, layer: LayerFact) -> bool:
    """Whether a layer's input is what the model was called with, and no other layer's output."""
    entry = model_entry(crash)
    if entry is None or not layer.inputs:
        return False
    shape = layer.inputs[0].shape
    given = {tensor.shape for tensor in entry.inputs}
    return shape in given and not any(shape in step.made for step in crash.flow)


def change_input(
    crash: CrashFact, layer: LayerFact, pattern: str, position: int = 0, keyword: str = "", after: str = ""
) -> Change:
    """Write `pattern` around an argument of the layer's call, and `after` behind it."""
    if not _is_given(crash, layer, position):
        behind = f" and write `{after}` behind it" if after else ""
        return Change(f"give it `{pattern.format('x')}`{behind}", None, layer.call)
    names = list(reversed((layer.path or "").split(".")))  # where a container makes the call: its owner's
    return statement_at(crash, layer.call).change(names, pattern, position, keyword, after)


def _is_given(crash: CrashFact, layer: LayerFact, position: int) -> bool:
    """Whether the user's line gives the layer its input itself, or a container that hands it on as it is."""
    for frame, inner in zip(crash.frames, crash.frames[1:], strict=False):
        if frame.user and (frame.file, frame.line) == (layer.call.file, layer.call.line) and not inner.user:
            given = [tensor.shape for tensor in inner.tensors if tensor.name == "args[0]"]
            return inner.module == layer.path or (position == 0 and given == [layer.inputs[0].shape])
    return False
