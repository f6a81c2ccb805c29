"""TD103: layers in a plain list or dict, which PyTorch cannot see."""

from __future__ import annotations

import re
from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.state import RunState
from torch_debugger.records import Edit, Finding, LedgerFact, Place, Record, StrayModuleFact

_HOLDERS = {"list": "ModuleList", "tuple": "ModuleList", "dict": "ModuleDict"}


class ModuleInPythonList(Check):
    """Layers are kept in a plain Python list, tuple or dict.

    Symptom:
        The model trains, but some layers never learn; `model.parameters()`, `state_dict()`,
        `.to(device)` and `train()`/`eval()` leave them out, and a loaded checkpoint gives other results.
    Evidence:
        forward() calls modules with trainable parameters that `named_modules()` of their owner does
        not reach, and no optimizer holds those parameters.
    Fix:
        Use `nn.ModuleList` instead of a list, `nn.ModuleDict` instead of a dict (its keys are strings).
    Known limits:
        Modules in containers of the script's own making are not traced. A plain list whose parameters
        are handed to an optimizer one by one is not reported. A list of one module is only noted: that is
        also the usual way to keep a teacher out of state_dict().
    """

    id = "TD103"
    name = "module-in-python-list"
    title = "layers in a plain list or dict are not part of the model"
    reads = (StrayModuleFact, LedgerFact)
    explains = ("parameters-not-in-optimizer", "tensor-on-wrong-device", "lr-too-high")

    def __init__(self) -> None:
        self._strays: dict[tuple[str, str], StrayModuleFact] = {}  # (owner, attribute), told last
        self._reported: set[tuple[str, str]] = set()

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, StrayModuleFact):
            self._strays[record.owner, record.attribute] = record
        elif isinstance(record, LedgerFact) and record.optimizers:
            # By now every optimizer of a step has told what it holds.
            for key, stray in self._strays.items():
                if key not in self._reported and _is_left_out(stray, state):
                    self._reported.add(key)
                    yield self._judge(stray, state.step)

    def finish(self, state: RunState) -> Iterable[Finding]:
        for stray in self._strays.values():
            if state.optimizers and _is_left_out(stray, state):
                yield self._judge(stray, state.step)

    def _judge(self, record: StrayModuleFact, step: int) -> Finding:
        holder = _HOLDERS[record.container]
        attribute = f"{record.owner}.{record.attribute}"
        line = f" at {record.place.file}:{record.place.line}" if record.place.file else ""
        kinds = ", ".join(dict.fromkeys(record.kinds))
        return self.finding(
            severity="error" if len(record.kinds) > 1 else "note",
            confidence=0.95 if len(record.kinds) > 1 else 0.5,
            message=(
                f"`{attribute}` is a plain {record.container} of layers ({kinds}), so {record.parameters:,} "
                f"trainable values are not part of the model and no optimizer holds them."
            ),
            why=(
                f"A module finds its children by its attributes; it does not look into a {record.container}. "
                "So parameters(), state_dict() and to(device) leave these layers out, and they keep their "
                "random start values."
            ),
            fix=f"Make `self.{record.attribute}` an `nn.{holder}`{line}.",
            where=Place(record.place.file, record.place.line, attribute, record.place.code),
            first_step=record.step,
            last_step=max(record.step, step),
            evidence={
                "container": record.container,
                "parameters": float(record.parameters),
                "in_optimizer": float(record.in_optimizer),
                "kinds": kinds,
            },
            edit=_edit(record, holder),
        )


def _is_left_out(stray: StrayModuleFact, state: RunState) -> bool:
    if stray.container not in _HOLDERS or stray.parameters <= 0 or stray.in_optimizer > 0:
        return False
    start = f"{stray.owner}.{stray.attribute}["
    held = (name for one in state.optimizers.values() for name in one.parameters)
    return not any(name.startswith(start) for name in held)


def _edit(record: StrayModuleFact, holder: str) -> Edit | None:
    """`self.x = [...]` complete on one line becomes `self.x = nn.ModuleList([...])`."""
    code = record.place.code or ""
    written = re.fullmatch(rf"(self\.{re.escape(record.attribute)}\s*(?::[^=]+)?=\s*)([\[({{].*[\])}}])", code)
    if written is None or record.place.file is None or record.place.line is None:
        return None
    start, value = written.groups()
    namespace = "torch.nn" if "torch.nn." in value else "nn"
    inside = "" if value in ("[]", "()", "{}") else value
    return Edit(record.place.file, record.place.line, code, f"{start}{namespace}.{holder}({inside})")
