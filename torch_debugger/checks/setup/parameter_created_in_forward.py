"""TD120: a forward pass makes layers or parameters, new and random ones each time."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.cycle_streaks import call_at, line_of
from torch_debugger.checks.state import RunState
from torch_debugger.records import Finding, FreshParameter, Record


class ParameterCreatedInForward(Check):
    """A layer or parameter is made inside forward(), so every pass has another one, at random.

    Symptom:
        The loss falls a little and stays noisy; two passes over the same input give different results; the
        model behaves differently after it has been saved and loaded.
    Evidence:
        On several sampled steps in a row the loss depended on parameters that no optimizer holds and that were
        other objects each time, and the forward() of a class of the model makes some.
    Fix:
        Make the layer once, in `__init__`, and call it in `forward`.
    Known limits:
        Only classes of the user's own are read. A layer that is made at its first use and kept is not
        reported here: it is the same object afterwards.
    """

    id = "TD120"
    name = "parameter-created-in-forward"
    title = "forward makes new parameters at every pass"
    reads = (FreshParameter,)
    explains = ("parameter-replaced", "parameters-not-in-optimizer", "module-in-python-list", "lr-too-high")

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        assert isinstance(record, FreshParameter)
        return [
            self.finding(
                severity="error",
                confidence=0.95,
                message=(
                    f"forward() of {record.owner} makes new parameters at every pass: "
                    f"{call_at(record.place, record.maker)} gave {record.elements:,} values that were "
                    f"other objects on each of {record.looks} looks."
                ),
                why=(
                    "What forward() makes is random, used once and thrown away. No optimizer can hold it, so "
                    "it never learns, and each pass computes another function."
                ),
                fix=(
                    f"Move `{record.maker}(...)`{line_of(record.place)} to `{record.owner}.__init__`, as "
                    "`self.<name> = ...`, and only call it in forward."
                ),
                where=record.place,
                first_step=max(1, record.step - record.looks + 1),
                last_step=record.step,
                evidence={
                    "owner": record.owner,
                    "maker": record.maker,
                    "values": float(record.elements),
                    "looks": float(record.looks),
                },
            )
        ]
