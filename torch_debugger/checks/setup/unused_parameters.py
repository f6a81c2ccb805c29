"""TD115: layers that are made and given to the optimizer, and whose results nobody uses."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.cycle_streaks import line_of
from torch_debugger.checks.state import RunState
from torch_debugger.checks.unreached_parts import UnreachedParts, by_line, size
from torch_debugger.records import Edit, Finding, LedgerFact, Place, Record, TensorRows, UnreachedPart


class UnusedParameters(Check):
    """A layer is made and given to the optimizer, but the model never uses it, or drops its result.

    Symptom:
        The model trains, and is another one than was written down: a layer is missing, often because its
        neighbour is called twice.
    Evidence:
        In no look of the run did the layer get a gradient, and the source agrees: no line outside the
        constructor reads the attribute; or it is called and no line reads what it returned.
    Fix:
        Call the layer in `forward`, or use its result; remove it if it is not wanted.
    Known limits:
        Only classes of the user's own are read. A layer that any line mentions (a branch, a head for later,
        a loop over `children()`, `getattr` with a computed name) is not reported, whether it runs or not.
    """

    id = "TD115"
    name = "unused-parameters"
    title = "a layer is made and never used"
    reads = (UnreachedPart, LedgerFact, TensorRows)

    # Structural, for any optimizer.
    looks_needed = 3

    def __init__(self) -> None:
        self._unreached = UnreachedParts()

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        self._unreached.see(record)
        return ()

    def finish(self, state: RunState) -> Iterable[Finding]:
        seen = self._unreached
        known = seen.left() if seen.looks >= self.looks_needed else []
        for part, others in by_line([part for part in known if part.reason in ("never read", "dropped")]):
            yield self._judge(part, others, state)

    def _judge(self, part: UnreachedPart, others: int, state: RunState) -> Finding:
        name = part.part.rpartition(".")[2]
        twice = bool(part.instead)
        return self.finding(
            severity="error" if twice else "warning",
            confidence=0.95 if twice else 0.9 if part.reason == "never read" else 0.85,
            message=f"{size(part, others)} {_what(part, name)}, so it is never trained and changes no output.",
            why=(
                f"A layer takes part in the model only where `forward` uses its result. {_where_made(part)}"
                "The optimizer holds it, and no gradient has reached it in "
                f"{self._unreached.looks} looks."
            ),
            fix=_fix(part, name),
            where=Place(part.cut.file, part.cut.line, part.part, part.cut.code),
            first_step=1,
            last_step=max(part.step, state.step),
            evidence={
                "part": part.part,
                "elements": float(part.elements),
                "reason": part.reason,
                **({"called_twice": part.instead} if twice else {}),
            },
            edit=_edit(part, name),
        )


def _what(part: UnreachedPart, name: str) -> str:
    if part.reason == "dropped":
        return f"runs, and nobody uses the result of `{part.cut.code}`{line_of(part.cut)}"
    if part.instead:
        return f"is never called, while `{part.instead}` is called again{line_of(part.cut)}"
    return f"is made{line_of(part.cut)} and no line of the model uses `{name}`"


def _where_made(part: UnreachedPart) -> str:
    return f"`{part.part}` is made{line_of(part.place)}. " if part.place.file else ""


def _fix(part: UnreachedPart, name: str) -> str:
    if part.reason == "dropped":
        return f"Use the result of `{part.cut.code}`{line_of(part.cut)} in what follows, or remove the layer."
    if part.instead:
        return f"Call `self.{name}` instead of `self.{part.instead}`{line_of(part.cut)}."
    return f"Use `self.{name}` in `forward`, or remove the line that makes it{line_of(part.cut)}."


def _edit(part: UnreachedPart, name: str) -> Edit | None:
    place, old = part.cut, f"self.{part.instead}("
    if not part.instead or place.file is None or place.line is None or (place.code or "").count(old) != 1:
        return None
    return Edit(place.file, place.line, place.code or "", (place.code or "").replace(old, f"self.{name}("))
