"""Everything around a run in one record, without its secrets."""

from __future__ import annotations

import glob
import hashlib
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from torch_debugger.records import Surroundings
from torch_debugger.system.redaction import read_script, redact_arguments, redact_text, redact_value

_SOURCE_BYTES = 256_000


def gather_surroundings(command: Sequence[str], script: str) -> Surroundings:
    """Takes a fraction of a second, with git for its answer up to five: not for the training's thread."""
    text = read_script(script)
    source = text.decode("utf-8", "replace")
    git = read_git_state(_folder_of(script))
    return Surroundings(
        command=redact_arguments(command, source),
        script=script,
        script_hash=hashlib.sha256(text).hexdigest() if text else "",
        source=redact_text(source) if len(text) <= _SOURCE_BYTES else "",
        git_commit=git.commit,
        git_branch=git.branch,
        git_dirty=git.dirty,
        git_diff=redact_text(git.diff),
        packages=list_packages(),
        hardware=describe_hardware(),
        environment=telling_variables(os.environ),
        system=describe_system(),
        rank=_whole_number("RANK", 0),
        world_size=_whole_number("WORLD_SIZE", 1),
    )


def typed_command() -> list[str]:
    """The words that started this process; our own command by its name, whatever file stands behind it."""
    if "torch_debugger" in sys.argv[0].replace("-", "_"):
        return ["torch-debugger", *sys.argv[1:]]
    return list(sys.orig_argv)


def file_of(target: str, *, module: bool) -> str:
    """The path of a script, or of what `python -m` would run; nothing is imported to find it."""
    if not module:
        return target
    parts = target.split(".")
    for folder in (os.getcwd(), *sys.path):
        inside = os.path.join(folder, *parts)
        for path in (f"{inside}.py", os.path.join(inside, "__main__.py")):
            if os.path.isfile(path):
                return path
    return target


def _folder_of(script: str) -> str:
    with suppress(OSError):
        return os.path.dirname(os.path.realpath(script)) if os.path.isfile(script) else os.getcwd()
    return os.curdir


def _whole_number(variable: str, otherwise: int) -> int:
    text = os.environ.get(variable, "")
    return int(text) if text.isdecimal() else otherwise


# What a run runs on: processor, memory, accelerators, system, interpreter, packages, a few variables.
#
# Everything is read from files and from the interpreter: no accelerator is woken and no package imported.
_MOST_PACKAGES = 3000
_WAIT_S = 5.0
_INSTALLED = re.compile(r"(?P<name>[A-Za-z0-9][\w.]*?)-(?P<version>\d[^-]*)(?:-py[\d.]+)?\.(?:dist|egg)-info")
_TELLING = re.compile(
    r"CUDA_\w+|CUBLAS_\w+|CUDNN_\w+|NVIDIA_VISIBLE_DEVICES|NVIDIA_TF32_OVERRIDE|HIP_\w+|ROCR_VISIBLE_DEVICES"
    r"|OMP_\w+|MKL_\w+|OPENBLAS_NUM_THREADS|KMP_\w+|PYTORCH_\w+|TORCH\w*|NCCL_\w+|GLOO_\w+|PYTHONHASHSEED"
    r"|(?:LOCAL_|GROUP_)?RANK|(?:LOCAL_)?WORLD_SIZE|MASTER_ADDR|MASTER_PORT|SLURM_(?:JOB_ID|NNODES|NTASKS|PROCID)"
)
_VALUE_LENGTH = 500


def describe_hardware() -> dict[str, str]:
    hardware = {
        "cpu": _processor(),
        "cores": str(os.cpu_count() or ""),
        "usable cores": _usable_cores(),
        "memory": f"{psutil.virtual_memory().total / 2**30:.1f} GiB",
    }
    hardware |= {f"gpu {number}": name for number, name in enumerate(_gpus())}
    return {name: value for name, value in hardware.items() if value}


def describe_system() -> dict[str, str]:
    return {
        "os": f"{platform.system()} {platform.release()}",
        "machine": platform.machine(),
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "host": platform.node(),
    }


def list_packages(folders: Iterable[str] | None = None) -> dict[str, str]:
    """What is installed, by the names of the folders that say so: quicker than reading each of them."""
    found: dict[str, str] = {}
    for folder in sys.path if folders is None else folders:
        with suppress(OSError):
            for entry in sorted(os.listdir(folder or ".")):
                match = _INSTALLED.fullmatch(entry)
                if match is not None and len(found) < _MOST_PACKAGES:
                    found.setdefault(match["name"].lower().replace("_", "-"), match["version"])
    return dict(sorted(found.items()))


def telling_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Those that change a training; the others are nobody's business."""
    chosen = {name: value for name, value in environment.items() if _TELLING.fullmatch(name)}
    return {name: str(redact_value(name, value))[:_VALUE_LENGTH] for name, value in sorted(chosen.items())}


def _processor() -> str:
    with suppress(OSError), open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
        for line in file:
            name, _, value = line.partition(":")
            if name.strip() in ("model name", "Hardware", "cpu model"):
                return value.strip()
    return platform.processor() or _say("sysctl", "-n", "machdep.cpu.brand_string") or platform.machine()


def _usable_cores() -> str:
    """A container or a job scheduler may give fewer than there are."""
    return str(len(os.sched_getaffinity(0))) if hasattr(os, "sched_getaffinity") else ""


