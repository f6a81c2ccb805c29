"""TD218: a layer that wants time first is given the batch first."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.deliveries import at
from torch_debugger.checks.state import RunState
from torch_debugger.records import (
    BatchLook,
    Edit,
    Finding,
    ModuleFact,
    Place,
    Record,
    SequenceInput,
    TargetLook,
)


class BatchAxisTakenForTime(Check):
    """A recurrent or attention layer without `batch_first=True` is given [batch, time, features].

    Symptom:
        The shapes fit and the loss falls somewhat, but the model stays far below what it should reach, and
        what it says about a sample depends on the other samples of the batch.
    Evidence:
        The layer takes the first axis for time. That axis has the size of the batch: one target for each of
        its places, or the batch size of the loader that is trained on; the second axis has another size.
    Fix:
        Make the layer with `batch_first=True`, or give it `x.transpose(0, 1)`.
    Known limits:
        Where batch and sequences are equally long nothing can be told, nor with one sequence a batch.
    """

    id = "TD218"
    name = "batch-axis-taken-for-time"
    title = "a layer takes the batch for time"
    reads = (SequenceInput, TargetLook, BatchLook)

    looks_needed = 2  # on different steps
    waiting = 16  # looks, for the targets of their step: a device tells them later

    def __init__(self) -> None:
        self._inputs: deque[SequenceInput] = deque(maxlen=self.waiting)
        self._trained: set[int] = set()  # loaders
        self._steps: dict[str, list[int]] = {}
        self._cleared: set[str] = set()  # layers that do get time first
        self._reported: set[str] = set()  # models

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, SequenceInput):
            self._inputs.append(record)
        elif isinstance(record, BatchLook):
            self._trained |= {record.loader} if record.trained else set()
        elif isinstance(record, TargetLook):
            for look in [look for look in self._inputs if look.step == record.step]:
                self._inputs.remove(look)
                yield from self._compare(look, record.shape, state)

    def _compare(self, look: SequenceInput, targets: tuple[int, ...], state: RunState) -> Iterable[Finding]:
        first, second = look.shape[:2]
        one_each = len(targets) == 1 or targets[1:] == (1,)
        batch = targets[0] if one_each else self._batch_size(state)
        if batch == second:
            self._cleared.add(look.layer)
        if batch != first or second in (1, first) or look.fed[:1] != (first,) or look.layer in self._cleared:
            return
        steps = self._steps.setdefault(look.layer, [])
        steps.append(look.step)
        root = look.layer.split(".")[0]
        if len(set(steps)) >= self.looks_needed and root not in self._reported:
            self._reported.add(root)
            yield self._judge(look, steps[0], state)

    def _batch_size(self, state: RunState) -> int | None:
        """Of the loader that is trained on; where there is one, or all agree."""
        sizes = {fact.batch_size for number in self._trained if (fact := state.loaders.get(number)) is not None}
        return sizes.pop() if len(sizes) == 1 else None

    def _judge(self, look: SequenceInput, first: int, state: RunState) -> Finding:
        batch, steps, size = look.shape
        module = _maker(look.layer, state)
        where = module.place if module is not None else look.call
        return self.finding(
            severity="error",
            confidence=0.92,
            message=(
                f"`{look.layer}` ({look.kind}) is given {list(look.shape)}{at(look.call)} and takes the first "
                f"axis for time, but that is the batch: it runs over the {batch} samples as if they were steps."
            ),
            why=(
                f"Without `batch_first=True` {look.kind} reads [time, batch, features]. Here it mixes the "
                f"samples of a batch with each other, and the {steps} steps of a sequence know nothing of each "
                "other."
            ),
            fix=(
                f"Make `{look.layer}`{at(where)} with `batch_first=True`, or give it "
                f"`x.transpose(0, 1)`{at(look.call)} and read its output as [time, batch, features]."
            ),
            where=where,
            first_step=first,
            last_step=look.step,
            evidence={"batch": float(batch), "steps": float(steps), "features": float(size)},
            edit=_edit(where, look.kind),
        )


def _maker(path: str, state: RunState) -> ModuleFact | None:
    """The module itself, or the nearest one around it whose line is known."""
    while path:
        module = state.module(path)
        if module is not None and module.place.file:
            return module
        path = path.rpartition(".")[0]
    return None


def _edit(place: Place, kind: str) -> Edit | None:
    code = place.code or ""
    whole = (
        code.endswith(")")
        and code.count(f"{kind}(") == 1
        and code.count("(") == 1
        and "batch_first" not in code
    )
    if not whole or place.file is None or place.line is None:
        return None
    return Edit(place.file, place.line, code, f"{code[:-1]}, batch_first=True)")
