"""However the script ends, its report, its JSON and its exit status come out."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.cli.conftest import LIMIT_S, QUICK, Write, run_quick, run_watched

TRAINS = "import training, os, signal, sys\nfor n in range(5):\n    training.step(0.5)\n"
FLUSHED = TRAINS + "training.flush()\n"


def result(path: str = "out.json") -> dict[str, object]:
    read: dict[str, object] = json.loads(Path(path).read_text(encoding="utf-8"))
    return read


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGABRT", "SIGKILL", "SIGTERM"])
def test_a_script_ended_by_a_signal_still_gets_its_report(name: str, write: Write) -> None:
    write(FLUSHED + f"os.kill(os.getpid(), signal.{name})")
    done = run_quick("--no-log", "--json", "out.json", "train.py")
    number = getattr(signal, name)
    assert done.returncode == 128 + number
    assert result()["steps"] == 5
    assert result()["outcome"] == ("stopped" if name == "SIGTERM" else "crashed")
    assert result()["exit_code"] == 128 + number
    assert name in done.stderr


@pytest.mark.parametrize(
    ("ending", "code", "outcome"),
    [
        ("", 0, "finished"),
        ("sys.exit(0)", 0, "finished"),
        ("sys.exit(2)", 2, "stopped"),
        ("raise KeyboardInterrupt", 130, "stopped"),
        ("raise ValueError('x')", 1, "crashed"),
        ("os._exit(6)", 6, "crashed"),
    ],
)
@pytest.mark.parametrize("how", ["--no-log", "--in-process"])
def test_outcome_and_exit_code(ending: str, code: int, outcome: str, how: str, write: Write) -> None:
    if how == "--in-process" and "_exit" in ending:
        return  # takes us along: that is what the child process is for
    write((FLUSHED if "_exit" in ending else TRAINS) + ending)
    done = run_quick(how, "--json", "out.json", "train.py")
    assert (done.returncode, result()["outcome"], result()["steps"]) == (code, outcome, 5)


def test_a_run_that_trains_in_a_thread_and_in_an_exit_handler_is_watched_to_the_end(write: Write) -> None:
    write(
        """
        import atexit, threading, time, training
        atexit.register(training.step, 200.0)
        threading.Thread(target=lambda: (time.sleep(0.2), training.step(0.5))).start()
        """
    )
    done = run_quick("--no-log", "--json", "out.json", "train.py")
    assert (done.returncode, result()["steps"]) == (0, 2)
    assert result()["findings"][0]["first_step"] == 2  # type: ignore[index]


def test_fail_on_and_its_limits(write: Write) -> None:
    write("import training\ntraining.step(200.0)")
    assert run_quick("--no-log", "train.py").returncode == 0
    assert run_quick("--no-log", "--fail-on", "error", "train.py").returncode == 3
    assert run_quick("--no-log", "--fail-on", "warning", "--in-process", "train.py").returncode == 3
    assert run_quick("--no-log", "--fail-on", "error", "--ignore", "TD599", "train.py").returncode == 0
    write("import training, sys\ntraining.step(200.0)\nsys.exit(4)")
    assert run_quick("--no-log", "--fail-on", "error", "train.py").returncode == 4
    write("import training\ntraining.step(-1.0)")
    assert run_quick("--no-log", "--fail-on", "warning", "train.py").returncode == 0


def test_findings_are_announced_and_notes_are_not(write: Write) -> None:
    write("import time, training\ntraining.step(-1.0)\ntraining.step(200.0)\ntraining.flush()\ntime.sleep(0.7)")
    said = run_quick("--no-log", "train.py").stderr.splitlines()
    announced = [line for line in said if line.startswith("torch-debugger: ")]
    assert "torch-debugger: error loss-too-large at train.py:3: The loss was 200 at step 2." in announced
    assert "torch-debugger: step 2 | loss 200 | " in " ".join(announced)
    assert not any("note loss" in line for line in announced)


def test_a_finding_s_request_reaches_the_watched_process(write: Write) -> None:
    write(
        """
        import time, training
        training.step(200.0)
        deadline = time.monotonic() + 30
        while not (got := training.session.requests.poll()) and time.monotonic() < deadline:
            time.sleep(0.05)
        print(got)
        """
    )
    expected = "[Request(steps=5, modules=(), reason='a closer look', profile=False)]\n"
    assert run_quick("--no-log", "train.py").stdout == expected
    assert run_quick("--no-log", "--in-process", "train.py").stdout == expected


def test_quiet_says_the_verdict_or_nothing(write: Write) -> None:
    write("import training, time\ntraining.step(200.0)\ntime.sleep(0.5)")
    said = run_quick("--quiet", "train.py").stderr
    assert said.startswith("error: loss-too-large")
    assert "runs/" not in said
    write("import training\ntraining.step(-1.0)")
    assert run_quick("--quiet", "train.py").stderr == ""


def test_the_log_folder_holds_log_report_and_result(write: Write) -> None:
    write("import os, training\ntraining.step(0.5)\nos.mkdir('x')\nos.chdir('x')")
    done = run_quick("train.py")
    (folder,) = Path("runs").iterdir()
    assert folder.name.startswith("train-")
    names = sorted(path.name for path in folder.iterdir())
    assert names[2:] == ["report.md", "result.json"] and all("tfevents" in name for name in names[:2])
    assert result(str(folder / "result.json"))["run"] == folder.name
    assert str(folder) in done.stderr


def test_no_log_leaves_nothing(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    write("import training\ntraining.step(0.5)")
    run_quick("--no-log", "train.py")
    assert sorted(path.name for path in tmp_path.rglob("*") if path.name != "__pycache__") == [
        "temporary",
        "train.py",
    ]


def test_a_script_without_torch_is_told_so_in_one_line(write: Write) -> None:
    write("print('no torch here')")
    said = run_watched("--no-log", "train.py").stderr
    assert "without using torch" in said and said.count("\n") == 1


def test_json_goes_to_a_pipe_as_well(write: Write) -> None:
    write("import training\ntraining.step(0.5)")
    assert json.loads(run_quick("--no-log", "--json", "/dev/stdout", "train.py").stdout)["steps"] == 1


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2"])
def test_signals_sent_to_the_parent_reach_the_script(name: str, write: Write) -> None:
    write(
        f"""
        import os, signal, sys, time
        # os.write: the signal may come in the middle of print(), which cannot be entered again.
        signal.signal(signal.{name}, lambda *_: (os.write(1, b"got it\\n"), sys.exit(11)))
        print("ready", flush=True)
        time.sleep(60)
        """
    )
    with _start("--no-log", "train.py") as parent:
        assert parent.stdout.readline() == "ready\n"
        parent.send_signal(getattr(signal, name))
        assert parent.stdout.readline() == "got it\n"
        assert parent.wait(LIMIT_S) == 11


def test_an_interrupt_sent_to_the_parent_alone_changes_nothing(write: Write) -> None:
    write("import time\nprint('ready', flush=True)\ntime.sleep(0.5)\nprint('done')")
    with _start("--no-log", "train.py") as parent:
        parent.stdout.readline()
        parent.send_signal(signal.SIGINT)
        assert parent.stdout.readline() == "done\n"
        assert parent.wait(LIMIT_S) == 0


def test_what_nohup_ignores_stays_ignored(write: Write) -> None:
    write("import signal; print(signal.getsignal(signal.SIGHUP) == signal.SIG_IGN)")
    done = subprocess.run(
        ["sh", "-c", 'trap "" HUP; exec "$@"', "sh", *QUICK, "run", "--no-log", "train.py"],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=True,
    )
    assert done.stdout == "True\n"


def test_the_training_goes_on_when_the_parent_is_killed(write: Write, tmp_path: Path) -> None:
    write(
        """
        import os, pathlib, sys, time, training
        parent = os.getppid()
        print("ready", flush=True)
        while os.getppid() == parent:
            time.sleep(0.02)
        for n in range(50):
            training.step(200.0)
            training.session.requests.poll()
        pathlib.Path("finished.tmp").write_text(str(training.session.steps))
        os.rename("finished.tmp", "finished")
        """
    )
    with _start("--log-dir", "log", "train.py") as parent:
        parent.stdout.readline()
        parent.kill()
    finished = tmp_path / "finished"
    deadline = time.monotonic() + LIMIT_S
    while not finished.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert finished.read_text() == "50"


def test_a_fault_in_the_parent_costs_one_sentence_and_not_the_exit_code(write: Write) -> None:
    write("import sys, time, training\ntraining.step(0.5)\ntime.sleep(0.3)\nprint('trained')\nsys.exit(7)")
    broken = "import torch_debugger.runlog.reader as r, runpy, sys\n"
    broken += "r.LogFollower.read_ranks_on = lambda self, **_: 1 / 0\nsys.argv[0] = sys.argv.pop(1)\n"
    broken += "runpy.run_path(sys.argv[0])"
    done = subprocess.run(
        [QUICK[0], "-c", broken, QUICK[1], "run", "--no-log", "train.py"],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert (done.returncode, done.stdout) == (7, "trained\n")
    assert "stopped watching by a fault of its own (ZeroDivisionError: division by zero)" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_fault_in_the_session_costs_one_sentence_and_not_the_training(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("print('trained')", "train.py")
    monkeypatch.setenv("BREAK_THE_SESSION", "1")
    done = run_watched("--no-log", "train.py")
    assert (done.returncode, done.stdout) == (0, "trained\n")
    assert "a fault of its own (ZeroDivisionError: division by zero); your script is not touched" in done.stderr
    assert "Traceback" not in done.stderr


def _start(*words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*QUICK, "run", *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
