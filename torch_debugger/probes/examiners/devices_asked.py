"""A device that was asked for and that this machine does not have, and the statement that names it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import torch

from torch_debugger.anatomy.assignments import assignment_of
from torch_debugger.anatomy.kinds import is_one_of
from torch_debugger.probes.crash_frames import Seen
from torch_debugger.probes.examiners.devices_known import statement_place
from torch_debugger.probes.examiners.operands import resolve
from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.records import Place
from torch_debugger.records.evidence import DeviceEvidence

# What torch says -> the kind of device that is meant; an unknown word is the device itself.
_ABSENT = (
    (re.compile(r"Torch not compiled with (CUDA|XPU) enabled"), ""),
    (re.compile(r"Found no NVIDIA driver|No CUDA GPUs are available|driver on your system is too old"), "cuda"),
    (re.compile(r"Cannot get (CUDA) generator without ATen_cuda"), ""),
    (re.compile(r"from the '(MPS)' backend|linked with support for (mps) devices"), ""),
    (re.compile(r"CUDA error: invalid device ordinal|Invalid device id"), "cuda"),
    (re.compile(r"device type at start of device string: (\S+)|Invalid device string: '([^']*)'"), ""),
)  # fmt: skip


def examine_asked(scene: Scene, text: str) -> DeviceEvidence | None:
    kind = next((_kind(found, word) for form, word in _ABSENT if (found := form.search(text))), None)
    if kind is None and _misses_cuda(scene, text):
        kind = "cuda"
    elif kind is None or not isinstance(scene.error, AssertionError | RuntimeError):
        return None
    asked, place = next(_named(scene, kind), (kind, Place()))
    return DeviceEvidence(asked=asked, asked_at=place, usable=usable_accelerators())


def _misses_cuda(scene: Scene, text: str) -> bool:
    """A function of torch.cuda's that needs a GPU and fails without one in its own way."""
    seen = scene.innermost
    if seen is None or torch.cuda.is_available() or "/torch/" not in seen.file.replace("\\", "/"):
        return False
    through = any("/torch/cuda/" in each.file.replace("\\", "/") for each in scene.frames)
    lacks = isinstance(scene.error, AttributeError) and "'torch._C' has no attribute '_cuda" in text
    empty = isinstance(scene.error, KeyError) and seen.file.endswith("memory.py")
    return through and (lacks or empty or "dummy base class" in text)


def _kind(found: re.Match[str], word: str) -> str:
    groups = [group for group in found.groups() if group]
    return word or (groups[0].lower() if groups[0].isupper() else groups[0])


def usable_accelerators() -> tuple[str, ...]:
    """The accelerators of this machine, counted without starting any of them."""
    cuda = torch.cuda.device_count() if torch.cuda.is_available() else 0
    mps = ["mps"] if torch.backends.mps.is_available() else []
    return (*(f"cuda:{index}" for index in range(cuda)), *mps)


def _named(scene: Scene, kind: str) -> Iterator[tuple[str, Place]]:
    """Where the user's lines name such a device, from the inside out: a text, `.cuda()`, or a variable."""
    users = [seen for seen in reversed(scene.frames) if seen.user]
    for seen in users:
        place = statement_place(seen)
        if (written := _written(place.code or "", kind)) is not None:
            yield written, place
        yield from _by_variable(seen, place, kind)
    if users:
        yield kind, statement_place(users[0])


def _written(code: str, kind: str) -> str | None:
    """cuda:3 where the statement writes that; cuda for a call of .cuda()"""
    texts = re.findall(rf"""["']({re.escape(kind)}(?::\d+)?)["']""", code)
    called = re.findall(rf"\.{re.escape(kind)}\((\d*)\)", code)
    if texts:
        return str(texts[0])
    return (f"{kind}:{called[0]}" if called[0] else kind) if called else None


def _by_variable(seen: Seen, place: Place, kind: str) -> Iterator[tuple[str, Place]]:
    """The assignment of a variable of this statement that holds such a device."""
    try:
        tree = ast.parse(place.code or "")
    except SyntaxError:
        return
    for node in ast.walk(tree):
        held = resolve(node, seen) if isinstance(node, ast.Name | ast.Attribute) else None
        if not is_one_of(held, (torch.device, str)) or not _is_of(str(held), kind):
            continue
        made = assignment_of(seen.file, seen.line, ast.unparse(node))
        if made is not None:
            yield str(held), made.place


def _is_of(device: str, kind: str) -> bool:
    return device == kind or device.startswith(f"{kind}:")
