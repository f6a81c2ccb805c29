"""However the script ends, its report, its JSON and its exit status come out."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests import preloaded
from tests.cli.conftest import LIMIT_S, QUICK, Write, run_forked, run_quick, run_really, run_watched
from torch_debugger.runner.watched_script import undisturbed

TRAINS = "import training, os, signal, sys\nfor n in range(5):\n    training.step(0.5)\n"
FLUSHED = TRAINS + "training.flush()\n"


def result(path: str = "out.json") -> dict[str, object]:
    read: dict[str, object] = json.loads(Path(path).read_text(encoding="utf-8"))
    return read


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGABRT", "SIGKILL", "SIGTERM", "SIGINT"])
def test_a_script_ended_by_a_signal_still_gets_its_report(name: str, write: Write) -> None:
    write(FLUSHED + f"os.kill(os.getpid(), signal.{name})")
    done = run_quick("--no-log", "--json", "out.json", "train.py")
    number = getattr(signal, name)
    assert done.returncode == -number
    assert result()["steps"] == 5
    assert result()["outcome"] == ("stopped" if name in ("SIGTERM", "SIGINT") else "crashed")
    assert result()["exit_code"] == 128 + number
    assert name in done.stderr


def test_the_real_command_survives_a_real_crash_of_the_interpreter(write: Write) -> None:
    """Once without a fork: what a segmentation fault leaves of the log is read by a parent of its own."""
    write(FLUSHED + "import ctypes\nctypes.string_at(0)")
    done = run_really([*QUICK, "run", "--no-log", "--json", "out.json", "train.py"])
    assert (done.returncode, result()["exit_code"]) == (-signal.SIGSEGV, 128 + signal.SIGSEGV)
    assert (result()["outcome"], result()["steps"]) == ("crashed", 5)
    assert "train.py was ended by signal 11 (SIGSEGV) after 5 steps" in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("ending", "code", "outcome"),
    [
        ("", 0, "finished"),
        ("sys.exit(0)", 0, "finished"),
        ("sys.exit(2)", 2, "stopped"),
        ("raise KeyboardInterrupt", -2, "stopped"),
        ("raise ValueError('x')", 1, "crashed"),
        ("training.flush(); os._exit(6)", 6, "crashed"),
    ],
)
def test_outcome_and_exit_code(ending: str, code: int, outcome: str, write: Write) -> None:
    write(TRAINS + ending)
    for how in ("--no-log", "--in-process"):
        if how == "--in-process" and "_exit" in ending:
            continue  # takes us along: that is what the child process is for
        done = run_quick(how, "--json", "out.json", "train.py")
        assert (how, done.returncode) == (how, code), done.stderr
        assert (result()["outcome"], result()["steps"]) == (outcome, 5)
        Path("out.json").unlink()  # so that the next one has to write its own


def test_a_run_that_trains_in_a_thread_and_in_an_exit_handler_is_watched_to_the_end(write: Write) -> None:
    write(
        """
        import atexit, threading, training
        atexit.register(training.step, 200.0)
        threading.Thread(target=lambda: (threading.main_thread().join(), training.step(0.5))).start()
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


ASKS_AND_ANSWERS = """
import training
training.step(-1.0)
training.step(200.0)
training.flush()
print(training.wait_for_the_judge())
"""


def test_findings_are_announced_and_notes_are_not(write: Write) -> None:
    write(ASKS_AND_ANSWERS)
    said = run_quick("--no-log", "train.py").stderr.splitlines()
    announced = [line for line in said if line.startswith("torch-debugger: ")]
    assert "torch-debugger: error loss-too-large at train.py:3: The loss was 200 at step 2." in announced
    assert "torch-debugger: step 2 | loss 200 | " in " ".join(announced)
    assert not any("note loss" in line for line in announced)


def test_a_finding_s_request_reaches_the_watched_process(write: Write) -> None:
    write(ASKS_AND_ANSWERS)
    asked = "Request(steps=5, modules=(), reason='a closer look', profile=False)"
    for how in ("--no-log", "--in-process"):
        assert asked in run_quick(how, "train.py").stdout, how


def test_quiet_says_the_verdict_or_nothing(write: Write) -> None:
    write(ASKS_AND_ANSWERS)
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
    write("import os, training\ntraining.step(0.5)\nprint(len(os.listdir('temporary')))")
    assert run_quick("--no-log", "train.py").stdout == "1\n"  # while it runs, it is there
    assert sorted(path.name for path in tmp_path.rglob("*") if path.name != "__pycache__") == ["temporary", "train.py"]


