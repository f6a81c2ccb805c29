"""TD812: a rank ends in good order while the others still need it."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.deliveries import at
from torch_debugger.checks.rank_check import RankCheck
from torch_debugger.checks.rank_states import RankStates
from torch_debugger.records import CrashFact, Finding, HangFact, RankEnd, Record
from torch_debugger.records.ranks import ranks_in_words

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
        told = ranks.states[rank].hang  # where it says how far it came
        ran_out = told is not None and told.is_out_of_data and not _have_as_many_batches(ranks)
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
            f"{'it' if len(left) == 1 else 'them'} in {call}{at(crash.place)}.",
            why="Every collective, and every backward of DistributedDataParallel, needs all ranks. One that "
            "stops by itself takes the others with it, although nothing went wrong on it.",
            fix=f"Look for the `break`, `return` or `sys.exit` by which rank {left[0]} leaves after its step "
            f"{steps:,}, and let all ranks decide together: `stop = torch.tensor(float(stop)); "
            "dist.all_reduce(stop); if stop > 0: break`.",
            where=crash.place,
            first_step=crash.step,
            last_step=crash.step,
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
