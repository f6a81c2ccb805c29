"""The page by its commands: real processes, real connections, and profiles of cProfile."""

from __future__ import annotations

import cProfile
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import pytest

from tests import preloaded
from tests.cli.conftest import DEBUGGER, FRESH_QUICK, LIMIT_S, QUICK, Done, Write, debugger, run_quick
from tests.cli.terminal import Terminal
from tests.viewer.serving import end_run, make_run
from torch_debugger.cli.view import read_folders, read_profiles
from torch_debugger.system.errors import UsageError

ADDRESS = re.compile(r"http://127\.0\.0\.1:(\d+)/")
WAITS = """
    import os, sys, time, training
    training.step(0.5)
    training.flush()
    while not os.path.exists("go"):
        time.sleep(0.05)
    sys.exit(7)
"""


@pytest.fixture(autouse=True)
def no_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)


@contextmanager
def started(*words: str, command: list[str] = DEBUGGER) -> Iterator[subprocess.Popen[str]]:
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = preloaded.Popen([*command, *words], text=True, start_new_session=True, **pipes)  # type: ignore[call-overload]
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # and its script, which would hold our pipes open
        process.communicate()


def view(*words: str) -> Done:
    return debugger("view", *words)


def port_in(said: IO[str] | None) -> int:
    """From the first line with an address."""
    assert said is not None
    line = next((line for line in said if "http://" in line), "")
    found = ADDRESS.search(line)
    assert found, line
    return int(found[1])


def ask(port: int, question: str) -> Any:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LIMIT_S)
    try:
        connection.request("GET", f"/ask/{question}")
        return json.loads(connection.getresponse().read())
    finally:
        connection.close()


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def is_gone(port: int) -> bool:
    try:
        ask(port, "names")
    except OSError:
        return True
    return False


def test_the_runs_of_the_folder_are_shown_until_ctrl_c(tmp_path: Path) -> None:
    make_run(tmp_path / "runs" / "one")
    with started("view") as process:
        port = port_in(process.stdout)
        assert ask(port, "names")["runs"] == ["one"]
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=LIMIT_S)
        assert (process.returncode, out.strip(), error) == (0, "", "")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "There is no folder runs"),
        (["nowhere"], "There is no folder nowhere"),
        (["train.py"], "train.py is no folder of runs"),
        ([".", "--port", "x"], "--port takes a number from 0 to 65535"),
        ([".", "--port", "70000"], "--port takes a number from 0 to 65535"),
        ([".", "--host", "no.such.host.invalid"], "does not know the host"),
    ],
)
def test_what_cannot_be_shown_is_said(words: list[str], sentence: str, write: Write) -> None:
    write("pass")
    done = view(*words)
    assert done.returncode == 2
    assert sentence in done.stderr and done.stderr.count("\n") == 1


def test_a_port_in_use_is_said(tmp_path: Path) -> None:
    with started("view", ".") as process:
        port = port_in(process.stdout)
        done = view(".", "--port", str(port))
    assert done.returncode == 2
    assert f"127.0.0.1:{port}" in done.stderr and "in use" in done.stderr


def test_other_machines_need_the_token_that_is_printed(tmp_path: Path) -> None:
    make_run(tmp_path / "one")
    with started("view", ".", "--host", "0.0.0.0") as process:
        assert process.stdout is not None
        found = re.search(r":(\d+)/\?token=(\S{24,})", process.stdout.readline())
        assert found
        assert "token" in ask(int(found[1]), "names")["error"]
        assert ask(int(found[1]), f"names?token={found[2]}")["runs"] == ["one"]


def test_a_browser_is_opened_where_there_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {tmp_path}/opened.new\nmv {tmp_path}/opened.new {tmp_path}/opened\n')
    browser.chmod(0o755)
    monkeypatch.setenv("BROWSER", f"{browser} %s")
    with started("view", ".") as process:
        port = port_in(process.stdout)
        wait_until((tmp_path / "opened").exists)
        assert (tmp_path / "opened").read_text() == f"http://127.0.0.1:{port}/\n"


def test_folders_are_called_by_what_is_in_them(tmp_path: Path) -> None:
    end_run(make_run(tmp_path / "a" / "one"))
    end_run(make_run(tmp_path / "b" / "one"))
    above, one, other = str(tmp_path / "a"), str(tmp_path / "a" / "one"), str(tmp_path / "b" / "one")
    assert read_folders([(None, above)]) == {"": above}
    assert read_folders([(None, one)]) == {"one": one}
    assert read_folders([(None, one + "/"), (None, one)]) == {"one": one}
    assert read_folders([(None, one), (None, other)]) == {"one": one, other: other}
    file = next(path for path in os.listdir(one) if "tfevents" in path)
    assert read_folders([(None, os.path.join(one, file))]) == {"one": one}


