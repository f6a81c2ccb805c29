"""tests/preloaded.py starts programs as subprocess does."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests import preloaded

TELLS = """
import json, os, sys
surroundings = [sys.argv, os.getcwd(), os.environ.get("COLOUR"), sys.stdin.read(), __name__]
print(json.dumps([*surroundings, "torch" in sys.modules]))
print("aside", file=sys.stderr)
sys.exit(5)
"""


def test_arguments_surroundings_output_and_exit_code_are_those_of_subprocess(
    tmp_path: Path,
) -> None:
    script = tmp_path / "tells.py"
    script.write_text(TELLS)
    options = {"cwd": tmp_path, "env": os.environ | {"COLOUR": "red"}, "capture_output": True, "text": True}
    for way in ([str(script)], ["-u", str(script)], ["-c", TELLS], ["-m", "tells"]):
        command = [sys.executable, *way, "a", "b c"]
        real = subprocess.run(command, input="told", **options)  # type: ignore[call-overload]
        forked = preloaded.run(command, input="told", **options)
        assert (forked.returncode, forked.stderr) == (real.returncode, real.stderr) == (5, "aside\n")
        heard, wanted = json.loads(forked.stdout), json.loads(real.stdout)
        assert heard[:-1] == wanted[:-1]
        assert (heard[-1], wanted[-1]) == (True, False), "the fork has torch imported, the real one has not"


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("raise SystemExit('no')", 1),
        ("1 / 0", 1),
        ("import os; os._exit(9)", 9),
        ("import os; os.kill(os.getpid(), 9)", -9),
        ("import signal; signal.raise_signal(signal.SIGINT)", -signal.SIGINT),
        (
            "import atexit, signal; atexit.register(print, 'late'); signal.raise_signal(signal.SIGINT)",
            -signal.SIGINT,
        ),
        (
            "import threading, time; threading.Thread(target=lambda: (time.sleep(0.2), print('late'))).start()",
            0,
        ),
    ],
)
def test_every_end_has_its_status(code: str, status: int) -> None:
    ended = preloaded.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ended.returncode == status
    assert ended.stdout == ("late\n" if "late" in code else "")


def test_one_that_ends_before_its_number_is_read_keeps_its_status(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a busy machine: both have been told when somebody comes to read the first."""
    send = preloaded.Server.send

    def send_and_sleep(server: preloaded.Server, plain: bytes, fds: list[int]) -> None:
        send(server, plain, fds)
        time.sleep(1)

    monkeypatch.setattr(preloaded.Server, "send", send_and_sleep)
    assert preloaded.run([sys.executable, "-c", "raise SystemExit(7)"]).returncode == 7


def test_a_signal_reaches_the_process_and_a_time_limit_ends_it() -> None:
    waits = [sys.executable, "-c", "import time; print('ready', flush=True); time.sleep(600)"]
    with preloaded.Popen(waits, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        assert process.poll() is None
        process.terminate()
        assert process.wait(60) == -signal.SIGTERM
    with pytest.raises(subprocess.TimeoutExpired):
        preloaded.run(waits, stdout=subprocess.DEVNULL, timeout=0.5)


def test_what_a_fork_starts_is_a_fork_too_and_other_programs_are_not() -> None:
    inner = "import sys; print('torch' in sys.modules)"
    outer = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {inner!r}])"
    assert preloaded.run([sys.executable, "-c", outer], capture_output=True, text=True).stdout == "True\n"
    assert preloaded.run(["echo", "plain"], capture_output=True, text=True).stdout == "plain\n"
    isolated = [sys.executable, "-I", "-c", inner]
    assert preloaded.run(isolated, capture_output=True, text=True).stdout == "False\n"


def test_a_fork_leaves_what_is_not_its_own_and_tidies_up_what_is() -> None:
    inner = "import tempfile; mine = tempfile.TemporaryDirectory(); print(mine.name)"
    outer = f"""
import os, subprocess, sys, tempfile
folder = tempfile.TemporaryDirectory()
told = subprocess.run([sys.executable, "-c", {inner!r}], stdout=subprocess.PIPE, text=True).stdout.strip()
print(os.path.isabs(told), os.path.exists(told), os.path.exists(folder.name))
"""
    ran = preloaded.run([sys.executable, "-c", outer], capture_output=True, text=True)
    assert ran.stdout == "True False True\n"


SPAWNS = """
import multiprocessing, sys
seen = "torch" in sys.modules  # when it is imported

def work(queue, number):
    queue.put((__name__, seen, multiprocessing.parent_process() is not None))
    sys.exit(number)

if __name__ == "__main__":
    seen = None
    queue = multiprocessing.get_context("spawn").SimpleQueue()
    processes = [multiprocessing.get_context("spawn").Process(target=work, args=(queue, n)) for n in (0, 3)]
    for process in processes:
        process.start()
    print(*(queue.get() for _ in processes))
    for process in processes:
        process.join()
    print([process.exitcode for process in processes])
"""


def test_what_multiprocessing_spawns_is_a_fork_of_a_process_that_has_not_run_the_script(tmp_path: Path) -> None:
    script = tmp_path / "spawns.py"
    script.write_text(SPAWNS)
    real = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    surroundings = os.environ | preloaded.spawns_in_forks
    forked = preloaded.run([sys.executable, str(script)], env=surroundings, capture_output=True, text=True)
    assert real.stdout == "('__mp_main__', False, True) ('__mp_main__', False, True)\n[0, 3]\n"
    assert forked.stdout == real.stdout.replace("False", "True"), forked.stderr
