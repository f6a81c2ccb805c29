"""A device that was asked for and that this machine, or torch, does not have."""

from __future__ import annotations

import re

from torch_debugger.checks.explainers.blame import Blame, line_text, place_text
from torch_debugger.checks.explainers.devices.device_edits import line_edit
from torch_debugger.checks.explainers.devices.device_words import raised_by_the_user
from torch_debugger.records import CrashFact, Edit, Place
from torch_debugger.records.evidence import DeviceEvidence

_KINDS = ("cuda", "mps", "xpu")
_AVAILABLE = {
    "cuda": "torch.cuda.is_available()",
    "mps": "torch.backends.mps.is_available()",
    "xpu": "torch.xpu.is_available()",
}


def explain_absent_device(crash: CrashFact) -> Blame | None:
    held = crash.evidence.devices
    if held is None or not held.asked or raised_by_the_user(crash):
        return None
    kind, _, index = held.asked.partition(":")
    if kind not in _KINDS:
        return _unknown_word(crash, held)
    same = [device for device in held.usable if device.partition(":")[0] == kind]
    if not same:
        return _none_here(crash, held, kind)
    return _too_high(crash, held, same) if index and held.asked not in same else None


def _none_here(crash: CrashFact, held: DeviceEvidence, kind: str) -> Blame:
    choice = f'"{held.asked}" if {_AVAILABLE[kind]} else "cpu"'
    edit = _chosen(held.asked_at, held.asked, kind, choice)
    built = "this torch is built without it" if "not compiled" in crash.message else "none was found"
    told = f"write `{edit.after}`" if edit else f"choose the device with `{choice}`"
    report = re.search(rf"torch\.{kind}(?:\.\w+)+\(", held.asked_at.code or "")
    if report is not None and edit is None:
        return _reporting(crash, held, kind, f"{report[0]})", built)
    return Blame(
        message=f"{place_text(held.asked_at)} asks for {held.asked}, but this machine has no usable {kind} "
        f"device: {built}.",
        why=f"`{_AVAILABLE[kind]}` is False here, so tensors and models can only be on the CPU.",
        fix=f"At {place_text(held.asked_at)} {told}, which works on both kinds of machine.",
        where=held.asked_at or crash.place,
        evidence={"asked": held.asked, "usable": "cpu", "line": line_text(crash.place)},
        confidence=0.97,
        edit=edit,
    )


def _reporting(crash: CrashFact, held: DeviceEvidence, kind: str, call: str, built: str) -> Blame:
    """torch.cuda.memory_summary() and its like, also where a handler of an error calls them."""
    first = crash.causes[0] if crash.causes and not crash.raised_from else None
    meant = (
        f" It was called while {first.kind} was handled: that error came first." if first is not None else ""
    )
    ours = (
        " On the CPU `torch_debugger.memory.snapshot()` tells whose memory it is." if "memory" in call else ""
    )
    return Blame(
        message=f"`{call}` at {place_text(held.asked_at)} needs a {kind} device, and this machine "
        "has no usable one: "
        f"{built}.",
        why=f"`{_AVAILABLE[kind]}` is False here.{meant}",
        fix=f"Ask first: `if {_AVAILABLE[kind]}:` around {place_text(held.asked_at)}.{ours}",
        where=held.asked_at or crash.place,
        evidence={"asked": held.asked, "usable": "cpu", "line": line_text(crash.place)},
        confidence=0.97 if first is None else 0.9,
    )


def _chosen(place: Place, asked: str, kind: str, choice: str) -> Edit | None:
    """The literal with a way out, or `.cuda()` as `.to(...)`."""
    code = place.code or ""
    quoted = re.findall(rf"""["']{re.escape(asked)}["']""", code)
    called = re.findall(rf"\.{kind}\(\d*\)", code)
    if len(quoted) == 1 and not called and _AVAILABLE[kind] not in code:
        return line_edit(place, code.replace(quoted[0], choice))
    if len(called) == 1 and not quoted:
        return line_edit(place, code.replace(called[0], f".to({choice})"))
    return None


def _too_high(crash: CrashFact, held: DeviceEvidence, same: list[str]) -> Blame:
    last = same[-1]
    code = held.asked_at.code or ""
    edit = line_edit(held.asked_at, code.replace(held.asked, last)) if code.count(held.asked) == 1 else None
    count = f"{len(same)} CUDA device{'s' if len(same) > 1 else ''}"
    told = f"write `{edit.after}`" if edit else f"use `{last}`"
    return Blame(
        message=f"{place_text(held.asked_at)} asks for {held.asked}, but this process sees {count}: "
        f"{', '.join(same)}.",
        why="Devices are counted from 0, and among those that CUDA_VISIBLE_DEVICES leaves visible.",
        fix=f"At {place_text(held.asked_at)} {told}.",
        where=held.asked_at or crash.place,
        evidence={"asked": held.asked, "usable": ", ".join(same), "line": line_text(crash.place)},
        confidence=0.97,
        edit=edit,
    )


def _unknown_word(crash: CrashFact, held: DeviceEvidence) -> Blame | None:
    """gpu, cuda0, cuda:one: not how torch names a device."""
    numbered = re.fullmatch(r"(cuda|mps|xpu)[^a-z]*?(\d+)", held.asked)
    meant = f"{numbered[1]}:{numbered[2]}" if numbered else "cuda"
    if not numbered and held.asked.partition(":")[0].lower() not in ("gpu", "nvidia", "cuda", "gpu0"):
        return None
    code = held.asked_at.code or ""
    spots = re.findall(rf"""["']{re.escape(held.asked)}["']""", code)
    there = meant in held.usable or (meant == "cuda" and "cuda:0" in held.usable)
    choice = f'"{meant}"' if there else f'"{meant}" if torch.cuda.is_available() else "cpu"'
    edit = line_edit(held.asked_at, code.replace(spots[0], choice)) if len(spots) == 1 else None
    return Blame(
        message=f"{place_text(held.asked_at)} asks for the device `{held.asked}`; torch calls it `{meant}`.",
        why="A device is named by its kind and number: `cpu`, `cuda`, `cuda:1`, `mps`.",
        fix=f"At {place_text(held.asked_at)} write `{edit.after if edit else choice}`.",
        where=held.asked_at or crash.place,
        evidence={"asked": held.asked, "line": line_text(crash.place)},
        confidence=0.95,
        edit=edit,
    )
