"""Scripts run by plain python and by `torch-debugger run`, some at a time, each once."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import tempfile
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

SCRIPTS = Path(__file__).parent / "scripts"
DEBUGGER = (sys.executable, "-m", "torch_debugger", "run")
LIMIT_S = 300  # only a hang takes this long
AT_ONCE = 2

_pool = ThreadPoolExecutor(AT_ONCE)


@dataclass(frozen=True)
class Run:
    code: int
    stdout: bytes
    stderr: str
    peak_bytes: int | None  # as the script itself read it at its end
    file_bytes: int | None  # of them, pages of files: how many of a library it maps is the kernel's own choice


@functools.cache
def start(how: tuple[str, ...], script: str, *arguments: str) -> Future[Run]:
    return _pool.submit(run, [*how, str(SCRIPTS / script), *arguments])


def run(command: list[str], cwd: str | os.PathLike[str] | None = None) -> Run:
    with tempfile.TemporaryDirectory() as folder:
        peak = Path(folder, "peak")
        environment = {**os.environ, "PEAK_FILE": str(peak), "COLUMNS": "120", "OMP_NUM_THREADS": "1"}
        environment["PYTHONPATH"] = str(Path(__file__).parents[2])
        # Freed memory goes back at once: what is held depends on what is in use, not on glibc's guesses.
        environment |= {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}
        environment["TORCHINDUCTOR_CACHE_DIR"] = str(Path(folder, "inductor"))
        done = subprocess.run(
            command, env=environment, cwd=cwd, capture_output=True, timeout=LIMIT_S, check=False
        )
        told = map(int, peak.read_text().split()) if peak.exists() else (None, None)
        return Run(done.returncode, done.stdout, done.stderr.decode(), *told)


PLAIN = (sys.executable,)
# A budget that looks at nearly every step: what is looked at most is changed most, if anything is.
WATCHED = (*DEBUGGER, "--quiet", "--no-log", "--budget", "1000%")
AS_USED = (*DEBUGGER, "--quiet", "--no-log")
