"""A check that sees several ranks: an entry of the catalog like any other, asked by the judge of all ranks."""

from __future__ import annotations

import abc
from collections.abc import Iterable
from typing import ClassVar

from torch_debugger.checks.base import Check
from torch_debugger.checks.rank_states import RankStates
from torch_debugger.checks.state import RunState
from torch_debugger.records import Finding, Record


class RankCheck(Check):
    """Records of all ranks in, findings out. It is asked only where there is more than one rank: what
    was logged before the second was heard of is handed to it then. Between ranks there is no order but that
    of steps and of the times that records carry: one rank's log may be read long before another's."""

    alone: ClassVar[bool] = False  # asked as well about a program of one process, by `see`

    @abc.abstractmethod
    def see_rank(self, rank: int, record: Record, ranks: RankStates) -> Iterable[Finding]:
        """Judge one record of a class named in `reads`, made on this rank. `ranks` already includes it."""

    def finish_ranks(self, ranks: RankStates) -> Iterable[Finding]:
        """Judge what only the end of all ranks can tell."""
        return ()

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        """One rank by itself tells it nothing."""
        return ()

    def finish(self, state: RunState) -> Iterable[Finding]:
        return ()
