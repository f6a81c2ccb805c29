"""A lock, a queue or an event is waited for that nobody will give."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.hang_check import HangCheck
from torch_debugger.checks.hang_scene import Scene, patience, seconds, short_spot, spot, subject
from torch_debugger.records import Finding, HangFact, Standing
from torch_debugger.records.hangs import EVENT, LOCK


class LockNeverReleased(HangCheck):
    """The training waits for a lock, a queue, an event or a thread, and nobody is left who would end the wait.

    Symptom: the loss stops being printed, the processor is idle, Ctrl-C may do nothing. PyTorch says nothing,
    ever.

    Evidence: the training's thread has been in one and the same call, without using the processor, for longer
    than it ever took to go on; and no other thread of the process and no process it started has computed
    meanwhile. The stacks of all threads are part of the report.

    Fix: release the lock on every way out, most simply with `with lock:`. A lock that a function takes while
    its caller has it must be a `threading.RLock()`. Give `queue.get` a timeout, so that a dead producer is an
    exception instead of silence.

    Known limits: a wait for something from outside the machine looks the same for as long as nothing comes.
    While there was no step yet, three minutes are given instead of 40 seconds, for programs that wait for
    downloads.
    """

    id = "TD821"
    name = "lock-never-released"
    title = "A lock, queue or event is waited for that nobody gives"

    def judge(self, scene: Scene) -> Iterable[Finding]:
        for rank, fact in scene.stuck((LOCK, EVENT)).items():
            yield self._finding(rank, fact, scene)

    def _finding(self, rank: int, fact: HangFact, scene: Scene) -> Finding:
        what = "a lock that is never released" if fact.kind == LOCK else "something that nobody sends"
        call = fact.call or fact.doing
        return self.finding(
            severity="error",
            confidence=0.95 if fact.kind == LOCK else 0.85,
            message=f"{subject(rank, scene)} has stood still for {seconds(fact.still_s)} at step "
            f"{fact.step:,}: `{call}` at {spot(fact.place)} waits for {what}.{scene.others({rank})}",
            why=f"{_who_could(fact)} {patience(fact)}",
            fix=_fix(fact),
            where=fact.place,
            first_step=fact.step,
            last_step=fact.step,
            evidence={"stood still": seconds(fact.still_s), "waits in": call, **_threads(fact), **scene.rows()},
        )


def _others(fact: HangFact) -> list[Standing]:
    return [each for each in fact.stacks if each.who.startswith("thread ") and each.users_line]


def _who_could(fact: HangFact) -> str:
    others = _others(fact)
    if not others:
        return (
            "It computes nothing, and there is no other thread of yours that could end the wait: what it "
            "waits for was not given back before, or it has it itself."
        )
    named = ", ".join(f"{each.who.removeprefix('thread ')} at {spot(each.users_line)}" for each in others[:4])
    return f"It computes nothing, and neither does any other thread that could end the wait ({named})."


def _threads(fact: HangFact) -> dict[str, float | str]:
    return {each.who: f"at {short_spot(each.users_line)}" for each in _others(fact)[:6]}


def _fix(fact: HangFact) -> str:
    if fact.kind == LOCK:
        return (
            "If a function that takes the lock is called where its caller has it already (the stack above "
            "shows both), make it a threading.RLock(). Else release it on every way out of the code that takes "
            "it, as `with lock:` does."
        )
    return (
        f"Look at who should end the wait in `{fact.call or fact.doing}`: a thread that has ended, or that "
        "waits itself. Give the call a timeout, such as get(timeout=60), so that the next time it raises."
    )
