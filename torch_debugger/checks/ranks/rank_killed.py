"""TD801: a rank that was ended by a signal, and the others after it."""

from __future__ import annotations

import signal
from collections.abc import Iterable

from torch_debugger.checks.deliveries import at
from torch_debugger.checks.rank_check import RankCheck
from torch_debugger.checks.rank_states import RankStates
from torch_debugger.records import CollectiveKind, CollectivesFact, Finding, Place, RankEnd, Record
from torch_debugger.records.ranks import ranks_in_words

_MEANINGS = {
    signal.SIGKILL: (
        "SIGKILL leaves no message: most often the system ran out of memory, or a job scheduler or a person "
        "ended that one process.",
        "Ask the system who did it: `dmesg | grep -i kill` on that machine names a process that was killed for "
        "memory. If it was, load less per rank: fewer workers, a smaller batch, no copy of the whole dataset "
        "on every rank.",
    ),
    signal.SIGABRT: (
        "SIGABRT is a program that gives up by itself: native code that found something it cannot go on with, "
        "or the watchdog of a process group after a collective that timed out.",
        "Read the last lines that this rank printed before it ended: the code that gave up says why there.",
    ),
}
_IN_A_COLLECTIVE = (
    "SIGABRT is a program that gives up by itself. The backend of a process group does that when it meets data "
    "of another size than its own: that of another collective, which another rank has called meanwhile.",
    "See that every rank comes to that line, with a tensor of the same size: no collective inside of "
    "`if rank == 0:`. What the backend said of the sizes is among the last lines that this rank printed.",
)
_NATIVE = (
    "That signal is a fault inside native code: a library, an extension or a driver.",
    "Run that rank with `python -X faulthandler`, which prints the Python line at which it happens.",
)


class RankKilled(RankCheck):
    """One rank was ended by a signal, without an exception, and the run with it.

    Symptom:
        torchrun says "Signal 9 (SIGKILL) received by PID", other ranks stop in the middle of a step or say
        "Connection closed by peer", and no traceback tells why.
    Evidence:
        The exit status of that rank, seen by the process that started it: it came before that of any other
        rank that failed, and no exception was met on that rank.
    Fix:
        Find out who sent the signal: the system log for one that ran out of memory, the scheduler's for a limit
        that was reached, faulthandler for a fault in native code.
    Known limits:
        A signal does not say who sent it. When a whole machine is lost, or the processes that watch its ranks
        are killed as well, nobody is left to see the exit status.
    """

    id = "TD801"
    name = "rank-killed"
    title = "a rank was ended by a signal"
    reads = (RankEnd, CollectivesFact)
    explains = ("ranks-disagree", "spawned-process-failed")

    # Sent to ask a process to end: by torchrun to the others when one has failed, by users and schedulers.
    requests = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)

    def __init__(self) -> None:
        self._last: dict[int, CollectivesFact] = {}  # by rank: told before the call is made

    def see_rank(self, rank: int, record: Record, ranks: RankStates) -> Iterable[Finding]:
        if isinstance(record, CollectivesFact):
            self._last[rank] = record
        return ()  # which one was the first is known when all have ended

    def finish_ranks(self, ranks: RankStates) -> Iterable[Finding]:
        failed = ranks.failed()
        if not failed or failed[0] in ranks.crashes:
            return
        end = ranks.ends[failed[0]]
        number = end.exit_code - 128
        if number not in set(signal.Signals) or number in self.requests:
            return
        caught = signal.Signals(number)
        why, fix = _MEANINGS.get(caught, _NATIVE)
        steps = f"after {end.steps:,} step{'' if end.steps == 1 else 's'}"
        call = self._call_in(end) if caught == signal.SIGABRT else None
        if call is not None:
            why, fix = _IN_A_COLLECTIVE
            fix = _move_out(call) or fix
        yield self.finding(
            severity="error",
            confidence=0.95,
            message=f"Rank {end.rank} was ended by signal {number} ({caught.name}) {steps}; "
            f"no exception was met on it{_others(failed[1:])}.{_last_call(call)}",
            why=why,
            fix=fix,
            where=call.place if call is not None and call.place else _last_seen(end.rank, ranks),
            first_step=end.steps,
            last_step=end.steps,
            evidence={"rank": end.rank, "signal": caught.name, "exit_code": end.exit_code, "steps": end.steps},
        )

    def _call_in(self, end: RankEnd) -> CollectiveKind | None:
        """The collective that it had called last, in the step in which it ended."""
        told = self._last.get(end.rank)
        return (
            told.kinds[told.calls[-1]] if told is not None and told.step >= end.steps and told.calls else None
        )


def _last_call(call: CollectiveKind | None) -> str:
    if call is None:
        return ""
    tensor = f" of {call.dtype} {list(call.shape)}" if call.dtype else ""
    if call.condition:
        where = f", under `{call.condition.code}`{at(call.condition)}: not every rank comes there."
    else:
        where = "."
    return f" The last collective that it called was `{call.op}`{tensor}{at(call.place)}{where}"


def _move_out(call: CollectiveKind) -> str:
    """Empty where nothing says that only some ranks come to it."""
    if not call.condition:
        return ""
    return (
        f"Move `{call.op}`{at(call.place)} out of `{call.condition.code}`{at(call.condition)}, so that all "
        "ranks call it; what only one rank should do, such as printing, stays inside."
    )


def _others(followed: list[int]) -> str:
    return f", and {ranks_in_words(followed)} ended after it" if followed else ""


def _last_seen(rank: int, ranks: RankStates) -> Place:
    """The line at which that rank trains; where it was killed before it could be told, that of the others."""
    for state in (ranks.states[rank], *ranks.states.values()):
        sites = sorted(state.sites.values(), key=lambda site: site.step)
        if sites:
            return sites[-1].place
    run = ranks.states[rank].run
    return Place(file=run.script) if run is not None else Place()
