"""An accelerator that ran out of memory: who holds it, and what would fit."""

from __future__ import annotations

from torch_debugger.checks.explainers.blame import Blame, line_text, place_text, shape_text
from torch_debugger.checks.explainers.calls import rewritten
from torch_debugger.checks.explainers.devices.device_words import raised_by_the_user
from torch_debugger.records import CrashFact, Edit, MemoryLook, Place
from torch_debugger.records.evidence import MemoryEvidence
from torch_debugger.records.evidence.memory import Forecast, KeptTensors
from torch_debugger.records.memory import ACTIVATIONS
from torch_debugger.records.units import bytes_text

_MUCH = 0.2  # of what torch holds
_WORTH_IT = 0.85  # of the peak: what saves less than a seventh is not worth a line


def explain_device_memory(crash: CrashFact) -> Blame | None:
    held = crash.evidence.memory
    if held is None or held.device == "cpu" or raised_by_the_user(crash):
        return None
    hoard = next((kept for kept in held.kept if _is_hoard(kept, held)), None)
    others = held.total_bytes - held.free_bytes - held.reserved_bytes
    if hoard is not None:
        return _blame(crash, held, _of_hoard(hoard), *_let_go(hoard), 0.95)
    if others > held.total_bytes / 2:
        told = f"; {bytes_text(others)} of it belongs to other programs"
        fix = "End the other programs on this device (`nvidia-smi` lists them), or choose another device."
        return _blame(crash, held, told, fix, crash.place, None, 0.9)
    if held.reserved_bytes - held.allocated_bytes > held.asked_bytes:
        return _blame(crash, held, _of_pieces(held), _whole_pieces(held), crash.place, None, 0.9)
    return _blame(crash, held, "", _what_fits(held), crash.place, None, 0.95)


def _blame(
    crash: CrashFact,
    held: MemoryEvidence,
    told: str,
    fix: str,
    where: Place,
    edit: Edit | None,
    confidence: float,
) -> Blame:
    return Blame(
        message=f"{place_text(crash.place)} asked for {bytes_text(held.asked_bytes)} more on {held.device}, "
        f"which has {bytes_text(held.total_bytes)}; torch held {bytes_text(held.allocated_bytes)}{told}.",
        why=_why(held),
        fix=fix,
        where=where if where.file else crash.place,
        evidence=_evidence(crash, held),
        confidence=confidence,
        edit=edit,
    )


def _is_hoard(kept: KeptTensors, held: MemoryEvidence) -> bool:
    """Much memory behind one name that a statement adds to."""
    size = kept.size_bytes + kept.graph_bytes
    return (
        size > _MUCH * held.allocated_bytes
        and bool(kept.place.file)
        and (kept.count > 1 or kept.graph_bytes > 0)
    )


def _of_hoard(kept: KeptTensors) -> str:
    graph = f", with the graphs of earlier steps {bytes_text(kept.size_bytes + kept.graph_bytes)}"
    several = f"{kept.count} tensors" if kept.count > 1 else "a tensor"
    own = f"`{kept.name}` keeps {several} of {bytes_text(kept.size_bytes)}"
    return f"; {own}{graph if kept.graph_bytes else ''}"


def _let_go(kept: KeptTensors) -> tuple[str, Place, Edit | None]:
    """Append numbers, or copies without a graph on the CPU."""
    single = kept.shape in ((), (1,))
    form = ".item()" if single else ".detach().cpu()"
    edit = _changed(kept, form)
    told = f"write `{edit.after}`" if edit else f"add `{kept.added or 'x'}{form}` to `{kept.name}`"
    reason = "a number" if single else "a copy in the machine's memory"
    instead = "a tensor with its graph" if kept.graph_bytes else "a tensor on the device"
    return f"At {place_text(kept.place)} {told}: {reason} instead of {instead}.", kept.place, edit


def _changed(kept: KeptTensors, form: str) -> Edit | None:
    code = kept.place.code or ""
    before, after = f"{kept.added})", f"{kept.added}{form})"
    if "+=" in code:
        before, after = f"+= {kept.added}", f"+= {kept.added}{form}"
    plain = kept.added.replace(".", "").replace("_", "").isalnum() or kept.added.endswith(")")
    return rewritten(kept.place, before, after) if kept.added and plain else None


def _of_pieces(held: MemoryEvidence) -> str:
    return f" and kept {bytes_text(held.reserved_bytes - held.allocated_bytes)} in pieces too small for it"


