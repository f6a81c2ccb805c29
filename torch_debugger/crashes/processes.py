"""Process groups, ranks and compiled regions at the moment of the crash."""

from __future__ import annotations

import ast
import os
import re
import socket
from collections.abc import Iterator, Sequence
from os import getpid
from typing import Any

import psutil
import torch
import torch.distributed
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from torch_debugger.crashes.autograd_graph import leaves_of
from torch_debugger.crashes.frames import LiveCrash, LiveFrame, every_frame, statement_place
from torch_debugger.crashes.functions import aliases_of, calls_in_files, user_files
from torch_debugger.crashes.replay import compiled_call
from torch_debugger.records import Place
from torch_debugger.records.crash_loading import (
    ChildEvidence,
    ChildFrame,
    CompileEvidence,
    GroupEvidence,
    ProcessEvidence,
    ReductionEvidence,
)
from torch_debugger.source.files import is_user_file, place_at
from torch_debugger.source.objects import is_a, is_one_of
from torch_debugger.source.variables import name_root


def examine_processes(crash: LiveCrash) -> ProcessEvidence | None:
    compiled = examine_compiled(crash)
    if compiled is not None:
        return ProcessEvidence(compiled=compiled)
    child = examine_child(crash)
    if child is not None:
        return ProcessEvidence(child=child)
    reduction, group = examine_reduction(crash), examine_group(crash)
    return ProcessEvidence(group, reduction) if group is not None or reduction is not None else None


# What init_process_group was given, and what it found: environment, backends, ports.
VARIABLES = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
_TORCH = os.path.join("torch", "distributed")
_SAMPLER = os.path.join("data", "distributed.py")
_COMMAND_LENGTH = 60


def examine_group(crash: LiveCrash) -> GroupEvidence | None:
    last, key = crash.innermost, crash.error.args[0] if isinstance(crash.error, KeyError) and crash.error.args else None
    about = last is not None and not last.user and (_TORCH in last.file or last.file.endswith(_SAMPLER))
    if not about and not (type(key) is str and key in VARIABLES):
        return None
    call = crash.frame_of("init_process_group", "distributed_c10d.py")
    port = re.search(r"port: (\d+), .*EADDRINUSE", str(crash.error))
    available, backend = torch.distributed.is_available(), call.locals.get("backend") if call is not None else None
    checks = {"gloo": "is_gloo_available", "nccl": "is_nccl_available", "mpi": "is_mpi_available",
             "ucc": "is_ucc_available", "xccl": "is_xccl_available"}  # fmt: skip
    built = [name for name, ask in checks.items() if available and getattr(torch.distributed, ask, bool)()]
    free_port = None
    if port:
        with socket.socket() as probe:
            probe.bind(("", 0))
            free_port = int(probe.getsockname()[1])
    return GroupEvidence(
        environment={name: os.environ[name] for name in VARIABLES if name in os.environ},
        backend=str(backend) if is_a(backend, str) else "",
        rank=_number(call, "rank", "RANK"),
        world_size=_number(call, "world_size", "WORLD_SIZE"),
        initialized=available and torch.distributed.is_initialized(),
        built=tuple(built),
        gpus=torch.cuda.device_count(),
        current_gpu=torch.cuda.current_device() if torch.cuda.is_initialized() else None,  # type: ignore[no-untyped-call]
        hides_gpus=os.environ.get("CUDA_VISIBLE_DEVICES"),
        holder=_holder(int(port[1])) if port else "",
        free_port=free_port,
        calls=tuple(place for place, _ in calls_in_files(user_files(crash.frames), "init_process_group")),
    )


def _number(call: LiveFrame | None, name: str, variable: str) -> int | None:
    """As the call was given it; else, as it reads it from the environment."""
    value: Any = call.locals.get(name) if call is not None else None
    if type(value) is int and value >= 0:
        return value
    text = os.environ.get(variable, "")
    return int(text) if text.isdecimal() else None


def _holder(port: int) -> str:
    """The process that listens there; empty where this user may not know."""
    for one in psutil.net_connections(kind="tcp"):
        if one.laddr and one.laddr.port == port and one.status == psutil.CONN_LISTEN and one.pid:
            if one.pid == getpid():
                return "this script itself"
            command = " ".join(psutil.Process(one.pid).cmdline())
            return f"`{command[:_COMMAND_LENGTH]}` (process {one.pid})"
    return ""


