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

from torch_debugger.crashes.frames import LiveCrash, Seen, is_tensor, statement_at
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
from torch_debugger.source.files import is_user_file, place_at, tree_of
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
    if not (_is_about_a_group(crash) or _is_a_variable(crash.error)):
        return None
    call = crash.frame_of("init_process_group", "distributed_c10d.py")
    port = re.search(r"port: (\d+), .*EADDRINUSE", str(crash.error))
    available = torch.distributed.is_available()
    return GroupEvidence(
        environment={name: os.environ[name] for name in VARIABLES if name in os.environ},
        backend=_text(call, "backend"),
        rank=_number(call, "rank", "RANK"),
        world_size=_number(call, "world_size", "WORLD_SIZE"),
        initialized=available and torch.distributed.is_initialized(),
        built=_built() if available else (),
        gpus=torch.cuda.device_count(),
        current_gpu=torch.cuda.current_device() if torch.cuda.is_initialized() else None,  # type: ignore[no-untyped-call]
        hides_gpus=os.environ.get("CUDA_VISIBLE_DEVICES"),
        holder=_holder(int(port[1])) if port else "",
        free_port=_free_port() if port else None,
        calls=tuple(place for place, _ in calls_in_files(user_files(crash.frames), "init_process_group")),
    )


def _is_about_a_group(crash: LiveCrash) -> bool:
    last = crash.innermost
    return last is not None and not last.user and (_TORCH in last.file or last.file.endswith(_SAMPLER))


def _is_a_variable(error: BaseException) -> bool:
    key = error.args[0] if isinstance(error, KeyError) and error.args else None
    return type(key) is str and key in VARIABLES


def _text(call: Seen | None, name: str) -> str:
    held = call.locals.get(name) if call is not None else None
    return str(held) if is_a(held, str) else ""


def _number(call: Seen | None, name: str, variable: str) -> int | None:
    """As the call was given it; else, as it reads it from the environment."""
    held: Any = call.locals.get(name) if call is not None else None
    if type(held) is int and held >= 0:
        return held
    told = os.environ.get(variable, "")
    return int(told) if told.isdecimal() else None


def _built() -> tuple[str, ...]:
    asked = {"gloo": "is_gloo_available", "nccl": "is_nccl_available", "mpi": "is_mpi_available",
             "ucc": "is_ucc_available", "xccl": "is_xccl_available"}  # fmt: skip
    return tuple(name for name, ask in asked.items() if getattr(torch.distributed, ask, bool)())


def _holder(port: int) -> str:
    """The process that listens there; empty where this user may not know."""
    for one in psutil.net_connections(kind="tcp"):
        if one.laddr and one.laddr.port == port and one.status == psutil.CONN_LISTEN and one.pid:
            if one.pid == getpid():
                return "this script itself"
            command = " ".join(psutil.Process(one.pid).cmdline())
            return f"`{command[:_COMMAND_LENGTH]}` (process {one.pid})"
    return ""


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("", 0))
        return int(probe.getsockname()[1])


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
    twice, differs = re.search(_READY_TWICE, message), re.search(_DIFFERS, message)
    reached, held = _graphs(crash, [parameter for _, parameter in missing])
    files = user_files(crash.frames)
    return ReductionEvidence(
        model=name_root(wrapper if wrapper is not None else model, crash.frames[-1].frame),
        parameters=sum(1 for _ in model.parameters()),
        trainable=len(named),
        left_out=tuple(name for name, _ in missing)[:_NAMES_KEPT],
        differs=_name(named, differs),
        ready_twice=_name(named, twice),
        loss=reached,
        held=held,
        find_unused=bool(getattr(wrapper, "find_unused_parameters", False)),
        checkpoints=tuple(place for place, _ in calls_in_files(files, "checkpoint", "checkpoint_sequential")),
        wrapped_at=_wrapped_at(crash.frames, files),
    )


