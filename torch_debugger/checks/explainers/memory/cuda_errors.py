"""Error codes of the GPU and its libraries: memory or an index in disguise, or a build for other devices."""

from __future__ import annotations

from torch_debugger.checks.explainers.blame import Blame, line_text, place_text
from torch_debugger.checks.explainers.devices.device_words import raised_by_the_user
from torch_debugger.checks.explainers.memory.cuda_asserts import EXACT_LINE, explain_lookup
from torch_debugger.records import CrashFact
from torch_debugger.records.evidence.cuda import CudaEvidence
from torch_debugger.records.units import bytes_text

_LITTLE = 500_000_000  # bytes; what cuBLAS and cuDNN want for handles and workspaces
_STARTS = ("ALLOC_FAILED", "NOT_INITIALIZED", "INTERNAL_ERROR", "EXECUTION_FAILED", "MAPPING_ERROR")
_LATE = "Kernels run behind the program, so the fault may lie in a line before this one. "


def explain_cuda_error(crash: CrashFact) -> Blame | None:
    held = crash.evidence.cuda
    if held is None or held.kind not in ("address", "launch", "library", "image") or raised_by_the_user(crash):
        return None
    if held.kind == "image":
        return _other_device(crash, held)
    short = held.kind == "library" and held.alive and held.free_bytes < _LITTLE
    if short and held.told.endswith(_STARTS):
        return _no_memory(crash, held)
    return explain_lookup(crash, held, 0.85) or _unknown(crash, held)


def _no_memory(crash: CrashFact, held: CudaEvidence) -> Blame:
    return Blame(
        message=f"{held.told} at {place_text(crash.place)} is an out-of-memory error: "
        f"{bytes_text(held.free_bytes)} of the device's {bytes_text(held.total_bytes)} are free.",
        why="The library makes a workspace of its own beside torch's memory, and there was no room for it; it "
        "does not say so.",
        fix="Use a smaller batch, end other programs on the device, or leave the library room: "
        "`torch.cuda.set_per_process_memory_fraction(0.95)` at the start.",
        where=crash.place,
        evidence=_told(crash, held, free=bytes_text(held.free_bytes), total=bytes_text(held.total_bytes)),
        confidence=0.9,
    )


def _other_device(crash: CrashFact, held: CudaEvidence) -> Blame | None:
    if not held.capability or held.capability in held.architectures:
        return None
    built = ", ".join(held.architectures) or "no GPU"
    return Blame(
        message=f"This torch has no kernels for {held.name} ({held.capability}): it was built for {built}.",
        why="A build holds kernels for a list of architectures only; a device that is older or newer than all "
        "of them cannot run it.",
        fix="Install a build of torch whose list includes the device: choose another CUDA version at "
        "pytorch.org/get-started, or the nightly build for a new device.",
        where=crash.place,
        evidence=_told(crash, held, device=f"{held.name} {held.capability}", built=built),
        confidence=0.97,
    )


def _unknown(crash: CrashFact, held: CudaEvidence) -> Blame:
    """No index out of range and memory left: say so, and how to find the line."""
    answers = f" The device still answers, with {bytes_text(held.free_bytes)} free." if held.alive else ""
    dead = "" if held.alive else " Every later call into the GPU fails in this process."
    late, exact = ("", "") if held.blocking else (_LATE, f"{EXACT_LINE[0].upper()}{EXACT_LINE[1:]}. ")
    return Blame(
        message=f'The GPU failed with "{held.told}", which showed at {place_text(crash.place)}.',
        why=f"{late}No index of the last batches that could be read on the CPU is out of range.{answers}{dead}",
        fix=f"{exact}`compute-sanitizer python script.py` names the kernel and the address. Custom and "
        "compiled kernels come first: try without them.",
        where=crash.place,
        evidence=_told(crash, held),
        confidence=0.6,
    )


def _told(crash: CrashFact, held: CudaEvidence, **others: float | str) -> dict[str, float | str]:
    return {"error": held.told, **others, "line": line_text(crash.place)}
