"""Ranks that were killed, left early, or crashed while the others wait."""

from __future__ import annotations

import signal
from collections.abc import Iterable

from torch_debugger.checks.base import at_line
from torch_debugger.checks.hangs import (
    GONE,
    Deadlock,
    DeadlockCheck,
    HangSituation,
    nccl_advice,
    nothing_moves,
    seconds,
    spot,
)
from torch_debugger.checks.rank_checks import RankCheck, RankStates
from torch_debugger.records import CollectiveKind, CollectivesFact, CrashFact, Finding, HangFact, Place, RankEnd, Record
from torch_debugger.records.ranks import ranks_in_words

_MEANINGS = {
    signal.SIGKILL: (
        "SIGKILL leaves no message: most often the system ran out of memory, or a job scheduler or a person "
        "ended that one process.",
        "Ask the system who did it: `dmesg | grep -i kill` on that machine names a process that was killed for memory. "
        "If it was, load less per rank: fewer workers, a smaller batch, no copy of the whole dataset on every rank.",
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

    def see_rank(self, rank: int, record: Record, ranks: RankStates) -> None:
        if isinstance(record, CollectivesFact):
            self._last[rank] = record

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
            steps=(end.steps, end.steps),
            evidence={"rank": end.rank, "signal": caught.name, "exit_code": end.exit_code, "steps": end.steps},
        )

    def _call_in(self, end: RankEnd) -> CollectiveKind | None:
        """The collective that it had called last, in the step in which it ended."""
        last = self._last.get(end.rank)
        return last.kinds[last.calls[-1]] if last is not None and last.step >= end.steps and last.calls else None


def _last_call(call: CollectiveKind | None) -> str:
    if call is None:
        return ""
    tensor = f" of {call.dtype} {list(call.shape)}" if call.dtype else ""
    if call.condition:
        where = f", under `{call.condition.code}`{at_line(call.condition)}: not every rank comes there."
    else:
        where = "."
    return f" The last collective that it called was `{call.op}`{tensor}{at_line(call.place)}{where}"


def _move_out(call: CollectiveKind) -> str:
    """Empty where nothing says that only some ranks come to it."""
    if not call.condition:
        return ""
    return (
        f"Move `{call.op}`{at_line(call.place)} out of `{call.condition.code}`{at_line(call.condition)}, so that all "
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


# Files of torch in whose functions a rank meets the others.
_MEETING = ("torch/distributed/", "torch/nn/parallel/distributed.py", "torch/autograd/graph.py")
# On a busy machine an interpreter may take longer to end than another one to crash.
_ENDING_S = 5.0


class RankLeftEarly(RankCheck):
    """A rank reaches the end of its script, and the others lose it in the middle of a collective.

    Symptom:
        Some ranks crash with "Connection closed by peer" or a collective that did not complete; one of them has
        no traceback, for nothing went wrong there.
    Evidence:
        The exit code 0 of that rank, or that its function has returned, before any other rank failed or, with
        fewer steps than that one, just after; and the crash of the other inside of a collective, or of the
        backward in which DistributedDataParallel makes its own, after at least as many steps.
    Fix:
        Let all ranks decide together when to stop, so that they make the same number of steps.
    Known limits:
        The line by which a rank leaves is not known. A rank that ran out of batches is told as uneven-batches.
    """

    id = "TD812"
    name = "rank-left-early"
    title = "a rank ends while the others still need it"
    reads = (RankEnd, HangFact)
    explains = ("ranks-disagree", "spawned-process-failed")

    def see_rank(self, rank: int, record: Record, ranks: RankStates) -> Iterable[Finding]:
        return ()  # who ended first is known when all have

    def finish_ranks(self, ranks: RankStates) -> Iterable[Finding]:
        failed = ranks.failed()
        crash = ranks.crashes.get(failed[0]) if failed else None
        if crash is None or not _is_in_a_collective(crash):
            return
        end = ranks.ends[failed[0]]
        left = [rank for rank, each in ranks.ends.items() if self._left(rank, each, end, crash, ranks)]
        if left:
            yield self._tell(sorted(left), failed[0], crash, ranks)

    @staticmethod
    def _left(rank: int, end: RankEnd, failed: RankEnd, crash: CrashFact, ranks: RankStates) -> bool:
        hang = ranks.states[rank].hang  # where it says how far it came
        ran_out = hang is not None and hang.is_out_of_data and not _have_as_many_batches(ranks)
        last_step = crash.step if end.ended < failed.ended else crash.step - 1
        in_time = end.ended < failed.ended + _ENDING_S
        return ranks.ended_in_order(rank) and in_time and not ran_out and 0 < end.steps <= last_step

    def _tell(self, left: list[int], lost_by: int, crash: CrashFact, ranks: RankStates) -> Finding:
        steps = ranks.ends[left[0]].steps
        who = ranks_in_words(left)
        failing = next((frame.failing for frame in reversed(crash.frames) if frame.user), "")
        call = f"`{failing}`" if failing else "a collective"
        have = "has" if len(left) == 1 else "have"
        return self.finding(
            severity="error",
            confidence=0.9,
            message=f"{who[0].upper()}{who[1:]} {have} reached the end of the script after {steps:,} steps, "
            f"while rank {lost_by} went on to step {crash.step:,} and lost "
            f"{'it' if len(left) == 1 else 'them'} in {call}{at_line(crash.place)}.",
            why="Every collective, and every backward of DistributedDataParallel, needs all ranks. One that "
            "stops by itself takes the others with it, although nothing went wrong on it.",
            fix=f"Look for the `break`, `return` or `sys.exit` by which rank {left[0]} leaves after its step "
            f"{steps:,}, and let all ranks decide together: `stop = torch.tensor(float(stop)); "
            "dist.all_reduce(stop); if stop > 0: break`.",
            where=crash.place,
            steps=(crash.step, crash.step),
            evidence={f"rank {left[0]}": f"ended after {steps:,} steps", f"rank {lost_by}": crash.kind},
        )


def _is_in_a_collective(crash: CrashFact) -> bool:
    """By its frames: the innermost of torch's own that ranks meet in."""
    files = [frame.file.replace("\\", "/") for frame in crash.frames if not frame.user]
    return any(part in file for file in files for part in _MEETING)


def _have_as_many_batches(ranks: RankStates) -> bool:
    """As far as loaders have a length: then the end of the data is the same on all ranks, and no reason."""
    lengths: dict[int, set[int | None]] = {}
    for state in ranks.states.values():
        for number, loader in state.loaders.items():
            lengths.setdefault(number, set()).add(loader.length)
    return bool(lengths) and all(len(each) == 1 and None not in each for each in lengths.values())


class RankGone(DeadlockCheck):
    """A rank has crashed, was killed or has left the training, and the others wait for it in a collective.

    Symptom: the processes that are left stand still; the traceback of the one that failed scrolled by long
    ago, or there is none.

    Evidence: a rank's script has ended, by an exception, a signal or normally, while others wait in a
    collective for longer than it ever took.

    Fix: look at what ended that rank. Start ranks with torchrun, or with `torch.multiprocessing.spawn(...,
    join=True)`: both end all ranks when one fails.

    Known limits: with gloo a lost rank is mostly noticed by the others, which then crash instead of waiting.
    """

    id = "TD828"
    name = "rank-gone"
    title = "A rank has ended while others wait for it"
    reason = GONE

    def explain(self, deadlock: Deadlock, scene: HangSituation) -> Finding:
        fact = deadlock.first
        first = next((rank for rank in deadlock.odd if rank in scene.crashes), deadlock.odd[0])
        crash = scene.crashes.get(first)
        line: Place = crash.place if crash is not None and crash.place else fact.place
        at = f" at {spot(line)}" if crash is not None and crash.place else ""
        said = f" ({crash.message.splitlines()[0][:160]})" if crash is not None and crash.message else ""
        return self.finding(
            severity="error",
            confidence=0.9,
            message=f"Rank {first} {scene.end_words(first)}{at}{said}, and the others wait for "
            f"it.{scene.others(deadlock.odd)}",
            why="A collective returns when every rank of its group has called it, and "
            f"{ranks_in_words(deadlock.odd)} never will. {nothing_moves(fact)}",
            fix=self._fix(first, fact, has_failed=scene.has_failed(first)),
            where=line,
            steps=(fact.step, fact.step),
            evidence={"stood still": seconds(fact.still_s), **scene.rows()},
        )

    @staticmethod
    def _fix(rank: int, waiting: HangFact, *, has_failed: bool) -> str:
        if not has_failed:
            return (
                f"Let rank {rank} come to {spot(waiting.place)} as well, or none: look for the `return`, "
                "`break` or shorter loop that it leaves by. What is left to do for some ranks only needs a "
                "group of their own, `dist.new_group([...])`, made by all ranks before one leaves."
            )
        return (
            f"Mend what ended rank {rank}. Start the ranks with torchrun, which ends all of them when one "
            f"fails.{nccl_advice(waiting)}"
        )
