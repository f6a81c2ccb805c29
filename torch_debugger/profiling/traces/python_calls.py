"""Python's side of a trace (`with_stack=True`): the functions of the user's, and the calls of modules."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from torch_debugger.foreign_paths import is_user_path, plain_path
from torch_debugger.profiling.line_log import Line, LineLog
from torch_debugger.profiling.module_calls import ModuleCalls
from torch_debugger.records import Place

_FUNCTION = re.compile(r"(.+\.py)\((\d{1,9})\): (.+)")
_CELL = re.compile(r"(<ipython-input-[^>]+>|.*ipykernel_\d+/\d+\.py)\((\d{1,9})\): (.+)")
MODULE = "nn.Module: "
_DEEPEST = 60  # modules inside of modules
# The profiler leaves out the folder in which packages lie, so a library shows by its first name alone.
_LIBRARIES = frozenset(sys.stdlib_module_names) | {
    "torch", "torchvision", "torchaudio", "torchtext", "torchmetrics", "torch_debugger", "numpy", "scipy",
    "PIL", "cv2", "pandas", "sklearn", "matplotlib", "transformers", "tokenizers", "datasets", "accelerate",
    "diffusers", "peft", "trl", "lightning", "pytorch_lightning", "lightning_fabric", "ignite", "fastai",
    "timm", "einops", "triton", "xformers", "flash_attn", "apex", "deepspeed", "megatron", "torch_geometric",
    "tqdm", "wandb", "mlflow", "tensorboard", "tensorboardX", "ray", "monai", "kornia", "albumentations",
    "huggingface_hub", "safetensors", "_pytest", "pytest", "pluggy", "IPython", "ipykernel", "traitlets",
    "typing_extensions",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class PythonCall:
    name: str  # train.py(8): forward, or nn.Module: Linear_0
    thread: int
    began_ns: int
    ended_ns: int


class Functions(LineLog):
    """As if lines had been logged, but of each function only its first line is known."""

    def __init__(self) -> None:
        super().__init__()
        self.names: dict[Line, str] = {}

    def place(self, line: Line) -> Place:
        """Nothing is opened: the paths are those of a file that anybody may have written."""
        return Place(*line) if line[0] else Place()


def is_users(file: str) -> bool:
    path = plain_path(file)
    first = path.partition("/")[0].removesuffix(".py")
    return is_user_path(path) and first not in _LIBRARIES


def functions_of(calls: Iterable[PythonCall]) -> Functions:
    """The innermost function of the user's that ran, from each moment on at which that changed."""
    log = Functions()
    for moment_ns, _, running in _changes(call for call in calls if _line(call.name) is not None):
        line = _line(running[-1].name) if running else None
        log.times_ns.append(moment_ns)
        log.lines.append(line[:2] if line is not None else ("", 0))
        if line is not None:
            log.names[line[:2]] = line[2]
    return log


def modules_of(calls: Iterable[PythonCall]) -> ModuleCalls:
    """A module is named by the modules around it: Net_0.Linear_1. Names of attributes are not in a trace."""
    log = ModuleCalls()
    for moment_ns, begun, running in _changes(call for call in calls if call.name.startswith(MODULE)):
        names = [call.name.removeprefix(MODULE) for call in running[:_DEEPEST]]
        stack = tuple(".".join(names[: depth + 1]) for depth in range(len(names)))
        log.note(moment_ns, stack)
        if begun is not None and len(running) <= _DEEPEST:
            kind = names[-1].rpartition("_")[0] or names[-1]
            log.calls.append((stack[-1], kind, begun.began_ns, begun.ended_ns))
    return log


def _changes(calls: Iterable[PythonCall]) -> Iterator[tuple[int, PythonCall | None, list[PythonCall]]]:
    """When, the call that began (None: one ended), and those that run from then on, the outermost first."""
    running: list[PythonCall] = []
    for call in sorted(calls, key=lambda each: (each.began_ns, -each.ended_ns)):
        while running and running[-1].ended_ns <= call.began_ns:
            ended = running.pop()
            yield ended.ended_ns, None, running
        running.append(call)
        yield call.began_ns, call, running
    while running:
        ended = running.pop()
        yield ended.ended_ns, None, running


def _line(name: str) -> tuple[str, int, str] | None:
    """File, line and name of a function of the user's."""
    found = _FUNCTION.fullmatch(name) or _CELL.fullmatch(name)
    if found is None or not is_users(found[1]):
        return None
    return found[1], int(found[2]), found[3]


def by_thread(calls: Iterable[PythonCall]) -> dict[int, list[PythonCall]]:
    ordered = sorted(calls, key=lambda each: each.thread)
    return {thread: list(same) for thread, same in groupby(ordered, key=lambda each: each.thread)}
