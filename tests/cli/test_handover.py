"""A crash under `torch-debugger run`: the explanation, and below it the whole traceback, come what may."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Write, run_plain, run_watched
from torch_debugger.log.process_channels import Board
from torch_debugger.runner.launch import Handover, show_at_exit

CRASH = "def f(x):\n    return 1 / x\nf(0)\n"


def test_the_explanation_stands_above_the_traceback(write: Write) -> None:
    write(CRASH)
    done = run_watched("--no-log", "train.py")
    plain = run_plain("train.py")
    assert done.stderr.index("error: unexplained-crash") < done.stderr.index("Traceback")
    assert done.stderr.count(plain.stderr) == 1
    after = done.stderr[done.stderr.index(plain.stderr) + len(plain.stderr) :]
    assert after.startswith("\n  run       train.py crashed with exit code 1 before its first step was done.\n")
    assert "  fix       unexplained-crash at train.py:1: " in after
    assert done.returncode == plain.returncode == 1


def test_quiet_shows_the_traceback_alone_where_no_cause_is_known(write: Write) -> None:
    write(CRASH)
    assert run_watched("--no-log", "--quiet", "train.py").stderr == run_plain("train.py").stderr


def test_without_a_parent_the_child_prints_its_traceback(write: Write) -> None:
    write(f"import os, signal\n{KILL_PARENT}{CRASH}")
    done = run_watched("--no-log", "train.py")
    assert done.stderr.count("ZeroDivisionError: division by zero") == 1
    assert "unexplained-crash" not in done.stderr


KILL_PARENT = "os.kill(os.getppid(), signal.SIGKILL)\n"

# It goes on when this process has ended, whose end of the pipe is closed by that.
STOP_PARENT = """
import os, signal, subprocess
parent = os.getppid()
waits = subprocess.Popen(["sh", "-c", f"read nothing; kill -CONT {parent}"], stdin=subprocess.PIPE)
os.kill(parent, signal.SIGSTOP)
"""


def test_a_parent_that_does_not_answer_is_not_waited_for(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HANDOVER_WAIT_S", "0.5")
    write(STOP_PARENT + CRASH)
    done = run_watched("--no-log", "train.py")
    assert done.stderr.count("Traceback") == 1
    assert done.returncode == 1


@pytest.mark.parametrize(
    "taken",
    ["import sys\nsys.stderr = open('errors.txt', 'w')\n",
     "import os\nos.dup2(os.open('errors.txt', os.O_WRONLY | os.O_CREAT), 2)\n"],
    ids=["the script's own", "redirected"],
)  # fmt: skip
def test_a_stderr_that_leads_elsewhere_gets_the_traceback(taken: str, write: Write, tmp_path: Path) -> None:
    write(taken + CRASH)
    done = run_watched("--no-log", "train.py")
    assert "Traceback" not in done.stderr
    assert "ZeroDivisionError: division by zero\n" in (tmp_path / "errors.txt").read_text()


def test_an_excepthook_of_the_scripts_own_shows_it_its_own_way(write: Write) -> None:
    write(f"import sys\nsys.excepthook = lambda *e: sys.stderr.write('mine: ' + repr(e[1]))\n{CRASH}")
    done = run_watched("--no-log", "train.py")
    assert "mine: ZeroDivisionError('division by zero')" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_crash_is_told_at_once_though_threads_go_on(write: Write) -> None:
    late = "import sys, threading\n"
    late += "def go_on():\n    threading.main_thread().join()\n    sys.stderr.write('the thread is done\\n')\n"
    late += "threading.Thread(target=go_on).start()\n"
    write(late + CRASH)
    done = run_watched("--no-log", "train.py")
    assert done.stderr.index("ZeroDivisionError") < done.stderr.index("the thread is done")
    assert done.stderr.index("the thread is done") < done.stderr.index("  run  ")


def test_a_fork_that_crashes_prints_its_own(write: Write) -> None:
    write(f"import os\npid = os.fork()\nif pid:\n    os.waitpid(pid, 0)\n    raise SystemExit(5)\n{CRASH}")
    done = run_watched("--no-log", "train.py")
    assert done.stderr.count("ZeroDivisionError: division by zero\n") == 1
    assert done.returncode == 5


def test_in_process_says_the_same(write: Write) -> None:
    write(CRASH)
    apart = run_watched("--no-log", "train.py")
    assert run_watched("--no-log", "--in-process", "train.py").stderr == apart.stderr


def test_ctrl_c_while_the_last_one_is_shown_is_not_met_by_a_line_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = []

    def python_s_own(kind: Any, error: BaseException, traceback: Any) -> None:
        shown.append(error)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(sys, "__excepthook__", python_s_own)
    monkeypatch.setattr(sys, "excepthook", python_s_own)
    show_at_exit(Handover(Board.create()), look_into=False)
    interrupt = KeyboardInterrupt()
    sys.excepthook(KeyboardInterrupt, interrupt, None)
    assert shown == [interrupt]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