# A DistributedDataParallel module and the parameters that its last backward pass left out.
_LEFT_OUT = r"Parameter indices which did not receive grad for rank \d+: ((?:\d+ ?)+)"
_READY_TWICE = r"Parameter at index (\d+)(?: with name (\S+))? has been marked as ready twice"
_DIFFERS = r"params\[(\d+)\] in this process"
_SYMPTOMS = (
    "finished reduction in the prior iteration",
    "mark a variable ready only once",
    "DistributedDataParallel is not needed",
    "appears not to match sizes of the same param",
)
_NODES, _NAMES_KEPT = 100_000, 24


def examine_reduction(crash: LiveCrash) -> ReductionEvidence | None:
    message = str(crash.error)
    if type(crash.error) is not RuntimeError or not any(symptom in message for symptom in _SYMPTOMS):
        return None
    found = _wrapper(crash)
    if found is None:
        return None
    model, wrapper = found
    named = list(_reduced(model))
    missed = re.search(_LEFT_OUT, message)
    missing = [named[int(one)] for one in missed[1].split() if int(one) < len(named)] if missed else []
    numbers = (re.search(_READY_TWICE, message), re.search(_DIFFERS, message))
    twice, differs = (named[int(one[1])][0] if one and int(one[1]) < len(named) else "" for one in numbers)
    reached, holders = _graphs(crash, [parameter for _, parameter in missing])
    files = user_files(crash.frames)
    names = aliases_of(crash.frames, DistributedDataParallel) | {"DistributedDataParallel"}
    wraps = [place for place, _ in calls_in_files(files, *names)]
    wrap = wraps[0] if len(wraps) == 1 else Place()
    return ReductionEvidence(
        model=name_root(wrapper if wrapper is not None else model, crash.frames[-1].frame),
        parameters=sum(1 for _ in model.parameters()),
        trainable=len(named),
        left_out=tuple(name for name, _ in missing)[:_NAMES_KEPT],
        differs=differs,
        ready_twice=twice,
        loss=reached,
        held=holders,
        find_unused=bool(getattr(wrapper, "find_unused_parameters", False)),
        checkpoints=tuple(place for place, _ in calls_in_files(files, "checkpoint", "checkpoint_sequential")),
        wrapped_at=statement_place(wrap.file, wrap.line or 0) if wrap.file else wrap,
    )


def _wrapper(crash: LiveCrash) -> tuple[nn.Module, DistributedDataParallel | None] | None:
    """The module that is wrapped, and its wrapper once that is made."""
    for seen in reversed(crash.frames):
        own: Any = seen.locals.get("self")
        if is_a(own, DistributedDataParallel):
            inner = vars(own).get("_modules", {}).get("module") or seen.locals.get("module")
            if is_a(inner, nn.Module):
                return inner, own
    wrappers = {id(value): value for _, value in _variables(crash.frames) if is_a(value, DistributedDataParallel)}
    return (next(iter(wrappers.values())).module, next(iter(wrappers.values()))) if len(wrappers) == 1 else None


def _variables(frames: Sequence[LiveFrame]) -> Iterator[tuple[str, Any]]:
    for seen in reversed(frames):
        if seen.user:
            yield from list(seen.locals.items())
            yield from list(seen.frame.f_globals.items())


def _reduced(model: nn.Module) -> Iterator[tuple[str, nn.Parameter]]:
    """The parameters whose gradients are reduced, in the order by which the reducer counts them."""
    ignored = set(getattr(model, "_ddp_params_and_buffers_to_ignore", ()))
    seen: set[int] = set()
    for path, module in model.named_modules():
        for name, parameter in module.named_parameters(recurse=False):
            full = f"{path}.{name}" if path else name
            if parameter.requires_grad and full not in ignored and id(parameter) not in seen:
                seen.add(id(parameter))
                yield full, parameter


