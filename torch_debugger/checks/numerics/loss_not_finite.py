"""TD601: the first NaN or Inf, and the operation that made it."""

from __future__ import annotations

import math
from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.explainers.nonfinite.telling import tell
from torch_debugger.checks.explainers.nonfinite.wording import described
from torch_debugger.checks.state import RunState
from torch_debugger.records import Finding, NonFinite, Place, Record, Scalars


class LossNotFinite(Check):
    """The loss, a gradient or a weight became NaN or Inf.

    Symptom:
        The loss prints `nan` or `inf`; from then on every weight is NaN and nothing is learned.
    Evidence:
        The step is run again op by op: the first op whose result was not finite although its inputs
        were, forward or backward, with its line, its module, and the operands' numbers that show why. Or
        the rows of the batch and the samples of the dataset that were not finite to begin with, or the
        update that made the weights so.
    Fix:
        Keep the op inside its domain: the edit of the line is offered where it is plain (log, sqrt and
        division at 0, exp of large numbers, masked rows, the mean of nothing). Clean the data, or lower
        the learning rate where values grew step by step.
    Known limits:
        With a `GradScaler` a gradient that is not finite is reported only if the loss follows it: such
        steps are skipped by design. Where the step could not be run again, as on a GPU that is not waited
        for, the op is not known and the confidence is lower; `--on-nan stop` looks at every step.
    """

    id = "TD601"
    name = "loss-not-finite"
    title = "the loss became NaN or Inf"
    explains = ("values-not-finite", "output-not-finite", "assertion-failed")
    reads = (NonFinite, Scalars)

    # The replay that names the operation needs some steps' time; after that the bare fact is reported.
    steps_to_wait = 5

    def __init__(self) -> None:
        self._fact: NonFinite | None = None
        self._lost: tuple[int, float] | None = None  # step and value of the first loss that was not finite
        self._reported = False

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, NonFinite):
            self._keep(record)
        elif isinstance(record, Scalars):
            loss = record.values.get("loss", 0.0)
            if self._lost is None and not math.isfinite(loss):
                self._lost = (record.step, loss)
        if not self._reported and (self._fact is not None or self._lost is not None):
            yield from self._report(state, ended=False)

    def _keep(self, fact: NonFinite) -> None:
        """The first, unless it stayed without consequence: then a later one has its own cause."""
        if self._fact is None or fact.step > self._fact.step + self.steps_to_wait:
            self._fact = fact

    def finish(self, state: RunState) -> Iterable[Finding]:
        if not self._reported:
            yield from self._report(state, ended=True)

    def _report(self, state: RunState, ended: bool) -> Iterable[Finding]:
        fact = self._fact
        if fact is not None and self._is_confirmed(fact):
            self._reported = True
            yield self._explained(fact, state)
        elif fact is not None and ended and fact.step >= state.step:
            yield self._explained(fact, state)  # the run ended before the loss could follow
        elif self._lost is not None and (ended or state.step >= self._lost[0] + self.steps_to_wait):
            self._reported = True
            yield self._bare(*self._lost, state)

    def _is_confirmed(self, fact: NonFinite) -> bool:
        """A gradient must be followed by the loss, for GradScaler drops bad ones by design, unless there is
        no scaler and it was seen to be made in backward: then the update makes NaN of the weights."""
        if fact.what != "gradient":
            return True
        made = fact.origin is not None and fact.origin.phase == "backward" and fact.how in ("step", "model")
        if not fact.scaled and (made or fact.policy != "report"):
            return True
        return self._lost is not None and self._lost[0] <= fact.step + self.steps_to_wait

    def _explained(self, fact: NonFinite, state: RunState) -> Finding:
        confirmed = self._is_confirmed(fact)
        story = tell(fact, state.optimizers.get(fact.optimizer))
        return self.finding(
            severity="error" if confirmed else "warning",
            confidence=_confidence(fact) if confirmed else 0.6,
            message=story.proof,
            why=story.why,
            fix=story.fix,
            where=_where(fact),
            first_step=fact.step,
            last_step=fact.step,
            evidence=_evidence(fact),
            edit=story.edit,
        )

    def _bare(self, step: int, value: float, state: RunState) -> Finding:
        site = next(iter(state.sites.values()), None)
        before = [point for point in state.losses.finite() if point[0] < step]
        last = f"; the last finite loss was {before[-1][1]:.4g} at step {before[-1][0]}" if before else ""
        return self.finding(
            severity="error",
            confidence=0.7,
            message=f"The loss became {value} at step {step}{last}.",
            why="What made it could not be seen: no closer look at that step was possible.",
            fix="Look at the operations that can leave the range of numbers: log, sqrt, division, exp. "
            "If the loss grew before, lower the learning rate.",
            where=site.place if site else Place(),
            first_step=step,
            last_step=step,
            evidence={"what": "loss", "value": str(value), "op": "unknown"},
        )


def _confidence(fact: NonFinite) -> float:
    origin = fact.origin
    if origin is None or fact.how == "late":
        return 0.7
    if fact.how == "anomaly":
        return 0.85
    if origin.op is not None or origin.phase in ("input", "weights"):
        return 0.9 if fact.how == "graph" else 0.97
    return 0.85 if origin.module is not None else 0.7


def _where(fact: NonFinite) -> Place:
    origin = fact.origin
    place = origin.place if origin is not None and origin.place.file else fact.site
    return Place(place.file, place.line, origin.module if origin is not None else None, place.code)


def _evidence(fact: NonFinite) -> dict[str, float | str]:
    origin = fact.origin
    evidence: dict[str, float | str] = {
        "what": fact.what,
        "value": fact.value,
        "phase": origin.phase if origin else "unknown",
        "op": origin.op or "unknown" if origin else "unknown",
        "how": fact.how or "not traced",
    }
    operands = origin.operands if origin else ()
    told = [described(operand, operand.name or f"operand {index}") for index, operand in enumerate(operands, 1)]
    more = {"operands": "; ".join(told), "parameters": ", ".join(fact.parameters[:5])}
    return evidence | {key: text for key, text in more.items() if text} | fact.update
