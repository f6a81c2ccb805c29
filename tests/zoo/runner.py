"""Runs many scripts under the debugger, each in a fork of one process that has only imported torch.

    python -m tests.zoo.runner RESULTS [--SETTING...] SCRIPT...

Importing torch costs seconds; a fork costs milliseconds. No op runs before the fork (a fork after
multi-threaded ops can hang), so the forks start as fresh as an interpreter that imported torch.
Each result is the run's JSON, with the script's output beside it.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests import absurd_allocations
from tests.zoo.expectations import launch_of, options, settings_of
from tests.zoo.launching import command_of, run_to_its_end

TIMEOUT_S = 90.0
LAUNCHED_TIMEOUT_S = 240.0  # ranks that import torch each, on a machine that does other things as well
SWITCHED_ON: list[str] = []  # settings, for all scripts
FRESH = "# needs a fresh interpreter"  # a script with this line is run by the real command instead


def result_name(script: Path) -> str:
    return "_".join(script.resolve().parts[-4:]).replace(".py", "")


def run_all(scripts: list[Path], results: Path, at_once: int) -> None:
    waiting, running = list(scripts), {}
    while waiting or running:
        while waiting and len(running) < at_once:
            script = waiting.pop(0)
            running[_fork(script, results)] = (script, time.monotonic() + _timeout_s(script))
        _reap(running, results)
        time.sleep(0.01)


def _reap(running: dict[int, tuple[Path, float]], results: Path) -> None:
    for pid, (script, deadline) in list(running.items()):
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            del running[pid]
            failed = results / f"{result_name(script)}.failed"
            if status and not failed.exists():
                failed.write_text(f"the runner's fork ended with {status}")
        elif time.monotonic() > deadline:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            del running[pid]
            (results / f"{result_name(script)}.failed").write_text(f"no end after {_timeout_s(script)} s")


def _timeout_s(script: Path) -> float:
    return LAUNCHED_TIMEOUT_S if launch_of(script) else TIMEOUT_S


def _fork(script: Path, results: Path) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        _be_the_script(script, results)
        os._exit(0)
    except BaseException as error:  # the fork must never return into the runner's loop
        (results / f"{result_name(script)}.failed").write_text(f"{type(error).__name__}: {error}")
        os._exit(1)


def _be_the_script(script: Path, results: Path) -> None:
    output = os.open(results / f"{result_name(script)}.out", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        with absurd_allocations.refused():
            fresh = FRESH in script.read_text() or launch_of(script)
            plain = _by_the_command(script) if fresh else _in_this_fork(script)
        sys.stdout.flush()
        sys.stderr.flush()
        (results / f"{result_name(script)}.json").write_text(json.dumps(plain))
        os.chdir("/")


def _in_this_fork(script: Path) -> dict[str, Any]:
    torch.set_num_threads(1)
    chosen: dict[str, Any] = settings_of([*options(script), *SWITCHED_ON])
    result, code = run_in_process(str(script), (), Settings(**chosen))
    return to_json(result) | {"exit_code": code}


def _by_the_command(script: Path) -> dict[str, Any]:
    """Spawned processes import the script anew, from the file that python was started with."""
    code = run_to_its_end(command_of(script), 0.9 * _timeout_s(script))
    plain: dict[str, Any] = json.loads(Path("out.json").read_text())
    return plain | {"exit_code": code}


if __name__ == "__main__":
    import rich.console  # noqa: F401  imported once for all forks, as are
    import torch
    import torch._dynamo  # which every optimizer imports when it is first made

    import torch_debugger.plumbing  # noqa: F401
    from torch_debugger.checks.catalog import catalog
    from torch_debugger.cli.in_process import run_in_process
    from torch_debugger.report.json_form import to_json
    from torch_debugger.settings import Settings

    catalog()
    gc.collect()
    gc.freeze()  # else every fork looks through all of torch's objects, and copies their memory by that
    SWITCHED_ON += [word[2:] for word in sys.argv[2:] if word.startswith("--")]
    scripts = [Path(word).resolve() for word in sys.argv[2:] if not word.startswith("--")]
    run_all(scripts, Path(sys.argv[1]), at_once=os.cpu_count() or 1)