def _name(named: Sequence[tuple[str, nn.Parameter]], index: re.Match[str] | None) -> str:
    return named[int(index[1])][0] if index is not None and int(index[1]) < len(named) else ""


def _wrapper(crash: LiveCrash) -> tuple[nn.Module, DistributedDataParallel | None] | None:
    """The module that is wrapped, and its wrapper once that is made."""
    for seen in reversed(crash.frames):
        own: Any = seen.locals.get("self")
        if is_a(own, DistributedDataParallel):
            inner = vars(own).get("_modules", {}).get("module") or seen.locals.get("module")
            if is_a(inner, nn.Module):
                return inner, own
    wrappers = {id(value): value for _, value in _held(crash.frames) if is_a(value, DistributedDataParallel)}
    return (next(iter(wrappers.values())).module, next(iter(wrappers.values()))) if len(wrappers) == 1 else None


def _held(frames: Sequence[Seen]) -> Iterator[tuple[str, Any]]:
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
    for name, value in dict(_held(crash.frames)).items() if missing else ():
        for part, tensor in _tensors(name, value):
            leaves = _leaves(tensor)
            if wanted & leaves:
                holders.append(part)
            elif leaves and tensor.dim() == 0 and (not loss or "loss" in part):
                loss = part
    return loss, tuple(dict.fromkeys(holders))[:8]


def _tensors(name: str, value: Any) -> Iterator[tuple[str, torch.Tensor]]:
    if is_tensor(value) and value.grad_fn is not None:
        yield name, value
    elif is_one_of(value, (tuple, list)):
        parts = [(f"{name}[{index}]", item) for index, item in enumerate(value[:8])]
        yield from ((part, item) for part, item in parts if is_tensor(item) and item.grad_fn is not None)


def _leaves(tensor: torch.Tensor) -> set[int]:
    """The ids of the leaves that a backward pass from here would reach."""
    waiting: list[Any] = [tensor.grad_fn]
    seen: set[Any] = set()
    leaves: set[int] = set()
    while waiting and len(seen) < _NODES:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if hasattr(node, "variable"):
            leaves.add(id(node.variable))
        waiting += [further for further, _ in node.next_functions]
    return leaves


def _wrapped_at(frames: Sequence[Seen], files: Sequence[str]) -> Place:
    names = aliases_of(frames, DistributedDataParallel) | {"DistributedDataParallel"}
    places = [place for place, _ in calls_in_files(files, *names)]
    if len(places) != 1 or places[0].file is None or tree_of(places[0].file) is None:
        return Place()
    start, code = statement_at(places[0].file, places[0].line or 0)
    return Place(places[0].file, start, None, code)


# A process that this one started and that failed: what it left behind is text, or only a signal.
_START = "Traceback (most recent call last):\n"
_FRAME = re.compile(r'^  File "(.+)", line (\d+), in (.+)\n(?:    (.*)\n)?', re.MULTILINE)
_END = re.compile(r"^([A-Za-z_][\w.]*)(?:: (.*))?\Z", re.MULTILINE | re.DOTALL)
_SPAWN, _ELASTIC = "torch.multiprocessing.spawn", "torch.distributed.elastic.multiprocessing"
_MESSAGE_LENGTH, _FRAMES_KEPT = 4000, 40


def examine_child(crash: LiveCrash) -> ChildEvidence | None:
    home, name = type(crash.error).__module__, type(crash.error).__name__
    if home == _SPAWN and name in ("ProcessRaisedException", "ProcessExitedException"):
        return _spawned(crash.error)
    if str(home).startswith(_ELASTIC) and name == "ChildFailedError":
        return _launched(crash.error)
    return None


def _spawned(error: Any) -> ChildEvidence:
    told = read_traceback(str(error))
    index = getattr(error, "error_index", None)
    code = getattr(error, "exit_code", None)
    return ChildEvidence(
        index=index if type(index) is int else _index(str(error)),
        kind=told[0],
        message=told[1],
        frames=told[2],
        signal=getattr(error, "signal_name", None) or "",
        exit_code=code if type(code) is int else None,
    )


