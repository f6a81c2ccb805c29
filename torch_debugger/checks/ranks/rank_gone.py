"""A rank is gone, and the others wait for it."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.deadlocks import GONE, Deadlock, deadlock_of
from torch_debugger.checks.hang_check import HangCheck
from torch_debugger.checks.hang_scene import Scene, nccl_advice, patience, seconds, spot
from torch_debugger.records import Finding, HangFact, Place
from torch_debugger.records.ranks import ranks_in_words


class RankGone(HangCheck):
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

    def judge(self, scene: Scene) -> Iterable[Finding]:
        deadlock = deadlock_of(scene)
        if deadlock is not None and deadlock.reason == GONE:
            yield self._finding(deadlock, scene)

    def _finding(self, deadlock: Deadlock, scene: Scene) -> Finding:
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
            f"{ranks_in_words(deadlock.odd)} never will. Nothing has moved for {seconds(fact.still_s)}. "
            f"{patience(fact)}",
            fix=self._fix(first, fact, has_failed=scene.has_failed(first)),
            where=line,
            first_step=fact.step,
            last_step=fact.step,
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
