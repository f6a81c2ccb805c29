"""`torch-debugger` with a status line ten times a second and a catalog of one: a loss above 100 is
an error, and a negative one a note. Asks for a closer look when it finds the error."""

import sys

import standing  # noqa: F401  the session, also in a fork

from torch_debugger.checks import catalog, judge
from torch_debugger.checks.base import Check
from torch_debugger.cli import main
from torch_debugger.records import Place, Request, Scalars
from torch_debugger.runner.status import LiveRow, PlainStatus


class LossTooLarge(Check):
    """A check for these tests."""

    id = "TD599"
    name = "loss-too-large"
    title = "The loss is too large"
    reads = (Scalars,)

    def see(self, record, state):
        loss = record.values["loss"]
        if 0 <= loss <= 100:
            return
        yield self.finding(
            severity="error" if loss > 100 else "note",
            confidence=1.0,
            message=f"The loss was {loss:g} at step {record.step}.",
            why="It is above 100.",
            fix="Make it smaller.",
            where=Place("train.py", 3 if loss > 100 else 4),
            steps=(record.step, record.step),
            evidence={"loss": loss},
            request=Request(5, (), "a closer look"),
        )


catalog.catalog = judge.catalog = lambda: (LossTooLarge,)
PlainStatus.every_s = LiveRow.every_s = 0.1
sys.exit(main())
