"""Runs many scripts under the debugger, each in a fork of one process that has only imported torch.

    python -m tests.zoo.runner RESULTS [--SETTING...] SCRIPT...

Importing torch costs seconds; a fork costs milliseconds. No op runs before the fork (a fork after
multi-threaded ops can hang), so the forks start as fresh as an interpreter that imported torch.
Each result is the run's JSON, with the script's output beside it.
"""

from __future__ import annotations

import functools
import gc
import importlib
import json
import os
import pkgutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests import absurd_allocations, preloaded, time_limits
from tests.zoo.launching import command_of, run_to_its_end
from tests.zoo.scripts import launch_of, options, settings_of, source_of, write

TIMEOUT_S = 300.0  # for what never ends: a busy machine must not reach it
LAUNCHED_TIMEOUT_S = 600.0
PRELOADED = (
    "crashes", "log", "model", "probes", "profiling", "report", "runner", "source", "stats", "trials",
)  # fmt: skip
Result = dict[str, Any]


@dataclass(frozen=True)
class Job:
    """A script to run: as it stands in the zoo or with our edits, in a fork or by the command as users do."""

    script: Path
    edited: str | None = None
    by_command: bool = False

    @property
    def name(self) -> str:
        return result_name(self.script) + "+edit" * (self.edited is not None) + "+command" * self.by_command

    @functools.cached_property
    def launched(self) -> bool:
        """Whether it is of several processes."""
        return bool(launch_of(self.script))

    @property
    def source(self) -> str:
        return source_of(self.script) if self.edited is None else self.edited


@dataclass(frozen=True)
class Ran:
    job: Job
    result: Result | None
    failure: str  # why there is no result
    wall_s: float
    processor_s: float


def result_name(script: Path) -> str:
    return "_".join(script.absolute().parts[-4:]).replace(".py", "")


def preload(also: Iterable[str] = ()) -> None:
    """Everything that a watched run imports, once for all forks; the scripts are made for one core each."""
    os.environ["OMP_NUM_THREADS"] = "1"
    import torch
    import torch._dynamo  # which every optimizer imports when it is first made
    import torch.distributed.run
    import torch.nn.parallel

    from torch_debugger.checks.catalog import catalog

    for room in PRELOADED:
        package = importlib.import_module(f"torch_debugger.{room}")
        for module in pkgutil.walk_packages(getattr(package, "__path__", []), f"{package.__name__}."):
            importlib.import_module(module.name)
    for name in ("torch_debugger.runner.in_process", *also):
        importlib.import_module(name)
    catalog()
    for owner, name, value in time_limits.lifted():
        setattr(owner, name, value)
    _name_methods_quickly()
    _wait_before_groups_are_destroyed()
    gc.collect()
    gc.freeze()  # else every fork looks through all of torch's objects, and copies their memory by that
    assert torch.get_num_threads() == 1, "torch was imported before"


def _name_methods_quickly() -> None:
    """torchrun asks inspect for the source of its whole stack, twice, whenever it notes an event: with so many
    modules imported that takes longer than the rest of it."""
    from torch.distributed.elastic.rendezvous import dynamic_rendezvous

    dynamic_rendezvous.get_method_name = lambda depth=2: sys._getframe(depth).f_code.co_name


def _wait_before_groups_are_destroyed() -> None:
    """torch joins gloo's threads with Python's lock held, and one that is still letting go of the last collective
    wants that lock: both wait for ever. In forks, which start at the same moment, a third of the scripts that end
    right after a collective did, without the debugger too."""
    import torch.distributed as dist

    destroy = dist.destroy_process_group

    @functools.wraps(destroy)
    def destroy_later(group: Any = None) -> None:
        time.sleep(0.05)
        destroy(group)

    dist.destroy_process_group = dist.distributed_c10d.destroy_process_group = destroy_later


