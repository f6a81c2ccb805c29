"""What a thread that does not go on is waiting in, from its frames and the system call it is in."""

from __future__ import annotations

import ast
import json
import os
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from types import FrameType
from typing import Any

import torch
from torch import distributed

from torch_debugger.ranks import process_activity as kernel_view
from torch_debugger.ranks.process_activity import KernelView
from torch_debugger.ranks.thread_stacks import outwards
from torch_debugger.records import GroupState, Place
from torch_debugger.records.ranks import (
    CALL,
    CHILDREN,
    COLLECTIVE,
    EVENT,
    EXIT,
    INPUT,
    LOADER,
    LOCK,
    PROCESS,
    READ,
    SLEEP,
)
from torch_debugger.source.files import is_user_file, nodes_of, tree_of
from torch_debugger.source.frames import locals_elsewhere, place_of, running_expression
from torch_debugger.source.objects import is_a

_TORCH = os.path.dirname(torch.__file__) + os.sep
_STDLIB = os.path.dirname(os.__file__) + os.sep
_LOADER_FILE = f"{_TORCH}utils{os.sep}data{os.sep}dataloader.py"
_DISTRIBUTED = (
    f"{_TORCH}distributed{os.sep}",
    f"{_TORCH}nn{os.sep}parallel{os.sep}distributed.py",
    f"{_TORCH}_higher_order_ops",
)
_BACKWARD = f"{_TORCH}autograd{os.sep}graph.py"
_SPAWN = f"{_TORCH}multiprocessing{os.sep}spawn.py"
_PROCESSES = f"{_STDLIB}multiprocessing{os.sep}"
_WRAPPERS = {"wrapper", "_call_impl", "_wrapped_call_impl", "inner", "decorate_context", "_fn"}
# Below a line of the user's: a person sits there, and nobody hangs.
_DEBUGGERS = (f"{_STDLIB}pdb.py", f"{_STDLIB}bdb.py", f"{_STDLIB}code.py", f"{_STDLIB}cmd.py")
_DEBUGGER_PACKAGES = ("pydevd", "debugpy", "IPython", "ipdb", "pudb", "prompt_toolkit")
DEBUGGER = "a debugger's prompt"
_LOCK_TYPES = (type(threading.Lock()), type(threading.RLock()))


@dataclass(frozen=True, slots=True)
class Wait:
    kind: str
    doing: str
    place: Place
    call: str  # the user's expression that does not return
    frame: FrameType | None = None  # of the library's function that tells more, only while it is looked at


def sort_out(frame: FrameType | None, view: KernelView | None) -> Wait:
    """Nearest to the user first: a collective that polls a socket is a collective."""
    below: list[FrameType] = []
    for each in outwards(frame):
        if is_user_file(each.f_code.co_filename):
            return _of_user(each, below[::-1], view)
        below.append(each)
    names = {each.f_code.co_name for each in below}
    kind = EXIT if "_shutdown" in names and below[-1].f_code.co_filename.startswith(_STDLIB) else CALL
    return Wait(kind, below[0].f_code.co_name if below else "", Place(), "")


def is_in_loader(frame: FrameType) -> bool:
    return frame.f_code.co_filename == _LOADER_FILE


def _of_user(user: FrameType, below: list[FrameType], view: KernelView | None) -> Wait:
    """`below` are the library's frames that the user's line called, outermost first."""
    node = running_expression(user.f_code, user.f_lasti)
    if node is None:  # `with lock:` -> the lock: Python gives the whole statement as what runs
        tree = tree_of(user.f_code.co_filename)
        entered = (each for each in (nodes_of(tree) if tree is not None else ()) if isinstance(each, ast.With))
        node = next((each.items[0].context_expr for each in entered if each.lineno == user.f_lineno), None)
    expression = ast.unparse(node)[:200] if node is not None else ""
    place = place_of(user)

    def wait(kind: str, doing: str, frame: FrameType | None = None) -> Wait:
        return Wait(kind, doing, place, expression, frame)

    files = [each.f_code.co_filename for each in below]
    if any(file.startswith(_DEBUGGERS) or set(file.split(os.sep)) & set(_DEBUGGER_PACKAGES) for file in files):
        return wait(INPUT, DEBUGGER)
    if _first(files, (_LOADER_FILE,)) is not None:
        return wait(LOADER, "DataLoader", below[_last(files, (_LOADER_FILE,))])
    joining = (
        os.path.basename(each.f_code.co_filename).startswith(("process", "popen"))
        for each in below
        if each.f_code.co_filename.startswith(_PROCESSES) and each.f_code.co_name in ("join", "wait", "poll")
    )
    if _first(files, (_SPAWN,)) is not None or any(joining):
        return wait(CHILDREN, "join")
    if (index := _first(files, _DISTRIBUTED)) is not None:
        chosen = next((each for each in below[index:] if each.f_code.co_name not in _WRAPPERS), below[index])
        return wait(COLLECTIVE, _name(chosen), chosen)
    if (index := _first(files, (_BACKWARD,))) is not None and _is_distributed():
        return wait(COLLECTIVE, "backward", below[index])
    kind, doing = _of_library(below, view) if below else _of_call(user, node, view)
    # With NCCL the host waits for the GPU, in whatever call needs a number from there, and the GPU for ranks.
    return wait(COLLECTIVE if kind == CALL and uses_nccl() else kind, doing)


