"""What a compiler of torch's was asked to do with the user's code, and where it stopped."""

from __future__ import annotations

import ast
import os
import re
from typing import Any

import torch

from torch_debugger.anatomy.sources import is_user_file, place_at
from torch_debugger.probes.eager import compiled_call
from torch_debugger.probes.examiners.calls_in_files import calls_in, user_files
from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.records import Place
from torch_debugger.records.evidence.processes import CompileEvidence

_STAGES = {
    "Unsupported": "graph break", "UserError": "graph break", "UncapturedHigherOrderOpError": "graph break",
    "TorchRuntimeError": "fake tensors", "BackendCompilerFailed": "backend", "InductorError": "backend",
    "InvalidBackend": "name", "FailOnRecompileLimitHit": "recompiling", "RecompileLimitExceeded": "recompiling",
    "GuardOnDataDependentSymNode": "export",
}  # fmt: skip
_HOMES = ("torch._dynamo", "torch._inductor", "torch.fx.experimental", "torch.jit.frontend")
_EXPORT, _SCRIPT = os.path.join("torch", "export"), os.path.join("torch", "jit")
_LINE = re.compile(r'File "(.+)", line (\d+)')
_TOLD_LENGTH, _HINTS = 300, 4


def examine_compiled(scene: Scene) -> CompileEvidence | None:
    stage = _stage(scene)
    if stage is None:
        return None
    error: Any = scene.error
    inner = getattr(error, "inner_exception", None)
    call = compiled_call(scene.error, scene.frames)
    return CompileEvidence(
        stage=stage,
        told=_told(error, stage, inner),
        place=_place(scene, stage),
        hints=tuple(re.findall(r"^  Hint: (.+)$", str(error), re.MULTILINE))[:_HINTS],
        region=_region(scene, call),
        backend=str(getattr(error, "backend_name", None) or ""),
        inner=type(inner).__name__ if isinstance(inner, BaseException) else "",
        fullgraph=_fullgraph(scene),
        choices=_backends() if stage == "name" else (),
        limit=_limit(error),
        eager="" if scene.eager is None else "runs" if scene.eager.crash is None else "fails",
    )


def _stage(scene: Scene) -> str | None:
    kind = type(scene.error)
    if str(kind.__module__).startswith("torch.jit.frontend") or _is_scripting(scene):
        return "script"
    stage = _STAGES.get(kind.__name__) if str(kind.__module__).startswith(_HOMES) else None
    if stage is None and scene.eager is not None:
        return "running"
    exporting = any(_EXPORT in seen.file for seen in scene.frames)
    return "export" if exporting and stage in ("graph break", "export") else stage


def _is_scripting(scene: Scene) -> bool:
    """A refusal of TorchScript's own parser is a plain RuntimeError that points into the source."""
    last = scene.innermost
    refused = last is not None and last.file.endswith(("_recursive.py", "_script.py")) and _SCRIPT in last.file
    return refused and "<--- HERE" in str(scene.error)


def _told(error: Any, stage: str, inner: Any) -> str:
    message = str(error)
    explained = re.search(r"^  Explanation: (.+)$", message, re.MULTILINE)
    if stage == "running":
        message = f"{type(error).__name__}: {message}"
    if stage == "recompiling":
        explained = None
        message = _reason(error) or message
    if stage == "backend" and isinstance(inner, BaseException):
        message = f"{type(inner).__name__}: {inner}"
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    told = explained[1] if explained else lines[0] if lines else ""
    return told.rstrip(":")[:_TOLD_LENGTH]


def _reason(error: BaseException) -> str:
    """Which guard failed last: tensor 'a' size mismatch at index 0. expected 8, actual 9"""
    traceback = error.__traceback__
    while traceback is not None:
        held = traceback.tb_frame.f_locals.get("recompile_reason")
        if type(held) is str:
            return held.splitlines()[0].partition("#")[0].partition(": ")[2].strip()
        traceback = traceback.tb_next
    return ""


def _place(scene: Scene, stage: str) -> Place:
    """The innermost line of the user's that the compiler was at; else, that Python was at."""
    stack = getattr(scene.error, "real_stack", None) or ()
    lines = [(summary.filename, int(summary.lineno or 0)) for summary in stack]
    if stage == "script":
        lines = [(match[1], int(match[2])) for match in _LINE.finditer(str(scene.error))][:1]
    users = [(file, line) for file, line in lines if is_user_file(file)]
    if users:
        return place_at(*users[-1])
    seen = scene.user_frame
    return place_at(seen.file, seen.line) if seen is not None else Place()


def _region(scene: Scene, call: Any) -> str:
    if call is None:
        return ""
    if call.model is not None:
        return scene.paths.get(id(call.model), type(call.model).__name__).removesuffix("._orig_mod")
    return str(getattr(call.function, "__qualname__", "")).replace("<locals>.", "")


def _fullgraph(scene: Scene) -> Place:
    lines = [
        place_at(place.file, word.value.lineno)
        for place, node in calls_in(user_files(scene.frames), "compile")
        for word in node.keywords
        if word.arg == "fullgraph" and isinstance(word.value, ast.Constant) and word.value.value is True
        if place.file is not None
    ]
    return lines[0] if len(lines) == 1 else Place()


def _backends() -> tuple[str, ...]:
    return tuple(torch._dynamo.list_backends(exclude_tags=()))


def _limit(error: BaseException) -> int | None:
    found = re.search(r"currently set to (\d+)", f"{error} {error.__cause__}")
    return int(found[1]) if found else None