def run_all(
    jobs: Iterable[Job],
    results: Path,
    settings: Iterable[str] = (),
    at_once: int = 0,
    ended: Callable[[Ran], None] = lambda ran: None,
) -> list[Ran]:
    """`at_once`, one for each core if that is not said. Scripts of several processes come first and have as many
    places of their own: most of their time they wait for each other."""
    places = at_once or os.cpu_count() or 1
    waiting = {kind: deque[Job]() for kind in (True, False)}
    for job in jobs:
        waiting[job.launched].append(job)
    running: dict[int, tuple[Job, float]] = {}
    done: list[Ran] = []
    while any(waiting.values()) or running:
        for launched, of_kind in waiting.items():
            taken = sum(job.launched == launched for job, _ in running.values())
            for job in [of_kind.popleft() for _ in range(min(places - taken, len(of_kind)))]:
                running[_fork(job, results, tuple(settings))] = (job, time.monotonic())
        for ran in _reap(running, results):
            done.append(ran)
            ended(ran)
        time.sleep(0.01)
    return done


def _reap(running: dict[int, tuple[Job, float]], results: Path) -> list[Ran]:
    ended = []
    for pid, (job, began) in list(running.items()):
        wall_s = time.monotonic() - began
        limit_s = LAUNCHED_TIMEOUT_S if job.launched else TIMEOUT_S
        gone, status, used = os.wait4(pid, os.WNOHANG)
        late = not gone and wall_s > limit_s
        if late:
            os.kill(pid, signal.SIGKILL)
            gone, status, used = os.wait4(pid, 0)
        if not gone:
            continue
        del running[pid]
        path = results / f"{job.name}.json"
        failed = path.with_suffix(".failed")
        told = failed.read_text() if failed.exists() else f"the runner's fork ended with {status}"
        failure = f"no end after {limit_s:.0f} s" if late else told if status else ""
        if failure:
            failed.write_text(failure)
        result = None if failure else json.loads(path.read_text())
        ended.append(Ran(job, result, failure, wall_s, used.ru_utime + used.ru_stime))
    return ended


def _fork(job: Job, results: Path, settings: tuple[str, ...]) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        _be_the_script(job, results, settings)
        os._exit(0)
    except BaseException as error:  # the fork must never return into the runner's loop
        (results / f"{job.name}.failed").write_text(f"{type(error).__name__}: {error}")
        os._exit(1)


def _be_the_script(job: Job, results: Path, settings: tuple[str, ...]) -> None:
    output = os.open(results / f"{job.name}.out", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as written:
        file = write(job.script, Path(written), job.edited)
        os.chdir(folder)
        with absurd_allocations.refused():
            if "gc.collect(" in job.source:
                gc.unfreeze()  # as much to look through as in an interpreter of its own
            by_command = job.by_command or job.launched
            plain = _by_command(job, file) if by_command else _in_this_fork(job.script, file, settings)
        sys.stdout.flush()
        sys.stderr.flush()
        (results / f"{job.name}.json").write_text(json.dumps(plain))
        os.chdir("/")


def _in_this_fork(script: Path, file: Path, settings: tuple[str, ...]) -> Result:
    from torch_debugger.runner.in_process import run_in_process
    from torch_debugger.report.json_and_markdown import to_json
    from torch_debugger.settings import Settings

    chosen: dict[str, Any] = settings_of([*options(script), *settings])
    result, code = run_in_process(str(file), (), Settings(**chosen))
    return to_json(result) | {"exit_code": code}


def _by_command(job: Job, file: Path) -> Result:
    """The processes of a command are forks too."""
    limit_s = LAUNCHED_TIMEOUT_S if job.launched else TIMEOUT_S
    subprocess.Popen = preloaded.Forking  # type: ignore[misc]
    if job.launched and "spawn" in job.source:
        os.environ.update(preloaded.spawns_in_forks)
    code = run_to_its_end(command_of(job.script, file), 0.9 * limit_s)
    plain: Result = json.loads(Path("out.json").read_text())
    return plain | {"exit_code": code}


if __name__ == "__main__":
    preload()
    switched_on = [word[2:] for word in sys.argv[2:] if word.startswith("--")]
    scripts = [Path(word).absolute() for word in sys.argv[2:] if not word.startswith("--")]
    run_all([Job(script) for script in scripts], Path(sys.argv[1]), switched_on)