def _whole_pieces(held: MemoryEvidence) -> str:
    return (
        "Set the environment variable `PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True` before torch is "
        "imported, so that the allocator can join its pieces; batches of one size keep it from making them."
    )


def _what_fits(held: MemoryEvidence) -> str:
    forecast = held.forecast
    if forecast is None:
        return (
            "Use a smaller batch, or smaller inputs; the model's step could not be measured without running it."
        )
    ways = [_batch_text(forecast), _autocast_text(forecast), _checkpoint_text(forecast)]
    return " ".join(way for way in ways if way)


def _batch_text(forecast: Forecast) -> str:
    most = forecast.largest_batch
    if not forecast.sample_bytes:
        return "Use smaller inputs."
    each = f"each sample takes {bytes_text(forecast.sample_bytes)}"
    if most < 1:
        return f"Not even one sample fits beside the parameters: {each}."
    if most >= forecast.batch:
        return (
            f"`{forecast.model}` alone would fit with a batch of {forecast.batch}: look at what else is held."
        )
    parts = -(-forecast.batch // most)
    return (
        f"Use a batch of at most {most} instead of {forecast.batch}: {each}. To keep the effect of "
        f"{forecast.batch}, accumulate the gradients of {parts} batches of {forecast.batch // parts}."
    )


def _autocast_text(forecast: Forecast) -> str:
    saved = forecast.peak_bytes - forecast.autocast_bytes
    if not forecast.autocast_bytes or forecast.autocast_bytes > _WORTH_IT * forecast.peak_bytes:
        return ""
    return (
        f'`with torch.autocast("cuda", dtype=torch.bfloat16):` around the forward saves {bytes_text(saved)} of '
        f"{bytes_text(forecast.peak_bytes)}."
    )


def _checkpoint_text(forecast: Forecast) -> str:
    if forecast.checkpointed_bytes < (1 - _WORTH_IT) * forecast.peak_bytes:
        return ""
    return (
        f"`torch.utils.checkpoint.checkpoint` around each block of `{forecast.repeated}` saves "
        f"{bytes_text(forecast.checkpointed_bytes)}, for one more forward."
    )


def _why(held: MemoryEvidence) -> str:
    known = held.parameter_bytes + held.gradient_bytes + held.optimizer_bytes
    rest = max(0, held.allocated_bytes - known)
    parts = [
        ("parameters", held.parameter_bytes),
        ("gradients", held.gradient_bytes),
        ("optimizer state", held.optimizer_bytes),
        ("activations and other tensors", rest),
    ]
    told = ", ".join(f"{name} {bytes_text(size)}" for name, size in parts if size)
    step = held.forecast
    needs = (
        f" A step of `{step.model}` at batch {step.batch} needs {bytes_text(step.peak_bytes)}" if step else ""
    )
    most = f", most of it saved by {_modules_text(step)}" if step and step.modules else ""
    return f"In use: {told}.{needs}{most}{'.' if needs else ''}{_of_look(held.look)}"


def _of_look(look: MemoryLook | None) -> str:
    """What was seen while the training still ran."""
    size = look.parts.get(ACTIVATIONS, 0) if look is not None else 0
    if look is None or not size:
        return ""
    modules = ", ".join(
        f"`{part.path}` {bytes_text(part.size_bytes)}" for part in look.modules[:3] if part.path
    )
    most = f", most of it for {modules}" if modules else ""
    return f" Before the backward of step {look.step}, activations took {bytes_text(size)}{most}."


def _modules_text(forecast: Forecast) -> str:
    return ", ".join(f"`{part.path}` {bytes_text(part.size_bytes)}" for part in forecast.modules[:3])


def _evidence(crash: CrashFact, held: MemoryEvidence) -> dict[str, float | str]:
    told: dict[str, float | str] = {
        "asked": bytes_text(held.asked_bytes),
        "free": bytes_text(held.free_bytes),
        "in use by torch": bytes_text(held.allocated_bytes),
        "cached by torch": bytes_text(held.reserved_bytes - held.allocated_bytes),
        "parameters": bytes_text(held.parameter_bytes),
        "gradients": bytes_text(held.gradient_bytes),
        "optimizer state": bytes_text(held.optimizer_bytes),
    }
    for kept in held.kept[:3]:
        told[kept.name] = f"{shape_text(kept.shape)}, {bytes_text(kept.size_bytes + kept.graph_bytes)}"
    return told | {"line": line_text(crash.place)}