def _graphs(crash: LiveCrash, missing: Sequence[nn.Parameter]) -> tuple[str, tuple[str, ...]]:
    """A loss whose graph reaches none of the missing parameters, and tensors whose graph reaches some."""
    wanted = {id(parameter) for parameter in missing}
    loss, holders = "", []
    for name, value in dict(_variables(crash.frames)).items() if missing else ():
        items = value[:8] if is_one_of(value, (tuple, list)) else ()
        parts = [(f"{name}[{index}]", item) for index, item in enumerate(items)]
        for part, tensor in [(name, value), *parts]:
            leaves = {id(leaf) for leaf in leaves_of(tensor)}
            if wanted & leaves:
                holders.append(part)
            elif leaves and tensor.dim() == 0 and (not loss or "loss" in part):
                loss = part
    return loss, tuple(dict.fromkeys(holders))[:8]


# A process that this one started and that failed: what it left behind is text, or only a signal.
_START = "Traceback (most recent call last):\n"
_FRAME = re.compile(r'^  File "(.+)", line (\d+), in (.+)\n(?:    (.*)\n)?', re.MULTILINE)
_END = re.compile(r"^([A-Za-z_][\w.]*)(?:: (.*))?\Z", re.MULTILINE | re.DOTALL)
_SPAWN, _ELASTIC = "torch.multiprocessing.spawn", "torch.distributed.elastic.multiprocessing"
_MESSAGE_LENGTH, _FRAMES_KEPT = 4000, 40


def examine_child(crash: LiveCrash) -> ChildEvidence | None:
    home, name = type(crash.error).__module__, type(crash.error).__name__
    if home == _SPAWN and name in ("ProcessRaisedException", "ProcessExitedException"):
        error: Any = crash.error
        kind, message, frames = read_traceback(str(error))
        number = re.search(r"[Pp]rocess (\d+) terminated", str(error))
        index, code = getattr(error, "error_index", None), getattr(error, "exit_code", None)
        return ChildEvidence(
            index=index if type(index) is int else int(number[1]) if number else None,
            kind=kind,
            message=message,
            frames=frames,
            signal=getattr(error, "signal_name", None) or "",
            exit_code=code if type(code) is int else None,
        )
    if str(home).startswith(_ELASTIC) and name == "ChildFailedError":
        return _launched(crash.error)
    return None


def _launched(error: Any) -> ChildEvidence:
    """Of several processes that torchrun lost, the first to fail."""
    index, failure = error.get_first_failure()
    code = failure.exitcode
    text = failure.message if type(failure.message) is str else ""
    kind, message, frames = read_traceback(text)
    signal = str(failure.signal_name()) if code < 0 else ""
    return ChildEvidence(index, kind, message or text[:_MESSAGE_LENGTH], frames, signal, code)


def read_traceback(text: str, most_frames: int = _FRAMES_KEPT) -> tuple[str, str, tuple[ChildFrame, ...]]:
    """The kind, message and frames of the exception that ended it, which is told last."""
    if _START not in text:
        return "", "", ()
    last = text.rpartition(_START)[2]
    found = list(_FRAME.finditer(last))
    after = re.sub(r"\A(?:    .*\n)*", "", last[found[-1].end() :] if found else last)
    end = _END.match(after.strip())
    parts = (match.groups() for match in found[-most_frames:])
    frames = tuple(
        ChildFrame(file, int(line), function, (code or "").strip(), is_user_file(file))
        for file, line, function, code in parts
    )
    return (end[1], (end[2] or "")[:_MESSAGE_LENGTH], frames) if end else ("", after[:_MESSAGE_LENGTH], frames)


# What a compiler of torch's was asked to do with the user's code, and where it stopped.
_STAGES = {
    "Unsupported": "graph break", "UserError": "graph break", "UncapturedHigherOrderOpError": "graph break",
    "TorchRuntimeError": "fake tensors", "BackendCompilerFailed": "backend", "InductorError": "backend",
    "InvalidBackend": "name", "FailOnRecompileLimitHit": "recompiling", "RecompileLimitExceeded": "recompiling",
    "GuardOnDataDependentSymNode": "export",
}  # fmt: skip
_HOMES = ("torch._dynamo", "torch._inductor", "torch.fx.experimental", "torch.jit.frontend")
_EXPORT, _SCRIPT = os.path.join("torch", "export"), os.path.join("torch", "jit")
_LINE = re.compile(r'File "(.+)", line (\d+)')
_EXPLANATION_LENGTH, _HINTS = 300, 4