def test_a_script_without_torch_is_told_so_in_one_line(write: Write) -> None:
    write("print('no torch here')")
    said = run_watched("--no-log", "train.py").stderr
    assert "without importing torch" in said and said.count("\n") == 1


def test_json_goes_to_a_pipe_as_well(write: Write) -> None:
    write("import training\ntraining.step(0.5)")
    assert json.loads(run_quick("--no-log", "--json", "/dev/stdout", "train.py").stdout)["steps"] == 1


def test_signals_sent_to_the_parent_reach_the_script(write: Write) -> None:
    names = ("SIGHUP", "SIGUSR1", "SIGUSR2", "SIGTERM")
    write(
        f"""
        import os, signal, sys, time
        def got(number, frame):
            # os.write: the signal may come in the middle of print(), which cannot be entered again.
            os.write(1, f"got {{signal.Signals(number).name}}\\n".encode())
            if number == signal.SIGTERM:
                sys.exit(11)
        for name in {names}:
            signal.signal(getattr(signal, name), got)
        print("ready", flush=True)
        while True:
            time.sleep(60)
        """
    )
    with _start("--no-log", "train.py") as parent:
        assert parent.stdout.readline() == "ready\n"
        for name in names:
            parent.send_signal(getattr(signal, name))
            assert parent.stdout.readline() == f"got {name}\n"
        assert parent.wait(LIMIT_S) == 11


def test_an_interrupt_sent_to_the_parent_alone_changes_nothing(write: Write) -> None:
    write("import training\nprint('ready', flush=True)\ntraining.wait_for('interrupted')\nprint('done')")
    with _start("--no-log", "train.py") as parent:
        parent.stdout.readline()
        parent.send_signal(signal.SIGINT)
        Path("interrupted").touch()
        assert parent.stdout.readline() == "done\n"
        assert parent.wait(LIMIT_S) == 0


NOHUP = ["sh", "-c", 'trap "" HUP; exec "$@"', "sh", *QUICK, "run", "--no-log", "train.py"]


def test_what_nohup_ignores_stays_ignored(write: Write) -> None:
    write("import signal; print(signal.getsignal(signal.SIGHUP) == signal.SIG_IGN)")
    done = run_really(NOHUP)
    assert (done.returncode, done.stdout) == (0, "True\n")


def test_a_script_that_asks_for_what_nohup_ignores_gets_it(write: Write) -> None:
    write(
        """
        import os, signal, time
        got = []
        signal.signal(signal.SIGHUP, lambda number, frame: got.append(number))
        os.kill(os.getppid(), signal.SIGHUP)
        while not got:
            time.sleep(0.01)
        print("got it")
        """
    )
    done = run_really(NOHUP)
    assert (done.returncode, done.stdout) == (0, "got it\n")


@pytest.mark.parametrize("stderr", ["2> >(true)", "2> /dev/full"])
def test_a_stderr_that_nobody_reads_costs_the_report_alone(stderr: str, write: Write) -> None:
    write(TRAINS + "import time; time.sleep(0.5)\nos._exit(4)")
    done = run_really(["bash", "-c", f'"$@" {stderr}', "sh", *QUICK, "run", "--no-log", "train.py"])
    assert (done.returncode, done.stderr) == (4, "")


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
    write("import sys, training\ntraining.step(0.5)\nprint('trained')\nsys.exit(7)")
    broken = "import torch_debugger.log.reader_records as r, runpy, sys\n"
    broken += "r.LogFollower.read_ranks_on = lambda self, **_: 1 / 0\nsys.argv[0] = sys.argv.pop(1)\n"
    broken += "runpy.run_path(sys.argv[0])"
    done = run_forked([sys.executable, "-c", broken, QUICK[1], "run", "--no-log", "train.py"])
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
    return preloaded.Popen([*QUICK, "run", *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def test_a_request_to_end_is_passed_on_when_all_is_written() -> None:
    told: list[str] = []
    before = signal.signal(signal.SIGTERM, lambda *_: told.append("asked to end"))
    try:
        with undisturbed():
            signal.raise_signal(signal.SIGTERM)
            told.append("written")
        assert told == ["written", "asked to end"]
        signal.raise_signal(signal.SIGTERM)
        assert told[2:] == ["asked to end"], "the script's own handler is back"
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_second_ctrl_c_is_too_late() -> None:
    with undisturbed():
        signal.raise_signal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
