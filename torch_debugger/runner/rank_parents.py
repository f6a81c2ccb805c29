"""Whether this process was started as one rank of several, and what they all know without asking each other."""

from __future__ import annotations

import hashlib
import itertools
import math
import os
import re
import shutil
import socket
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from os import getpid
from pathlib import Path

import psutil

from torch_debugger.checks.judge import RanksJudge
from torch_debugger.log.event_files import host_in_names, rank_in_name, rank_of_process, writer_in_name
from torch_debugger.log.object_stores import is_url
from torch_debugger.log.process_channels import Board, make_request_pipe
from torch_debugger.log.reader_records import event_files, read_log_of_ranks
from torch_debugger.records import Notice, RankEnd, RankFact
from torch_debugger.report.result import RanksDigest, RunResult
from torch_debugger.runner.child_process import ChildProcess, interrupts_left_to_child, own_log
from torch_debugger.runner.hang_reports import HeartbeatMonitor
from torch_debugger.runner.launch import OFFERED, REFUSED, Orders
from torch_debugger.runner.options import settings_of_child
from torch_debugger.runner.outputs import exit_code_of, holds_another_run, make_writable, name_of_script
from torch_debugger.runner.script import Program
from torch_debugger.settings import Settings
from torch_debugger.system.errors import UsageError


@dataclass(frozen=True)
class RankLaunch:
    """One rank, as torchrun (or whoever sets the same variables) started it."""

    rank: int
    local_rank: int
    world_size: int
    local_world_size: int  # ranks on this machine; 0: not told
    run_id: str  # of torchrun; empty where there is none, or one that all runs share
    restart: int  # how often torchrun has started the ranks anew
    address: str  # of rank 0, where all ranks meet
    starter: str  # the process that started the ranks of this machine, and when it began
    started: float  # the same moment, in seconds since the epoch
    by_torchrun: bool

    @property
    def is_first(self) -> bool:
        """The one that reports for all."""
        return self.rank == 0

    @property
    def leads_machine(self) -> bool:
        return self.local_rank == 0

    @property
    def is_on_one_machine(self) -> bool:
        """Where nobody says how many ranks a machine has, the process that started them stands for it."""
        return self.local_world_size in (0, self.world_size)

    @property
    def identity(self) -> str:
        """The same for all ranks of one run, and no other run's."""
        whose = self.starter if self.is_on_one_machine else f"{self.run_id or self.address}"
        return f"{whose} restart {self.restart}"

    @property
    def neighbours(self) -> frozenset[int]:
        """The other ranks of this machine, as far as is told: torchrun numbers them one after the other."""
        first = self.rank - self.local_rank
        return frozenset(range(first, first + self.local_world_size)) - {self.rank}


def rank_launch() -> RankLaunch | None:
    """None for a program of one process."""
    rank = rank_of_process()
    if rank is None:
        return None
    around = os.environ
    run_id = around.get("TORCHELASTIC_RUN_ID", "")
    starter, started = _starter()
    return RankLaunch(
        rank=rank,
        local_rank=_whole_number(around, "LOCAL_RANK", rank),
        world_size=_whole_number(around, "WORLD_SIZE", 1),
        local_world_size=_whole_number(around, "LOCAL_WORLD_SIZE", 0),
        run_id="" if run_id == "none" else re.sub(r"[^A-Za-z0-9_.-]", "_", run_id),
        restart=_whole_number(around, "TORCHELASTIC_RESTART_COUNT", 0),
        address=f"{around.get('MASTER_ADDR', '')}:{around.get('MASTER_PORT', '')}",
        starter=starter,
        started=started,
        by_torchrun=bool(run_id),
    )


def _starter() -> tuple[str, float]:
    try:
        began = psutil.Process(os.getppid()).create_time()
    except (psutil.Error, OSError):  # it has gone, or is hidden from us
        began = 0.0
    return f"{socket.gethostname()} {os.getppid()} {began:.2f}", began


def _whole_number(around: Mapping[str, str], name: str, otherwise: int) -> int:
    text = around.get(name, "")
    return int(text) if text.isdecimal() else otherwise


# The parent's part where the script is one rank of several. The first rank's follows and reports for all; the others
# start their child, say in the log who it is and how it ended, and are silent.
_TICK_S = 0.1