def _gpus() -> list[str]:
    """Their names as the driver tells them, which starts nothing on them."""
    names: list[str] = []
    for path in sorted(glob.glob("/proc/driver/nvidia/gpus/*/information")):
        with suppress(OSError), open(path, encoding="utf-8", errors="replace") as file:
            names += re.findall(r"^Model:\s*(.+?)\s*$", file.read(), re.MULTILINE)
    return names or _say("nvidia-smi", "--query-gpu=name", "--format=csv,noheader").splitlines()


def _say(program: str, *words: str) -> str:
    if shutil.which(program) is None:
        return ""
    with suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run([program, *words], capture_output=True, text=True, timeout=_WAIT_S, check=False)
        return done.stdout.strip() if done.returncode == 0 else ""
    return ""


# The state of the code: commit and branch from git's own files, the changes since from the git program.
#
# Nothing in the repository is written or run: no lock is taken, no hook, no helper and no network is used, and git is
# given only a moment.
_DIFF_BYTES = 256_000
_CUT = "\n[the rest of the diff is left out]\n"
_HASH = re.compile(r"[0-9a-f]{40,64}")
_QUIETLY = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_PAGER": "cat",
    "LC_ALL": "C",
}
_NO_HELPERS = ("-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}", "-c", "core.pager=cat")
_DIFF = ("diff", "HEAD", "--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=all")


@dataclass(frozen=True, slots=True)
class GitState:
    commit: str = ""
    branch: str = ""
    dirty: bool | None = False  # None: git could not be asked
    diff: str = ""


def read_git_state(folder: str) -> GitState:
    """Of the repository around `folder`; empty outside of one."""
    found = _git_folder(Path(folder))
    if found is None:
        return GitState()
    try:
        commit, branch = _head(found)
    except OSError:
        commit, branch = "", ""
    diff = _ask_git(folder, *_DIFF)
    return GitState(commit, branch, None if diff is None else bool(diff), diff or "")


def _git_folder(folder: Path) -> Path | None:
    with suppress(OSError):
        for parent in (folder.resolve(), *folder.resolve().parents):
            inside = parent / ".git"
            if inside.is_dir():
                return inside
            if inside.is_file():  # a worktree or a submodule: the file says where its folder is
                pointer = inside.read_text(encoding="utf-8", errors="replace").partition("gitdir:")[2].strip()
                return (parent / pointer).resolve()
    return None


def _head(git: Path) -> tuple[str, str]:
    """The commit, and the branch unless the head is detached."""
    head = (git / "HEAD").read_text(encoding="utf-8", errors="replace").strip()
    if not head.startswith("ref:"):
        return (head if _HASH.fullmatch(head) else ""), ""
    reference = head.removeprefix("ref:").strip()
    shared = git / "commondir"
    folders = [git, *([(git / shared.read_text().strip()).resolve()] if shared.is_file() else [])]
    commit = next((found for folder in folders if (found := _commit_of(folder, reference))), "")
    return commit, reference.removeprefix("refs/heads/")


def _commit_of(folder: Path, reference: str) -> str:
    loose = folder / reference
    if loose.is_file():
        text = loose.read_text(encoding="utf-8", errors="replace").strip()
        return text if _HASH.fullmatch(text) else ""
    packed = folder / "packed-refs"
    for line in packed.read_text(encoding="utf-8", errors="replace").splitlines() if packed.is_file() else ():
        commit, _, name = line.partition(" ")
        if name == reference and _HASH.fullmatch(commit):
            return commit
    return ""


def _ask_git(folder: str, *words: str) -> str | None:
    """What git says, up to a size; None without the program, in a refused repository, or after too long."""
    try:
        process = subprocess.Popen(
            ["git", "--no-pager", *_NO_HELPERS, "-C", folder, *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **_QUIETLY},
            start_new_session=True,  # Ctrl-C is not for it, and what it starts ends with it
        )
    except OSError:
        return None
    timer = threading.Timer(_WAIT_S, _end, [process])
    timer.daemon = True
    timer.start()
    assert process.stdout is not None
    with process.stdout:
        said = process.stdout.read(_DIFF_BYTES + 1)
    timer.cancel()
    whole = len(said) <= _DIFF_BYTES
    if not whole:
        _end(process)
    code = process.wait()
    if whole and code != 0:  # refused, or ended by the timer
        return None
    text = said[:_DIFF_BYTES].decode("utf-8", "replace")
    return text if whole else text + _CUT


def _end(process: subprocess.Popen[bytes]) -> None:
    with suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)


# Gathers the surroundings beside the training, in a thread that ends when it has them.
_BACKGROUND_WAIT_S = 2.0  # at the end of a run; a git that takes longer costs the record


class Gathering:
    """`hand` is given the record, `say` what went wrong instead; both from the thread."""

    def __init__(
        self,
        command: Sequence[str],
        script: str,
        hand: Callable[[Surroundings], object],
        say: Callable[[str], None],
    ) -> None:
        self._command, self._script = tuple(command), script
        self._hand, self._say = hand, say
        self._thread = threading.Thread(target=self._gather, name="torch_debugger surroundings", daemon=True)
        try:
            self._thread.start()
        except RuntimeError as error:
            say(f"The log will not tell the surroundings of this run: the system gives no thread ({error}).")

    def wait(self) -> None:
        if self._thread.is_alive():
            self._thread.join(_BACKGROUND_WAIT_S)

    def _gather(self) -> None:
        try:
            self._hand(gather_surroundings(self._command, self._script))
        except Exception as error:  # a log without its surroundings is better than a traceback of ours
            self._say(f"The log does not tell the surroundings of this run ({type(error).__name__}: {error}).")