def examine_compiled(crash: LiveCrash) -> CompileEvidence | None:
    stage = _stage(crash)
    if stage is None:
        return None
    error: Any = crash.error
    inner = getattr(error, "inner_exception", None)
    call, region = compiled_call(crash.error, crash.frames), ""
    if call is not None and call.model is not None:
        region = crash.paths.get(id(call.model), type(call.model).__name__).removesuffix("._orig_mod")
    elif call is not None:
        region = str(getattr(call.function, "__qualname__", "")).replace("<locals>.", "")
    fullgraph = [
        place_at(place.file, word.value.lineno)
        for place, node in calls_in_files(user_files(crash.frames), "compile")
        for word in node.keywords
        if word.arg == "fullgraph" and isinstance(word.value, ast.Constant) and word.value.value is True
        if place.file is not None
    ]
    limit = re.search(r"currently set to (\d+)", f"{error} {error.__cause__}")
    return CompileEvidence(
        stage=stage,
        told=_explanation(error, stage, inner),
        place=_place(crash, stage),
        hints=tuple(re.findall(r"^  Hint: (.+)$", str(error), re.MULTILINE))[:_HINTS],
        region=region,
        backend=str(getattr(error, "backend_name", None) or ""),
        inner=type(inner).__name__ if isinstance(inner, BaseException) else "",
        fullgraph=fullgraph[0] if len(fullgraph) == 1 else Place(),
        choices=tuple(torch._dynamo.list_backends(exclude_tags=())) if stage == "name" else (),
        limit=int(limit[1]) if limit else None,
        eager="" if crash.eager is None else "runs" if crash.eager.crash is None else "fails",
    )


def _stage(crash: LiveCrash) -> str | None:
    kind = type(crash.error)
    last = crash.innermost
    # a refusal of TorchScript's own parser is a plain RuntimeError that points into the source
    refused = last is not None and last.file.endswith(("_recursive.py", "_script.py")) and _SCRIPT in last.file
    scripting = refused and "<--- HERE" in str(crash.error)
    if str(kind.__module__).startswith("torch.jit.frontend") or scripting:
        return "script"
    stage = _STAGES.get(kind.__name__) if str(kind.__module__).startswith(_HOMES) else None
    if stage is None and crash.eager is not None:
        return "running"
    exporting = any(_EXPORT in seen.file for seen in crash.frames)
    return "export" if exporting and stage in ("graph break", "export") else stage


def _explanation(error: Any, stage: str, inner: Any) -> str:
    message = str(error)
    explained = re.search(r"^  Explanation: (.+)$", message, re.MULTILINE)
    if stage == "running":
        message = f"{type(error).__name__}: {message}"
    if stage == "recompiling":
        explained = None
        inside = (seen.locals.get("recompile_reason") for seen in every_frame(error.__traceback__))
        # which guard failed last: tensor 'a' size mismatch at index 0. expected 8, actual 9
        reasons = (reason for reason in inside if type(reason) is str)
        message = next(reasons, "").partition("\n")[0].partition("#")[0].partition(": ")[2].strip() or message
    if stage == "backend" and isinstance(inner, BaseException):
        message = f"{type(inner).__name__}: {inner}"
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    text = explained[1] if explained else lines[0] if lines else ""
    return text.rstrip(":")[:_EXPLANATION_LENGTH]


def _place(crash: LiveCrash, stage: str) -> Place:
    """The innermost line of the user's that the compiler was at; else, that Python was at."""
    stack = getattr(crash.error, "real_stack", None) or ()
    lines = [(summary.filename, int(summary.lineno or 0)) for summary in stack]
    if stage == "script":
        lines = [(match[1], int(match[2])) for match in _LINE.finditer(str(crash.error))][:1]
    users = [(file, line) for file, line in lines if is_user_file(file)]
    if users:
        return place_at(*users[-1])
    seen = crash.user_frame
    return seen.place if seen is not None else Place()
