"""Runs a program once: in a fresh folder at the same place each time, by a fresh interpreter."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from tests.hostile.grammar import Link, Program

REPOSITORY = Path(__file__).parents[2]
PLAIN = (sys.executable,)
# Everything of ours goes beside the program's folder: what the program sees of its own must stay the same.
WATCHED = (sys.executable, "-m", "torch_debugger", "run", "--quiet", "--log-dir", "{root}/log",
           "--json", "{root}/result.json")  # fmt: skip
LIMIT_S = 240  # only a hang takes this long
CHILDREN_END_S = 5.0  # how long processes that outlive the program have until they count as left over
THE_SAME_TIME = 1_700_000_000  # of all files, since compiled modules carry it


@dataclass
class Run:
    """What is seen of one run from outside, and what its witness has told from inside."""

    ended: str
    stdout: bytes
    stderr: bytes
    files: dict[str, str]
    temporary: dict[str, str]
    left_over: list[str]
    told: list[dict[str, Any]]
    peak_mb: float
    processor_s: float
    wall_s: float
    result: dict[str, Any] | None = field(default=None)  # of --json


def run(program: Program, how: tuple[str, ...], root: Path) -> Run:
    """`root` is emptied first: both sides run under the same path, so that paths need no exceptions."""
    _empty(root)
    work = root / "work"
    for folder in (work, root / "tmp", root / "home", root / "witness"):
        folder.mkdir(parents=True)
    shutil.copy(Path(__file__).with_name("witness.py"), root / "witness")
    _write(program, work)
    command = [part.format(root=root) for part in how] + list(program.command)
    started = time.monotonic()
    process = subprocess.Popen(
        command, cwd=work, env=_environment(program, root), start_new_session=True,
        stdin=subprocess.DEVNULL if program.stdin is None else subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    if process.stdin is not None:
        process.stdin.write((program.stdin or "").encode())
        process.stdin.close()
    out, error = _Reader(process.stdout), _Reader(process.stderr)
    ended, peak_mb, processor_s = _wait(process)
    left_over = _end_others(f"WITNESS={root / 'told.jsonl'}".encode())
    return Run(
        ended, out.all(), error.all(), _files(work), _temporary(root), left_over,
        _told(root / "told.jsonl"), peak_mb, processor_s, time.monotonic() - started,
        _result(root / "result.json"),
    )  # fmt: skip


def _empty(root: Path) -> None:
    if root.exists():
        for folder, _, _ in os.walk(root):
            os.chmod(folder, 0o755)
        shutil.rmtree(root)


def _write(program: Program, work: Path) -> None:
    for name, content in program.files.items():
        path = work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, Link):
            path.symlink_to(content.target)
            continue
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        os.utime(path, (THE_SAME_TIME, THE_SAME_TIME))


def _environment(program: Program, root: Path) -> dict[str, str]:
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(root / "home"),
        "TMPDIR": str(root / "tmp"),
        "LANG": "C.UTF-8",
        "COLUMNS": "100",
        "OMP_NUM_THREADS": "1",
        "WITNESS": str(root / "told.jsonl"),
        "PYTHONPATH": os.pathsep.join([str(root / "witness"), str(REPOSITORY), *_carried()]),
        **program.environment,
    }


def _carried() -> list[str]:
    """What the caller itself needs on the path to import torch and our dependencies."""
    return [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path not in ("", str(REPOSITORY))]


class _Reader:
    """Reads a pipe to its end beside, so that no program waits for us."""

    def __init__(self, pipe: IO[bytes] | None) -> None:
        assert pipe is not None
        self._pipe, self._parts = pipe, list[bytes]()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        while part := os.read(self._pipe.fileno(), 1 << 16):
            self._parts.append(part)

    def all(self) -> bytes:
        self._thread.join(10)
        return b"".join(self._parts)


def _wait(process: subprocess.Popen[bytes]) -> tuple[str, float, float]:
    """How it ended, its peak of memory in MB and its processor seconds, those of its children included."""
    late = time.monotonic() + LIMIT_S
    hangs = False
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            break
        if not hangs and time.monotonic() > late:
            hangs = True
            os.killpg(process.pid, signal.SIGKILL)
        time.sleep(0.02)
    process.returncode = os.waitstatus_to_exitcode(status)
    ended = f"exit {process.returncode}"
    if process.returncode < 0:
        ended = signal.Signals(-process.returncode).name
    return "hangs" if hangs else ended, usage.ru_maxrss / 1024, usage.ru_utime + usage.ru_stime


def _end_others(mark: bytes) -> list[str]:
    """Waits for what the program has started, and ends what stays; by the variable that they all inherit."""
    late = time.monotonic() + CHILDREN_END_S
    while (others := _marked(mark)) and time.monotonic() < late:
        time.sleep(0.02)
    for pid in others:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    return sorted(others.values())


def _marked(mark: bytes) -> dict[int, str]:
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                ours = mark in (entry / "environ").read_bytes().split(b"\0")
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue  # it has ended meanwhile, or is another user's
            if ours:
                found[int(entry.name)] = command
    return found


def _files(folder: Path) -> dict[str, str]:
    found = {}
    for path in sorted(folder.rglob("*")) if folder.exists() else ():
        mode = oct(path.lstat().st_mode)
        if path.is_symlink():
            mode += f" -> {os.readlink(path)}"
        elif path.is_file():
            content = path.read_bytes()
            mode += f" {len(content)} bytes {hashlib.sha256(content).hexdigest()[:12]}"
        found[str(path.relative_to(folder))] = mode
    return found


def _temporary(root: Path) -> dict[str, str]:
    """Under names without what is drawn at random in them."""
    files = _files(root / "tmp") | _files(root / "home")
    return {re.sub(r"(pymp|listener)-\w+|(?<=tmp)\w{8}", r"\1", name): mode for name, mode in files.items()}


def _told(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def _result(path: Path) -> dict[str, Any] | None:
    try:
        read: dict[str, Any] = json.loads(path.read_text())
    except FileNotFoundError:
        return None
    return read
