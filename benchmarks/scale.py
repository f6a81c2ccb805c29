"""What a run of many ranks costs the process that judges all of them, by simulation.

    python -m benchmarks.scale [--ranks 16 64 256 1024] [--steps 300] [--log FOLDER]

One real run of two ranks is recorded (or taken from FOLDER, a log of such a run). What its rank 1 wrote is
written again as the files of N ranks, each record with the rank, the number of ranks and a batch of its own,
with more steps if so many are asked for. A process of its own then does what the first rank's parent does: it
follows all files, digests and judges. Its calls of the file system are counted, its time and memory taken.
Last, a hang in which every rank tells where it waits is judged.
"""

from __future__ import annotations

import argparse
import dataclasses
import io
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from torch_debugger.log import reader_records as reader
from torch_debugger.log.encoder import Encoder
from torch_debugger.log.event_files import LogFiles, write_all
from torch_debugger.records import CollectivesFact, EndFact, HangFact, RankDigest, RankEnd, RankFact, Record, Scalars
from torch_debugger.records.ranks import COLLECTIVE

RECORDED, REPEATED = 300, 100  # steps; the last ones are repeated for longer runs
_BEHIND = (EndFact, RankEnd, HangFact)  # at the end a rank also tells how far it came


def record_run(folder: Path) -> None:
    from benchmarks.ranks import WATCHED, launch  # needs torch; who judges does without

    launch((*WATCHED, "--log-dir", str(folder)), 2, folder.parent, "--step-ms", "20", "--steps", str(RECORDED))


def records_of_rank_1(folder: Path, steps: int) -> list[Record]:
    whole = [record for rank, record in reader.read_log_of_ranks(folder) if rank == 1]
    last = max(record.step for record in whole if isinstance(record, Scalars))
    kept = [record for record in whole if getattr(record, "step", 0) <= steps and not isinstance(record, _BEHIND)]
    again = [each for each in whole if isinstance(each, Scalars) and each.step > last - REPEATED]
    for record in (each for _ in range(0, max(0, steps - last), REPEATED) for each in again):
        last += 1
        kept.append(dataclasses.replace(record, step=last))
    return kept + [record for record in whole if isinstance(record, _BEHIND)]


def as_rank(record: Record, rank: int, ranks: int) -> Record:
    """As this rank of so many would have told it."""
    match record:
        case RankFact():
            return dataclasses.replace(record, rank=rank, local_rank=rank % 8, world_size=ranks, pid=10_000 + rank)
        case RankEnd():
            return dataclasses.replace(record, rank=rank)
        case CollectivesFact():
            return dataclasses.replace(record, ranks=((0, ranks - 1),))
        case RankDigest(average=average) if average is not None:
            calls = tuple(
                dataclasses.replace(call, inputs=tuple(each ^ rank for each in call.inputs)) for call in record.calls
            )
            return dataclasses.replace(record, average=dataclasses.replace(average, ranks=ranks), calls=calls)
        case _:
            return record


def write_ranks(folder: Path, records: list[Record], ranks: int) -> float:
    """Two files each, as the two processes of a rank write them: what all tell alike is encoded once. How long
    the making of the files took."""
    own = [record for record in records if as_rank(record, -1, ranks) is not record]
    encoder = Encoder(10**9, print)
    alike = encoder.start() + encoder.encode([record for record in records if all(record is not each for each in own)])
    making_s = 0.0
    for rank in range(ranks):
        began = time.perf_counter()
        parents, childs = (LogFiles(folder, rank, "").open_first() for _ in range(2))
        making_s += time.perf_counter() - began
        told = [as_rank(record, rank, ranks) for record in own]
        with parents, childs:
            write_all(parents, encoder.start() + encoder.encode([each for each in told if isinstance(each, RankEnd)]))
            write_all(childs, alike + encoder.encode([each for each in told if not isinstance(each, RankEnd)]))
    return making_s


