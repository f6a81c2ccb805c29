"""Which tensors live where, and the lines that made the odd ones."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import torch

from torch_debugger.anatomy.assignments import assignment_of
from torch_debugger.probes.crash_frames import describe
from torch_debugger.probes.examiners.devices_asked import examine_asked
from torch_debugger.probes.examiners.devices_known import (
    Known,
    device_text,
    known_as,
    layer_setting,
    made_at,
    statement_place,
)
from torch_debugger.probes.examiners.devices_met import Meeting, meetings
from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.records import LocalTensor, Place
from torch_debugger.records.evidence import DeviceEvidence
from torch_debugger.records.evidence.devices import MetTensor, ModelDevices

_ABOUT_DEVICES = re.compile(r"device|Tensor\) should be the same|to numpy")
_NAMED = re.compile(r"\b(cpu|meta|(?:cuda|mps|xpu|hpu|xla|lazy)(?::\d+)?)\b")


def examine_devices(scene: Scene) -> DeviceEvidence | None:
    """Tensors on two devices, or a device that this machine does not have."""
    text = str(scene.error)
    asked = examine_asked(scene, text)
    if asked is not None:
        return asked
    about = isinstance(scene.error, RuntimeError | TypeError) and _ABOUT_DEVICES.search(text)
    # Compilers speak of meta tensors of their own: what the call does without them is among the causes.
    compiled = str(type(scene.error).__module__).startswith("torch._")
    if not about or compiled or "CUDA error" in text:
        return None
    found = meetings(scene)
    accelerator = _accelerator(found, text)
    devices = {str(each.tensor.device) for each in found} | set(_NAMED.findall(text))
    if accelerator is None or (len(devices) < 2 and isinstance(scene.error, RuntimeError)):
        return None
    return DeviceEvidence(
        met=tuple(_met(each, scene, accelerator) for each in found),
        accelerator=str(accelerator),
        model=_model(scene, accelerator),
    )


def _accelerator(found: Sequence[Meeting], text: str) -> torch.device | None:
    """The device the tensors are meant to be on: not the CPU; of two accelerators the more frequent one."""
    on = Counter(each.tensor.device for each in found if each.tensor.device.type != "cpu")
    if on:
        return on.most_common(1)[0][0]
    told = [name for name in _NAMED.findall(text) if name != "cpu"]
    return torch.device(told[0]) if told and found else None


def _met(each: Meeting, scene: Scene, accelerator: torch.device) -> MetTensor:
    known = known_as(each.tensor, scene.frames) if each.role in ("nameless", "variable") else None
    path = scene.paths.get(id(each.owner)) if each.owner is not None else None
    if known is None:
        return _unnamed(each, path, scene, accelerator)
    made, maker = made_at(known)
    return MetTensor(
        tensor=_described(known.name, each.tensor),
        role=known.role,
        module=scene.paths.get(id(known.owner)),
        use=statement_place(known.seen),
        made=made,
        maker=maker,
        beside_use=device_text(known.seen, known.seen.line, accelerator),
        beside_made=_beside_made(known, made, accelerator),
    )


def _unnamed(each: Meeting, path: str | None, scene: Scene, accelerator: torch.device) -> MetTensor:
    """A temporary, or something that a module or an optimizer holds."""
    tensor, seen = _described(each.name, each.tensor), scene.user_frame
    use = statement_place(seen) if seen is not None else Place()
    beside = device_text(seen, seen.line, accelerator) if seen is not None else ""
    made = layer_setting(scene, path) if each.role == "weights" and path else Place()
    return MetTensor(tensor, each.role, path, use, made, beside_use=beside, beside_made=beside)


def _described(name: str, tensor: torch.Tensor) -> LocalTensor:
    return describe(name, tensor) or LocalTensor(name, (), "", str(tensor.device), False)


def _beside_made(known: Known, made: Place, accelerator: torch.device) -> str:
    """Only where the tensor is made in the very frame that is still there."""
    if known.role == "attribute" or made.file != known.seen.file or made.line is None:
        return ""
    return device_text(known.seen, made.line, accelerator, made.code or "")


def _model(scene: Scene, accelerator: torch.device) -> ModelDevices | None:
    for seen, inner in zip(scene.frames, scene.frames[1:], strict=False):
        module = inner.module()
        if module is None or not seen.user or inner.user:
            continue
        name = scene.paths.get(id(module), "")
        devices = tuple(sorted({str(parameter.device) for parameter in module.parameters()}))
        made = assignment_of(seen.file, seen.line, name)
        line = made.place.line if made is not None else None
        beside = device_text(seen, line, accelerator) if line is not None else ""
        return ModelDevices(name, devices, made.place if made is not None else Place(), beside)
    return None