def run_other_rank(program: Program, settings: Settings, launch: RankLaunch, folder: str) -> int:
    """The exit status of the script: -n for signal n."""
    board = Board.create()
    reader, sender = make_request_pipe()
    child_settings = settings_of_child(settings, folder)
    orders = Orders(child_settings, program.module, board.fd, reader.fd, dies_with_parent=True)
    child = rank_process(program, orders, launch)
    gathered = program if settings.keep_log and launch.leads_machine else None
    with (
        interrupts_left_to_child(),
        closing(sender),
        own_log(folder, gathered, settings.log_limit_bytes) as tell,
        child.running(),
    ):
        reader.close()  # the child has its own
        tell(rank_fact(launch, child))
        monitor = HeartbeatMonitor(board, child.pid, settings.hang_timeout_s, settings.on_hang)
        while (status := child.wait(_TICK_S)) is None:
            if (found := monitor.look(time.monotonic())) is not None:
                tell(found)
            if board.crash == OFFERED:  # its traceback is its own to print, as without us
                board.crash = REFUSED
        tell(rank_end(launch, status, board))
    return status


def rank_process(program: Program, orders: Orders, launch: RankLaunch) -> ChildProcess:
    leads_group = os.getpgrp() == getpid()
    by_group = launch.by_torchrun and leads_group
    return ChildProcess(program, orders, is_rank=True, group_signalled=by_group)


class Patience:
    """Waits for a rank. One that does not end when it is asked to is killed in the end, and we with it:
    torchrun grants 30 seconds, so `speak` is called when half of them are over."""

    granted_s = 15.0

    def __init__(self, child: ChildProcess, speak: Callable[[], None]) -> None:
        self._child, self._speak = child, speak
        self._has_reported = False

    def wait(self, timeout_s: float) -> int | None:
        status, end_requested_at = self._child.wait(timeout_s), self._child.told_to_end_at
        is_late = (
            status is None and end_requested_at is not None and time.monotonic() - end_requested_at > self.granted_s
        )
        if is_late and not self._has_reported:
            self._has_reported = True
            self._speak()
        return status


def rank_fact(launch: RankLaunch, child: ChildProcess) -> RankFact:
    host = socket.gethostname()
    return RankFact(launch.rank, launch.local_rank, launch.world_size, "", host, child.pid)


def rank_end(launch: RankLaunch, status: int, board: Board) -> RankEnd:
    return RankEnd(launch.rank, exit_code_of(status), time.time(), board.step)


# The other ranks of a run, as the one that reports for all sees them: by files, words and process numbers.
_HURRIED_S = 2.0  # torchrun ends all ranks when one has failed, and kills what is left 30 s later
_LATE_S = 5.0  # after our own end, in which a rank of this machine may still begin
_SILENCE_S = 60.0  # of a rank on another machine, after which nothing more is expected


class FellowRanks:
    """Waited for when our own rank has ended: the report is for all of them."""

    def __init__(
        self,
        launch: RankLaunch,
        folder: str,
        ended: Callable[[], Collection[int]] = tuple,
        in_hurry: Callable[[], bool] = lambda: False,
    ) -> None:
        self._launch, self._folder = launch, folder
        self._ended, self._in_hurry = ended, in_hurry
        self._since = time.monotonic()
        self._hurried_since: float | None = None

    def wait(self, timeout_s: float) -> int | None:
        """0 when nothing more is to be expected of any, else None, after some time."""
        if self._is_over(time.monotonic()):
            return 0
        time.sleep(timeout_s)
        return None

    def _is_over(self, now: float) -> bool:
        if self._hurried_since is None and self._in_hurry():
            self._hurried_since = now
        if self._hurried_since is not None and now - self._hurried_since > _HURRIED_S:
            return True
        return not self.are_left(self._files().keys() | self._launch.neighbours, now)

    def are_left(self, ranks: Collection[int], now: float = math.inf) -> bool:
        """Whether any of these may still write. Without a time nobody is waited for who was never heard of."""
        files, left = self._files(), set(ranks) - set(self._ended()) - {self._launch.rank}
        return any(self._may_write(files.get(rank, []), now) for rank in left)

    def _files(self) -> dict[int, list[str]]:
        found: dict[int, list[str]] = {}
        for path in event_files(self._folder):
            rank = rank_in_name(path)
            if rank is not None:
                found.setdefault(rank, []).append(path)
        return found

    def _may_write(self, paths: list[str], now: float) -> bool:
        if not paths:
            return now - self._since < _LATE_S
        writers = [writer for path in paths if (writer := writer_in_name(path)) is not None]
        here = [pid for host, pid in writers if host == host_in_names()]
        if here:
            return any(map(_runs, here))
        return time.time() - max(map(_changed, paths)) < _SILENCE_S