class Counted:
    """Calls of the file system that the following of a log makes."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()

    def install(self) -> None:
        calls, listed = self.calls, os.listdir

        class CountedFile(io.FileIO):
            def __init__(self, path: str) -> None:
                calls["open"] += 1
                super().__init__(path)

            def read(self, size: int | None = -1) -> bytes | None:
                calls["read"] += 1
                return super().read(size)

        def listdir(*arguments: Any) -> list[str]:
            calls["list"] += 1
            return listed(*arguments)

        def open_counted(path: str) -> io.FileIO | None:
            try:
                return CountedFile(path)
            except OSError:
                calls["refused"] += 1
                return None

        os.listdir = listdir  # type: ignore[assignment]
        reader._open = open_counted


def follow(folder: str) -> dict[str, float]:
    """What the first rank's parent does, less the training beside it."""
    from torch_debugger.checks.judge import RanksJudge
    from torch_debugger.report.result import RanksDigest

    counted = Counted()
    counted.install()
    judge, digest, log = RanksJudge(), RanksDigest("train.py"), reader.LogFollower(folder)
    began, at_first_mb = time.process_time(), _peak_mb()
    records = 0
    for rank, record in log.read_ranks_on():
        digest.see(record, rank)
        judge.see(record, rank)
        records += 1
    judged = time.process_time()
    idle = Counter(counted.calls)
    for _ in log.read_ranks_on():
        pass
    polled = time.process_time()
    findings = judge.findings  # as the status line asks for it, seven times a second
    told = time.process_time()
    judge.finish()
    return {
        "judged_s": judged - began,
        "poll_s": polled - judged,
        "findings_s": told - polled,
        "finish_s": time.process_time() - told,
        "records": records,
        "heard": len(judge.ranks.states),
        "findings": len(findings),
        "open_files": len(os.listdir("/proc/self/fd")) - 1,
        "own_mb": _peak_mb() - at_first_mb,
        **{f"poll_{name}": count - idle[name] for name, count in counted.calls.items()},
        "refused": counted.calls["refused"],
    }


def hang(told: HangFact, ranks: int) -> float:
    """Processor seconds to judge a hang in which every rank tells twice where it waits."""
    from torch_debugger.checks.judge import RanksJudge

    judge = RanksJudge()
    for rank in range(ranks):
        judge.see(RankFact(rank, rank % 8, ranks, "gloo", "machine", 10_000 + rank), rank)
    began = time.process_time()
    for final in (False, True):
        for rank in range(ranks):
            waits = {"kind": COLLECTIVE, "doing": "all_reduce", "still_s": 60.0, "expected_s": 60.0}
            groups = tuple(dataclasses.replace(group, ranks=tuple(range(ranks))) for group in told.groups)
            fact = dataclasses.replace(told, rank=rank, world=ranks, final=final, groups=groups, **waits)
            judge.see(fact, rank)
    assert judge.findings, "a hang that was not found"
    return time.process_time() - began


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def simulate(records: list[Record], ranks: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        making_s = write_ranks(folder, records, ranks)
        files = list(folder.iterdir())
        size = sum(path.stat().st_size for path in files)
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.scale", "--follow", name],
            check=True,
            capture_output=True,
            text=True,
        )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return {"files": len(files), "bytes": size / ranks, "making_s": making_s, **found}


HEAD = (
    "ranks  files  open  heard of  bytes/rank  us/record  judging s/rank  MB  MB/rank"
    "   poll: reads  opens   ms   findings ms   end s   making files ms/rank"
)


def row(ranks: int, found: dict[str, float]) -> str:
    making_ms = found["making_s"] / ranks * 1e3
    return (
        f"{ranks:5}  {found['files']:5.0f}  {found['open_files']:4.0f}  {found['heard']:8.0f}"
        f"  {found['bytes']:10.0f}  {found['judged_s'] / found['records'] * 1e6:9.0f}"
        f"  {found['judged_s'] / ranks:14.3f}  {found['own_mb']:2.0f}  {found['own_mb'] / ranks:7.2f}"
        f"   {found.get('poll_read', 0):11.0f}  {found.get('poll_open', 0):5.0f}  {found['poll_s'] * 1e3:3.0f}"
        f"   {found['findings_s'] * 1e3:11.1f}   {found['finish_s']:5.1f}   {making_ms:21.1f}"
    )


def rows(numbers: list[int], steps: int, log: str | None) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(log) if log else Path(name, "log")
        if not log:
            record_run(folder)
        records = records_of_rank_1(folder, steps)
    yield f"{len(records)} records of {steps} steps by each rank; processor seconds of one process"
    yield HEAD
    for ranks in numbers:
        yield row(ranks, simulate(records, ranks))
    told = next(record for record in records if isinstance(record, HangFact))
    for ranks in numbers:
        yield f"a hang of {ranks} ranks: judged in {hang(told, ranks):.2f} s"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, nargs="+", default=[16, 64, 256, 1024])
    parser.add_argument("--steps", type=int, default=RECORDED)
    parser.add_argument("--log", help="of a run of two ranks, instead of recording one")
    parser.add_argument("--follow", metavar="FOLDER", help="be the process that is measured")
    arguments = parser.parse_args()
    if arguments.follow:
        print(json.dumps(follow(arguments.follow)))
        return
    for line in rows(arguments.ranks, arguments.steps, arguments.log):
        print(line, flush=True)


if __name__ == "__main__":
    main()
