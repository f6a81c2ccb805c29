"""A training that does not go on: locks, reads, workers, endless samples."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.hangs import (
    UNKNOWN,
    HangCheck,
    HangSituation,
    awaited,
    deadlock_of,
    nccl_advice,
    patience,
    recorded_rows,
    seconds,
    short_spot,
    spot,
    subject,
    wait_words,
    worker_row,
)
from torch_debugger.records import Finding, HangFact, Place, Standing
from torch_debugger.records.ranks import (
    CALL,
    COLLECTIVE,
    EVENT,
    EXIT,
    INPUT,
    LOADER,
    LOCK,
    LOOP,
    PROCESS,
    READ,
    SLEEP,
    ranks_in_words,
)

_DOES = {
    EXIT: "has reached the end of its script and waits for its threads to end",
    INPUT: "waits for input that nobody can type",
    LOADER: "waits for its DataLoader",
    PROCESS: "waits for another program",
}


class TrainingStandsStill(HangCheck):
    """The training has not gone on for far longer than it ever took, and no other check knows why.

    Symptom: nothing is printed any more, the processor is idle.

    Evidence: the training's thread has used no processor and stood at one line for longer than three times the
    longest pause so far, and for 40 seconds at least. The stacks of all threads, workers and ranks that
    answered are part of the report.

    Fix: look at the line and at the stacks. With several ranks, compare where each of them is.

    Known limits: a wait for something slow and far away is no hang. `--hang-timeout` sets how long it may
    take, and `--no-watchdog` switches the watching off.
    """

    id = "TD820"
    name = "training-stands-still"
    title = "The training stands still"
    last_resort = True
    explains = ("ranks-disagree",)  # what the others say once the one that stood still was ended

    def judge(self, scene: HangSituation) -> Iterable[Finding]:
        fact = scene.first
        if fact.kind == COLLECTIVE and scene.world > 1:
            deadlock = deadlock_of(scene)
            if deadlock is not None and deadlock.reason == UNKNOWN:
                waiting = ranks_in_words(scene.waiting)
                yield self._finding(
                    fact,
                    scene,
                    f"All {scene.world} ranks have stood still for {seconds(fact.still_s)}: {waiting} in "
                    f"{wait_words(fact)}.",
                )
            return
        rank = fact.rank or 0
        does = _DOES.get(fact.kind, f"waits in `{fact.call or fact.doing}`")
        yield self._finding(
            fact,
            scene,
            f"{subject(rank, scene)} has stood still for {seconds(fact.still_s)} at step {fact.step:,}: it "
            f"{does}{f' at {spot(fact.place)}' if fact.place else ''}.{scene.others({rank})}",
        )

    def _finding(self, fact: HangFact, scene: HangSituation, message: str) -> Finding:
        return self.finding(
            severity="error",
            confidence=0.8,
            message=message,
            why=f"It computes nothing, and nobody is at work for it. {patience(fact)}",
            fix="Look at the line and at the stacks of all threads, workers and ranks above: somebody else "
            "has to act before it can go on. If this wait is meant, allow it with --hang-timeout." + nccl_advice(fact),
            where=fact.place,
            steps=(fact.step, fact.step),
            evidence={"stood still": seconds(fact.still_s), **worker_row(fact), **recorded_rows(fact), **scene.rows()},
        )


class WorkerDeadlocked(HangCheck):
    """A worker of a DataLoader waits for a lock that nobody in its process will ever release.

    Symptom: the training waits for the next batch for ever; all processors are idle.

    Evidence: the training waits for the batch of one worker, and that worker has been in one and the same wait
    for a lock without using the processor. A forked worker has copies of all locks of the training process,
    in the state they were in at the moment of the fork, and none of the threads that would release them.

    Fix: make locks, thread pools, loggers and clients inside of the worker (`worker_init_fn`, or on first use
    in `__getitem__`), or start the workers afresh with `multiprocessing_context="spawn"`. Stop your threads
    before the first pass over the loader.

    Known limits: stacks of workers are read where workers are forked. Spawned ones are only seen to wait.
    """

    id = "TD822"
    name = "worker-deadlocked"
    title = "A worker of a loader waits for a lock that nobody releases"

    def judge(self, scene: HangSituation) -> Iterable[Finding]:
        for rank, fact in scene.stuck((LOADER,)).items():
            worker = awaited(fact)
            if worker is not None and worker.kind in (LOCK, EVENT, CALL) and worker.lines:
                line = worker.users_line
                code = f"`{line.code}` at " if line.code else ""
                yield self.finding(
                    severity="error",
                    confidence=0.95 if worker.kind == LOCK else 0.8,
                    message=f"{subject(rank, scene)} has waited {seconds(fact.still_s)} for batch "
                    f"{fact.batches + 1:,} of the loader at {spot(fact.place)}: {worker.who} waits for a "
                    f"lock in {code}{spot(line)} and computes nothing.{scene.others({rank})}",
                    why="A forked worker gets a copy of every lock as it was at the moment of the fork, and none of "
                    "the threads that would release it: a lock that was held then is held there for ever. "
                    f"{patience(fact)}",
                    fix="Do not let a forked worker use a lock of the training process: make it in the worker "
                    "(worker_init_fn, or on first use), do not hold it while the loader is started, or pass "
                    'multiprocessing_context="spawn" to the DataLoader.',
                    where=line or fact.place,
                    steps=(fact.step, fact.step),
                    evidence={"stood still": seconds(fact.still_s), **worker_row(fact), **scene.rows()},
                )


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

    def judge(self, scene: HangSituation) -> Iterable[Finding]:
        for rank, fact in scene.stuck((LOCK, EVENT)).items():
            what = "a lock that is never released" if fact.kind == LOCK else "something that nobody sends"
            call = fact.call or fact.doing
            yield self.finding(
                severity="error",
                confidence=0.95 if fact.kind == LOCK else 0.85,
                message=f"{subject(rank, scene)} has stood still for {seconds(fact.still_s)} at step "
                f"{fact.step:,}: `{call}` at {spot(fact.place)} waits for {what}.{scene.others({rank})}",
                why=f"{_who_could(fact)} {patience(fact)}",
                fix=_fix(fact),
                where=fact.place,
                steps=(fact.step, fact.step),
                evidence={
                    "stood still": seconds(fact.still_s),
                    "waits in": call,
                    **{each.who: f"at {short_spot(each.users_line)}" for each in _others(fact)[:6]},
                    **scene.rows(),
                },
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


# A file, pipe or socket is read from which nothing comes.
_KINDS = {"pipe:": "a pipe", "socket:": "a network connection"}


class StalledRead(HangCheck):
    """The training, or a worker of its loader, waits for data of a file, pipe or socket, and nothing comes.

    Symptom: the training stands still, the processor is idle; there is no timeout.

    Evidence: the thread has been in one and the same system call for reading (or opening, or locking) a file
    for longer than it ever took to go on. The kernel names the call and the file.

    Fix: look at who should write. Give network requests and sockets a timeout; a named pipe without a writer
    waits already in `open`. For a file lock, look for the process that has it.

    Known limits: a disk that is very slow looks like one that hangs; where the kernel says that a disk is
    waited for, ten minutes are given. System calls are known on Linux only.
    """

    id = "TD824"
    name = "stalled-read"
    title = "A file, pipe or socket is waited for and nothing comes"

    def judge(self, scene: HangSituation) -> Iterable[Finding]:
        for rank, fact in scene.stuck((READ, LOADER)).items():
            reader = fact.stacks[0] if fact.kind == READ else awaited(fact)
            if reader is not None and (fact.kind == READ or reader.kind == READ):
                line = reader.users_line or fact.place
                who = f"{reader.who}, which makes batch {fact.batches + 1:,}," if fact.kind == LOADER else "it"
                yield self.finding(
                    severity="error",
                    confidence=0.9,
                    message=f"{subject(rank, scene)} has stood still for {seconds(fact.still_s)} at step "
                    f"{fact.step:,}: {who} {_waits(reader)} at {spot(line)}.{scene.others({rank})}",
                    why=f"The kernel shows it in {reader.wait or 'a read'}{_of(reader)}, and nothing has come. "
                    f"{patience(fact)}",
                    fix="Find out who should write there, and whether that program still runs. Give the read a timeout "
                    "(requests.get(..., timeout=30), socket.settimeout, select), so that silence becomes an error.",
                    where=line,
                    steps=(fact.step, fact.step),
                    evidence={
                        "stood still": seconds(fact.still_s), "system call": reader.wait, "reads": reader.target,
                        **worker_row(fact), **scene.rows(),
                    },
                )  # fmt: skip


def _of(reader: Standing) -> str:
    return f" of {_named(reader.target)}" if reader.target else ""


def _named(target: str) -> str:
    return next((words for start, words in _KINDS.items() if target.startswith(start)), target)


def _waits(reader: Standing) -> str:
    if reader.wait in ("flock", "fcntl"):
        return f"waits for a lock on {_named(reader.target) or 'a file'}"
    if reader.wait in ("open", "openat"):
        return "waits for a file to open, as a named pipe without a writer does"
    return f"waits for data of {_named(reader.target) or 'a file or connection'}"


class EndlessSample(HangCheck):
    """Making one batch takes far longer than any batch before it, and the dataset is still at it.

    Symptom: the training waits for the next batch; one processor is busy, or the worker sleeps between
    attempts.

    Evidence: the dataset has worked on one and the same batch for more than ten times what the slowest one took
    so far, and no less than 40 seconds. The line it is at is read from its stack.

    Fix: look at the loop at that line: what if no candidate is ever good enough, or the file never appears?
    Give it a largest number of attempts, and raise with the sample's index when they are used up.

    Known limits: one enormous sample looks like this until it is ready. Before three steps are done nothing is
    known of how long a batch takes, and ten minutes are given.
    """

    id = "TD823"
    name = "endless-sample"
    title = "A dataset works on one sample without end"

    def judge(self, scene: HangSituation) -> Iterable[Finding]:
        for rank, fact in scene.stuck((LOADER, LOOP)).items():
            worker = awaited(fact)
            if fact.kind == LOOP:
                yield self._finding(rank, fact, fact.place, "the dataset", "loops", scene)
            elif worker is not None and worker.kind in (LOOP, SLEEP) and worker.users_line:
                does = "loops" if worker.kind == LOOP else "sleeps"
                yield self._finding(rank, fact, worker.users_line, worker.who, does, scene)

    def _finding(self, rank: int, fact: HangFact, line: Place, who: str, does: str, scene: HangSituation) -> Finding:
        batch = f"batch {fact.batches + 1:,}" if fact.batches >= 0 else "the next batch"
        return self.finding(
            severity="error",
            confidence=0.85,
            message=f"{subject(rank, scene)} has waited {seconds(fact.still_s)} for {batch}: {who} {does} at "
            f"{spot(line)} and does not come back.{scene.others({rank})}",
            why=f"It is still at the same batch. {patience(fact)}",
            fix=f"Look at the loop around {spot(line)}: it has no end for this sample. Limit the number of "
            "attempts and raise an error that names the sample's index.",
            where=line,
            steps=(fact.step, fact.step),
            evidence={"stood still": seconds(fact.still_s), **worker_row(fact), **scene.rows()},
        )