def _launched(error: Any) -> ChildEvidence:
    """Of several processes that torchrun lost, the first to fail."""
    index, failure = error.get_first_failure()
    code = failure.exitcode
    told = failure.message if type(failure.message) is str else ""
    kind, message, frames = read_traceback(told)
    signal = str(failure.signal_name()) if code < 0 else ""
    return ChildEvidence(index, kind, message or told[:_MESSAGE_LENGTH], frames, signal, code)


def _index(message: str) -> int | None:
    found = re.search(r"[Pp]rocess (\d+) terminated", message)
    return int(found[1]) if found else None


def read_traceback(text: str) -> tuple[str, str, tuple[ChildFrame, ...]]:
    """The kind, message and frames of the exception that ended it, which is told last."""
    if _START not in text:
        return "", "", ()
    last = text.rpartition(_START)[2]
    found = list(_FRAME.finditer(last))
    after = re.sub(r"\A(?:    .*\n)*", "", last[found[-1].end() :] if found else last)
    end = _END.match(after.strip())
    frames = tuple(_frame(match) for match in found[-_FRAMES_KEPT:])
    return (end[1], (end[2] or "")[:_MESSAGE_LENGTH], frames) if end else ("", after[:_MESSAGE_LENGTH], frames)


def _frame(match: re.Match[str]) -> ChildFrame:
    file, line, function, code = match.groups()
    return ChildFrame(file, int(line), function, (code or "").strip(), is_user_file(file))


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
_TOLD_LENGTH, _HINTS = 300, 4


def examine_compiled(crash: LiveCrash) -> CompileEvidence | None:
    stage = _stage(crash)
    if stage is None:
        return None
    error: Any = crash.error
    inner = getattr(error, "inner_exception", None)
    call = compiled_call(crash.error, crash.frames)
    return CompileEvidence(
        stage=stage,
        told=_told(error, stage, inner),
        place=_place(crash, stage),
        hints=tuple(re.findall(r"^  Hint: (.+)$", str(error), re.MULTILINE))[:_HINTS],
        region=_region(crash, call),
        backend=str(getattr(error, "backend_name", None) or ""),
        inner=type(inner).__name__ if isinstance(inner, BaseException) else "",
        fullgraph=_fullgraph(crash),
        choices=_backends() if stage == "name" else (),
        limit=_limit(error),
        eager="" if crash.eager is None else "runs" if crash.eager.crash is None else "fails",
    )


def _stage(crash: LiveCrash) -> str | None:
    kind = type(crash.error)
    if str(kind.__module__).startswith("torch.jit.frontend") or _is_scripting(crash):
        return "script"
    stage = _STAGES.get(kind.__name__) if str(kind.__module__).startswith(_HOMES) else None
    if stage is None and crash.eager is not None:
        return "running"
    exporting = any(_EXPORT in seen.file for seen in crash.frames)
    return "export" if exporting and stage in ("graph break", "export") else stage


def _is_scripting(crash: LiveCrash) -> bool:
    """A refusal of TorchScript's own parser is a plain RuntimeError that points into the source."""
    last = crash.innermost
    refused = last is not None and last.file.endswith(("_recursive.py", "_script.py")) and _SCRIPT in last.file
    return refused and "<--- HERE" in str(crash.error)


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


def _region(crash: LiveCrash, call: Any) -> str:
    if call is None:
        return ""
    if call.model is not None:
        return crash.paths.get(id(call.model), type(call.model).__name__).removesuffix("._orig_mod")
    return str(getattr(call.function, "__qualname__", "")).replace("<locals>.", "")


def _fullgraph(crash: LiveCrash) -> Place:
    lines = [
        place_at(place.file, word.value.lineno)
        for place, node in calls_in_files(user_files(crash.frames), "compile")
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