def _runs(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False


def _changed(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


# When the parent that reports for all ranks is gone, one of the others does it from what is in the folder.
_LOOK_EVERY_S = 0.1
_CLAIM = "reporter.txt"


def stands_in(launch: RankLaunch, folder: str) -> bool:
    """Whether this rank is to report, now that it has ended: the first one's processes are gone without having
    done so, or are on a machine that does not share this folder. Of several who could, one does."""
    if Path(folder, "result.json").exists() or FellowRanks(launch, folder).are_left({0}):
        return False
    if launch.is_on_one_machine:
        if launch.by_torchrun and not _has_event_file(0, folder):
            return False  # it may still begin
    elif not launch.leads_machine:
        return False
    try:
        os.close(os.open(Path(folder, _CLAIM), os.O_CREAT | os.O_EXCL))
    except OSError:
        return False
    return True


def _has_event_file(rank: int, folder: str) -> bool:
    return any(rank_in_name(path) == rank for path in event_files(folder))


def report_of(judge: RanksJudge, launch: RankLaunch, folder: str, script: str, log: str | None) -> RunResult:
    """All that the ranks have written, judged when they have ended."""
    others = FellowRanks(launch, folder, in_hurry=lambda: True)
    while others.wait(_LOOK_EVERY_S) is None:
        time.sleep(_LOOK_EVERY_S)
    digest = RanksDigest(script)
    for rank, record in read_log_of_ranks(folder):
        digest.see(record, rank)
        judge.see(record, rank)
    digest.see(Notice(_said(launch), 0), min(judge.ranks.states, default=None))
    judge.finish()
    return digest.result(
        judge.findings,
        log=log,
        faults=judge.faults,
        checks=len(judge.checks),
        facts=judge.ranks.facts,
        ends=judge.ranks.ends,
    )


def _said(launch: RankLaunch) -> str:
    return (
        f"This report is made by rank {launch.rank}: the process that watched rank 0 has ended without one, "
        "or its log is in a folder that this machine does not share."
    )


# The one log folder of several ranks: each finds it by itself, from what all of them know.
MARK = "ranks.txt"  # says whose folder it is, so that the ranks of another run do not join


@contextmanager
def open_shared_folder(launch: RankLaunch, chosen: str | None, script: str, *, keep: bool) -> Iterator[str]:
    """The absolute path of a folder that exists and can be written; not kept, the first rank removes it."""
    if keep and chosen is not None and is_url(chosen):
        raise UsageError(
            f"The ranks of one run share a folder, and {chosen} is none. "
            "Name one that all machines can reach with --log-dir, or leave it out."
        )
    if keep:
        yield str(_joined(launch, [Path(chosen).absolute()]) if chosen else _joined(launch, _names(launch, script)))
        return
    folder = _joined(launch, [_passing_folder(launch)])
    try:
        yield str(folder)
    finally:
        if launch.is_first:
            shutil.rmtree(folder, ignore_errors=True)


def _names(launch: RankLaunch, script: str) -> Iterator[Path]:
    """runs/train-20260131-174502 by the start of torchrun on this machine; on several, by its run id. When
    torchrun starts the ranks anew that is a run of its own, with -restart1 at its end."""
    began = time.strftime("%Y%m%d-%H%M%S", time.localtime(launch.started))
    spread = launch.run_id or launch.address.replace(":", "-")
    moment = began if launch.is_on_one_machine else spread
    again = f"-restart{launch.restart}" if launch.restart else ""
    first = Path("runs", f"{name_of_script(script)}-{moment}{again}").absolute()
    yield first
    yield from (first.with_name(f"{first.name}-{number}") for number in itertools.count(2))


def _passing_folder(launch: RankLaunch) -> Path:
    name = hashlib.sha256(f"{os.getuid()} {launch.identity}".encode()).hexdigest()[:16]
    return Path(tempfile.gettempdir(), f"torch-debugger-{name}")


def _joined(launch: RankLaunch, folders: Iterable[Path]) -> Path:
    """The first of these that is ours: because we are the first in it, or one of our fellows was."""
    for folder in folders:
        make_writable(folder)
        if _is_ours(folder, launch):
            return folder
    raise holds_another_run(str(folder))


def _is_ours(folder: Path, launch: RankLaunch) -> bool:
    mark = folder / MARK
    if not mark.exists() and not any(folder.glob("*tfevents*")):
        _put(mark, launch.identity)
    try:
        return mark.read_text(encoding="utf-8") == launch.identity and not _is_over(folder, launch)
    except OSError:
        return False


def _is_over(folder: Path, launch: RankLaunch) -> bool:
    """A torchrun of its own or a run id tell two runs apart; an address or a shell that starts many do not."""
    is_apart = launch.by_torchrun and (launch.is_on_one_machine or launch.run_id)
    return not is_apart and (folder / "result.json").exists()


def _put(mark: Path, identity: str) -> None:
    """Whole, and only where there is none: of several who try, one succeeds and the others read what it put."""
    draft = mark.with_name(f".{mark.name}.{os.getpid()}")
    draft.write_text(identity, encoding="utf-8")
    with suppress(FileExistsError):
        try:
            os.link(draft, mark)
        except PermissionError:  # a file system without links
            with mark.open("x", encoding="utf-8") as file:
                file.write(identity)
    draft.unlink()
