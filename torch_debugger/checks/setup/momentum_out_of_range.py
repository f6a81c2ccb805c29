"""TD141: momentum or betas that cannot be meant."""

from __future__ import annotations

import re
from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.schedules import at_line
from torch_debugger.checks.state import RunState
from torch_debugger.records import Edit, Finding, OptimizerFact, Record

_BETAS = re.compile(r"betas\s*=\s*[(\[]\s*([\d.e-]+)\s*,\s*([\d.e-]+)\s*[)\]]")


class MomentumOutOfRange(Check):
    """An optimizer's momentum is 1 or more, its betas are swapped, or its rate and momentum are.

    Symptom:
        The loss swings wider and wider or goes to NaN (momentum of 1 and more), or the first steps go far in
        the wrong direction and the rest is slow (swapped betas).
    Evidence:
        The settings of the optimizer as it stepped: momentum of at least 1; the first beta far above the
        second; a rate of 0.9 beside a momentum of a hundredth.
    Fix:
        Momentum belongs below 1, 0.9 is usual. Adam's betas are (0.9, 0.999): the second, of the squares, is
        the longer memory.
    Known limits:
        Small first betas (0 or 0.5, as GANs use them) and equal betas are fine and not reported.
    """

    id = "TD141"
    name = "momentum-out-of-range"
    title = "momentum or betas have values that cannot be meant"
    reads = (OptimizerFact,)
    explains = (
        "lr-too-high",
        "loss-not-finite",
        "overflow-ahead",
        "dead-relu",
        "vanishing-gradient",
        "exploding-gradient",
    )

    # For Adam and its kin: the mean needs the shorter memory. (0.95, 0.9) has been used, more has not.
    betas_apart = 0.06
    # A momentum of these sizes is a learning rate, beside a rate that is a momentum.
    rates_like_momentum = (0.9, 0.95, 0.99)
    momentum_like_rate = 0.1

    def __init__(self) -> None:
        self._reported: set[str] = set()

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        assert isinstance(record, OptimizerFact)
        for group in record.groups:
            story = self._story(group, record)
            if story is not None and record.name not in self._reported:
                self._reported.add(record.name)
                yield self._found(record, group, *story)

    def _story(self, group: dict[str, float], optimizer: OptimizerFact) -> tuple[str, str, str] | None:
        """What is wrong, why that is wrong, and what to write instead."""
        momentum, rate = group.get("momentum", 0.0), group.get("lr", 0.0)
        if momentum >= 1.0:
            return (
                f"a momentum of {momentum:g}",
                "With momentum m a gradient counts 1 + m + m² + ... times in all: without end for m of 1 and "
                "more.",
                "Set `momentum=0.9`",
            )
        first, second = group.get("beta1", 0.0), group.get("beta2", 1.0)
        if optimizer.kind != "Adafactor" and first > second + self.betas_apart:
            return (
                f"betas of ({first:g}, {second:g})",
                "The first beta is the memory of the mean, the second that of the squares it is divided by. "
                "With the shorter one second the steps follow old gradients and are scaled by the last few.",
                f"Set `betas=({second:g}, {first:g})`",
            )
        if rate in self.rates_like_momentum and 0.0 < momentum <= self.momentum_like_rate:
            return (
                f"a learning rate of {rate:g} and a momentum of {momentum:g}",
                "The two look as if they had changed places.",
                f"Set `lr={momentum:g}, momentum={rate:g}`",
            )
        return None

    def _found(
        self, optimizer: OptimizerFact, group: dict[str, float], what: str, why: str, advice: str
    ) -> Finding:
        certain = group.get("momentum", 0.0) >= 1.0
        return self.finding(
            severity="error" if certain else "warning",
            confidence=0.97 if certain else 0.88,
            message=f"`{optimizer.name}` ({optimizer.kind}{at_line(optimizer.place)}) has {what}.",
            why=why,
            fix=f"{advice} in `{optimizer.name}`{at_line(optimizer.place)}.",
            where=optimizer.place,
            first_step=optimizer.step,
            last_step=optimizer.step,
            evidence={key: group[key] for key in ("lr", "momentum", "beta1", "beta2") if key in group},
            edit=_edit(optimizer),
        )


def _edit(optimizer: OptimizerFact) -> Edit | None:
    place = optimizer.place
    written = _BETAS.search(place.code or "")
    if written is None or place.file is None or place.line is None or place.code is None:
        return None
    swapped = f"betas=({written.group(2)}, {written.group(1)})"
    return Edit(place.file, place.line, place.code, place.code.replace(written.group(0), swapped, 1))