def _first(files: list[str], wanted: tuple[str, ...]) -> int | None:
    return next((index for index, file in enumerate(files) if file.startswith(wanted)), None)


def _last(files: list[str], wanted: tuple[str, ...]) -> int:
    return max(index for index, file in enumerate(files) if file.startswith(wanted))


def _is_distributed() -> bool:
    return distributed.is_available() and distributed.is_initialized()


def _name(frame: FrameType) -> str:
    return str(getattr(frame.f_code, "co_qualname", frame.f_code.co_name))


def _of_library(below: list[FrameType], view: KernelView | None) -> tuple[str, str]:
    """Of the standard library or a package: by what is innermost, named after what the user called."""
    called, inner = below[0], below[-1]
    doing = _name(called)
    if any(os.path.basename(each.f_code.co_filename) == "subprocess.py" for each in below):
        return PROCESS, doing
    if view is not None and view.call in kernel_view.READING:
        return (INPUT if view.fd == 0 else READ), doing
    if inner.f_code.co_filename.startswith(_STDLIB):
        file = os.path.basename(inner.f_code.co_filename)
        if file in ("threading.py", "queue.py", "_base.py", "synchronize.py"):
            return EVENT, doing
    return _by_kernel(view, doing)


def _of_call(user: FrameType, node: ast.AST | None, view: KernelView | None) -> tuple[str, str]:
    """The user's line calls a function in C itself."""
    doing, subject = _subject(user, node)
    kind = type(subject)
    if is_a(subject, _LOCK_TYPES) or kind.__module__ == "multiprocessing.synchronize" or kind.__name__ == "SemLock":
        return LOCK, doing
    if distributed.is_available() and is_a(subject, distributed.Work):
        return COLLECTIVE, doing
    if doing == "input" or (view is not None and view.call in kernel_view.READING and view.fd == 0):
        return INPUT, doing
    if view is not None and view.call in kernel_view.READING:
        return READ, doing
    return _by_kernel(view, doing)


def _by_kernel(view: KernelView | None, doing: str) -> tuple[str, str]:
    call = view.call if view is not None else ""
    if call in kernel_view.SLEEPING or doing.endswith("sleep"):
        return SLEEP, doing
    if call in kernel_view.WAITING_FOR_PROCESS:
        return PROCESS, doing
    if call in kernel_view.LOCKING_A_FILE or call in ("open", "openat"):
        return READ, doing
    return CALL, doing


def _subject(user: FrameType, node: ast.AST | None) -> tuple[str, Any]:
    """`lock.acquire()` -> ("lock.acquire", the lock); `with lock:` -> ("lock", the lock)."""
    if isinstance(node, ast.Call):
        doing = ast.unparse(node.func)
        owner = node.func.value if isinstance(node.func, ast.Attribute) else None
        return doing, _value(user, owner)
    if isinstance(node, ast.expr):
        return ast.unparse(node), _value(user, node)
    return "", None


def _value(user: FrameType, node: ast.AST | None) -> Any:
    """Of a name, or of an attribute of one; nothing is run for it but plain look-ups in dictionaries."""
    chain: list[str] = []
    while isinstance(node, ast.Attribute):
        chain.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    found = {**user.f_globals, **locals_elsewhere(user, lasting=True)}.get(node.id)
    for name in reversed(chain):
        spaces: Iterable[Any] = (found, *(type(found).__mro__ if found is not None else ()))
        found = next((vars(each)[name] for each in spaces if name in getattr(each, "__dict__", {})), None)
    return found


