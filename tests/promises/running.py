"""Scripts run by plain python and by `torch-debugger run`, each once, both in forks of a process that has torch
imported, or both by real interpreters."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests import preloaded

SCRIPTS = Path(__file__).parent / "scripts"
DEBUGGER = (sys.executable, "-m", "torch_debugger", "run")
LIMIT_S = 300  # only a hang takes this long


@dataclass(frozen=True)
class Run:
    code: int
    stdout: bytes
    stderr: str
    peak_bytes: int | None  # as the script itself read it at its end
    file_bytes: int | None  # of them, pages of files: how many of a library it maps is the kernel's own choice


@functools.cache
def run_script(how: tuple[str, ...], script: str, *arguments: str, real: bool = False) -> Run:
    return run([*how, str(SCRIPTS / script), *arguments], real=real)


def run(command: list[str], cwd: str | os.PathLike[str] | None = None, *, real: bool = False) -> Run:
    with tempfile.TemporaryDirectory() as folder:
        peak = Path(folder, "peak")
        environment = {**os.environ, "PEAK_FILE": str(peak), "COLUMNS": "120", "OMP_NUM_THREADS": "1"}
        environment["PYTHONPATH"] = str(Path(__file__).parents[2])
        environment["TORCHINDUCTOR_CACHE_DIR"] = str(Path(folder, "inductor"))
        start = subprocess.run if real else preloaded.run
        done = start(command, env=environment, cwd=cwd, capture_output=True, timeout=LIMIT_S, check=False)
        told = map(int, peak.read_text().split()) if peak.exists() else (None, None)
        return Run(done.returncode, done.stdout, done.stderr.decode(), *told)


PLAIN = (sys.executable,)
# A budget that looks at nearly every step: what is looked at most is changed most, if anything is.
WATCHED = (*DEBUGGER, "--quiet", "--no-log", "--budget", "1000%")
AS_USED = (*DEBUGGER, "--quiet", "--no-log")