def test_a_run_is_shown_while_it_goes_on_and_keeps_its_exit_code(tmp_path: Path, write: Write) -> None:
    make_run(tmp_path / "runs" / "before")
    write(WAITS)
    with started("run", "--view", "train.py", command=QUICK) as process:
        port = port_in(process.stderr)
        wait_until(lambda: len(ask(port, "names")["runs"]) == 2)
        name = next(name for name in ask(port, "names")["runs"] if name != "before")
        wait_until(lambda: ask(port, f"about?run={name}").get("steps") == 1)
        assert ask(port, f"pulse?run={name}")["growing"] is True
        (tmp_path / "go").touch()
        _, error = process.communicate(timeout=LIMIT_S)
        assert process.returncode == 7
        assert error.count("http://") == 0  # the address was said once
    assert is_gone(port)


def test_a_run_elsewhere_is_shown_alone(tmp_path: Path, write: Write) -> None:
    make_run(tmp_path / "logs" / "before")
    write(WAITS)
    with started("run", "--view-port", "0", "--log-dir", "logs/new", "train.py", command=QUICK) as process:
        port = port_in(process.stderr)
        wait_until(lambda: ask(port, "names")["runs"] == ["new"])


def test_the_page_does_not_outlive_who_started_it(tmp_path: Path, write: Write) -> None:
    write(WAITS)
    # A fork of a fork would have the pipe in hand whose end tells the page that it is alone.
    with started("run", "--view", "train.py", command=FRESH_QUICK) as process:
        port = port_in(process.stderr)
        wait_until(lambda: bool(ask(port, "names")["runs"]))
        process.kill()
        wait_until(lambda: is_gone(port))
    (tmp_path / "go").touch()  # the script itself may go on, and ends now


def test_a_port_in_use_is_said_before_the_run_begins(tmp_path: Path, write: Write) -> None:
    write("open('began', 'w')")
    with started("view", ".") as process:
        port = str(port_in(process.stdout))
        done = run_quick("--view", "--view-port", port, "train.py")
    assert done.returncode == 2 and "in use" in done.stderr
    assert not (tmp_path / "began").exists()


@pytest.mark.parametrize(("log", "stays"), [("--log-limit=1MB", True), ("--no-log", False)])
def test_at_a_terminal_the_page_stays_until_ctrl_c(
    tmp_path: Path, write: Write, monkeypatch: pytest.MonkeyPatch, log: str, stays: bool
) -> None:
    monkeypatch.delenv("COLUMNS")
    write("import sys, training\ntraining.step(0.5)\nsys.exit(7)")
    with Terminal([*QUICK, "run", "--view", log, "train.py"], forked=True) as terminal:
        if stays:
            terminal.wait_for("until you press Ctrl-C")
            found = ADDRESS.search("".join(terminal.all_lines))
            assert found and len(ask(int(found[1]), "names")["runs"]) == 1
            terminal.type("\x03")
        assert terminal.finish() == 7
        assert ("until you press" in "".join(terminal.all_lines)) == stays


def test_neither_command_loads_torch(tmp_path: Path) -> None:
    code = "import sys, torch_debugger.cli.view, torch_debugger.cli.page_beside_run, torch_debugger.viewer.server\n"
    code += "sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def profile_at(path: Path) -> Path:
    profiler = cProfile.Profile()
    profiler.runcall(sorted, range(100))
    path.parent.mkdir(exist_ok=True)
    profiler.dump_stats(path)
    return path


def test_a_profile_is_shown_instead_of_runs(tmp_path: Path) -> None:
    profile_at(tmp_path / "a.prof")
    make_run(tmp_path / "runs" / "one")
    with started("view", "a.prof", "--no-open") as process:
        port = port_in(process.stdout)
        assert ask(port, "session")["profiles"] == ["a.prof"]
        assert ask(port, "names")["runs"] == []
        names = [row[0] for row in ask(port, "calls?profile=a.prof")["functions"]]
        assert "<built-in method builtins.sorted>" in names
        assert "no profile" in ask(port, "calls?profile=../a.prof")["error"]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"torch", "a.prof is no profile: a profile as cProfile writes it"),
        (b"{(\x01\x00\x00\x00", "a.prof ends in the middle"),
        (b"{(\xff\xff\xff\x7fN", "a.prof was not read: a process with limits"),
    ],
)
def test_what_is_no_profile_is_said_in_one_line(tmp_path: Path, content: bytes, sentence: str) -> None:
    (tmp_path / "a.prof").write_bytes(content)
    done = view("a.prof")
    assert done.returncode == 2
    assert sentence in done.stderr and done.stderr.count("\n") == 1


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    done = view("gone.prof")
    assert done.returncode == 2 and "There is no folder gone.prof" in done.stderr


def test_several_profiles_keep_apart(tmp_path: Path) -> None:
    one, other, third = (profile_at(tmp_path / name) for name in ("x/a.prof", "y/a.prof", "z/b.prof"))
    assert list(read_profiles([str(one), str(other), str(third)])) == [str(one), str(other), "b.prof"]
    assert read_profiles([str(tmp_path)]) == {}


def test_profiles_and_runs_are_not_mixed(tmp_path: Path) -> None:
    one = str(profile_at(tmp_path / "a.prof"))
    with pytest.raises(UsageError, match="a page shows profiles or runs"):
        read_profiles([one, "runs"])