_MOST = 16


def rank_and_world() -> tuple[int | None, int]:
    """As torchrun says it, while there is no process group yet."""
    if not _is_distributed():
        rank, world = os.environ.get("RANK", ""), os.environ.get("WORLD_SIZE", "")
        known = rank.isdecimal() and world.isdecimal() and int(world) > 1
        return (int(rank), int(world)) if known else (None, 1)
    return distributed.get_rank(), distributed.get_world_size()


def group_states() -> tuple[GroupState, ...]:
    """The default one first. Nothing is sent and nothing waits: these are counts of this process."""
    if not _is_distributed():
        return ()
    world: Any = distributed.distributed_c10d._world
    found: list[GroupState] = []
    for group in list(world.pg_map)[:_MOST]:
        ranks = tuple(sorted(world.pg_group_ranks.get(group, {})))
        try:
            sequence = int(group._get_sequence_number_for_group())
        except RuntimeError:  # a backend that does not count
            sequence = -1
        found.append(GroupState(str(world.pg_names.get(group, "")), str(world.pg_map[group][0]), ranks, sequence))
    return tuple(found)


def uses_nccl() -> bool:
    """Whether waits for other ranks may look like waits for the GPU: there the host is free to go on."""
    if not _is_distributed():
        return False
    known = list(distributed.distributed_c10d._world.pg_map.values())
    return any("nccl" in str(backend) for backend, _ in known)


def argument_shapes(frame: FrameType | None) -> tuple[str, ...]:
    """Of the tensors that a function of torch.distributed was called with."""
    if frame is None:
        return ()
    variables = locals_elsewhere(frame)
    tensors: list[Any] = []
    for name in frame.f_code.co_varnames[: frame.f_code.co_argcount]:
        value = variables.get(name)
        tensors += value[:4] if isinstance(value, list | tuple) else [value]
    shaped = [each for each in tensors if isinstance(each, torch.Tensor)][:8]
    return tuple(f"{tuple(each.shape)} {str(each.dtype).removeprefix('torch.')}" for each in shaped)


# Collectives that are under way, as PyTorch's flight recorder has them: NCCL's, and only where it is on.
_FLIGHT_RECORDER_MOST = 8


def collectives_under_way() -> tuple[str, ...]:
    """all_reduce of [4096], number 21, started, at train.py:88; empty where nothing is recorded."""
    try:
        from torch._C import _distributed_c10d
    except ImportError:  # a torch without torch.distributed
        return ()
    dump = getattr(_distributed_c10d, "_dump_nccl_trace_json", None)
    if dump is None:  # a torch without NCCL
        return ()
    try:
        text = dump(includeCollectives=True, onlyActive=True)
    except (RuntimeError, TypeError):  # the recorder is off, or of another version
        return ()
    return read_entries(text)


def read_entries(text: str | bytes) -> tuple[str, ...]:
    """Of a dump in JSON, which runs nothing; what cannot be read is left out."""
    try:
        dump = json.loads(text)
    except ValueError:
        return ()
    entries = dump.get("entries", []) if isinstance(dump, dict) else []
    active = [each for each in entries if isinstance(each, dict) and each.get("state") != "completed"]
    return tuple(_words(each) for each in active[-_FLIGHT_RECORDER_MOST:])


def _words(entry: dict[str, Any]) -> str:
    name = str(entry.get("profiling_name", "a collective")).removeprefix("nccl:")
    number = entry.get("collective_seq_id", entry.get("seq_id", "?"))
    frames = [frame for frame in entry.get("frames") or [] if isinstance(frame, dict)]
    users = (frame for frame in frames if is_user_file(str(frame.get("filename", ""))))
    line = next((f", at {frame['filename']}:{frame.get('line')}" for frame in users), "")
    sizes = entry.get("input_sizes")
    listed = sizes if isinstance(sizes, list) else []
    shapes = ", ".join(json.dumps(size) if size else "a scalar" for size in listed) or "no tensor"
    return f"{name} of {shapes}, number {number}, {entry.get('state', 'under way')}{line}"
