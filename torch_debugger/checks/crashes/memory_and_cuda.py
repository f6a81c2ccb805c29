"""TD920: an allocation that the device or the host refused."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Sequence

from torch_debugger.checks.crash_check import CrashCheck
from torch_debugger.checks.crashes.devices import raised_by_the_user
from torch_debugger.checks.crashes.explanation import (
    Blame,
    layer_evidence,
    layer_name,
    line_text,
    place_text,
    shape_text,
    target_place,
    user_frame,
)
from torch_debugger.checks.crashes.indices import allowed_text, counts_from_one, index_evidence, offenders_text
from torch_debugger.checks.crashes.layers_and_losses import Setting
from torch_debugger.checks.crashes.user_code import Line, broadcast, called, change_operand, parse_expression, rewritten
from torch_debugger.records import CrashFact, Edit, LocalTensor, MemoryLook, Place
from torch_debugger.records.crash import CudaEvidence, DeviceLookup, Forecast, KeptTensors, MemoryEvidence
from torch_debugger.records.performance import ACTIVATIONS
from torch_debugger.records.units import bytes_text

# An accelerator that ran out of memory: who holds it, and what would fit.
_MUCH = 0.2  # of what torch holds
_WORTH_IT = 0.85  # of the peak: what saves less than a seventh is not worth a line


def explain_device_memory(crash: CrashFact) -> Blame | None:
    memory = crash.evidence.memory
    if memory is None or memory.device == "cpu" or raised_by_the_user(crash):
        return None
    hoard = next((kept for kept in memory.kept if _is_hoard(kept, memory)), None)
    others = memory.total_bytes - memory.free_bytes - memory.reserved_bytes
    if hoard is not None:
        return _blame(crash, memory, _of_hoard(hoard), *_let_go(hoard), 0.95)
    if others > memory.total_bytes / 2:
        told = f"; {bytes_text(others)} of it belongs to other programs"
        fix = "End the other programs on this device (`nvidia-smi` lists them), or choose another device."
        return _blame(crash, memory, told, fix, crash.place, None, 0.9)
    if memory.reserved_bytes - memory.allocated_bytes > memory.asked_bytes:
        return _blame(crash, memory, _of_pieces(memory), _whole_pieces(memory), crash.place, None, 0.9)
    return _blame(crash, memory, "", _what_fits(memory), crash.place, None, 0.95)


def _blame(
    crash: CrashFact, memory: MemoryEvidence, told: str, fix: str, where: Place, edit: Edit | None, confidence: float
) -> Blame:
    return Blame(
        message=f"{place_text(crash.place)} asked for {bytes_text(memory.asked_bytes)} more on {memory.device}, "
        f"which has {bytes_text(memory.total_bytes)}; torch held {bytes_text(memory.allocated_bytes)}{told}.",
        why=_why(memory),
        fix=fix,
        where=where if where.file else crash.place,
        evidence=_evidence(crash, memory),
        confidence=confidence,
        edit=edit,
    )


def _is_hoard(kept: KeptTensors, memory: MemoryEvidence) -> bool:
    """Much memory behind one name that a statement adds to."""
    size = kept.size_bytes + kept.graph_bytes
    return size > _MUCH * memory.allocated_bytes and bool(kept.place.file) and (kept.count > 1 or kept.graph_bytes > 0)


def _of_hoard(kept: KeptTensors) -> str:
    graph = f", with the graphs of earlier steps {bytes_text(kept.size_bytes + kept.graph_bytes)}"
    several = f"{kept.count} tensors" if kept.count > 1 else "a tensor"
    own = f"`{kept.name}` keeps {several} of {bytes_text(kept.size_bytes)}"
    return f"; {own}{graph if kept.graph_bytes else ''}"


def _let_go(kept: KeptTensors) -> tuple[str, Place, Edit | None]:
    """Append numbers, or copies without a graph on the CPU."""
    single = kept.shape in ((), (1,))
    form = ".item()" if single else ".detach().cpu()"
    code = kept.place.code or ""
    before, after = f"{kept.added})", f"{kept.added}{form})"
    if "+=" in code:
        before, after = f"+= {kept.added}", f"+= {kept.added}{form}"
    plain = kept.added.replace(".", "").replace("_", "").isalnum() or kept.added.endswith(")")
    edit = rewritten(kept.place, before, after) if kept.added and plain else None
    told = f"write `{edit.after}`" if edit else f"add `{kept.added or 'x'}{form}` to `{kept.name}`"
    reason = "a number" if single else "a copy in the machine's memory"
    instead = "a tensor with its graph" if kept.graph_bytes else "a tensor on the device"
    return f"At {place_text(kept.place)} {told}: {reason} instead of {instead}.", kept.place, edit


def _of_pieces(memory: MemoryEvidence) -> str:
    return f" and kept {bytes_text(memory.reserved_bytes - memory.allocated_bytes)} in pieces too small for it"


def _whole_pieces(memory: MemoryEvidence) -> str:
    return (
        "Set the environment variable `PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True` before torch is "
        "imported, so that the allocator can join its pieces; batches of one size keep it from making them."
    )


def _what_fits(memory: MemoryEvidence) -> str:
    step = memory.forecast
    if step is None:
        return "Use a smaller batch, or smaller inputs; the model's step could not be measured without running it."
    ways = [_batch_text(step)]
    if step.autocast_bytes and step.autocast_bytes <= _WORTH_IT * step.peak_bytes:
        ways.append(
            '`with torch.autocast("cuda", dtype=torch.bfloat16):` around the forward saves '
            f"{bytes_text(step.peak_bytes - step.autocast_bytes)} of {bytes_text(step.peak_bytes)}."
        )
    if step.checkpointed_bytes >= (1 - _WORTH_IT) * step.peak_bytes:
        ways.append(
            f"`torch.utils.checkpoint.checkpoint` around each block of `{step.repeated}` saves "
            f"{bytes_text(step.checkpointed_bytes)}, for one more forward."
        )
    return " ".join(ways)


def _batch_text(forecast: Forecast) -> str:
    most = forecast.largest_batch
    if not forecast.sample_bytes:
        return "Use smaller inputs."
    each = f"each sample takes {bytes_text(forecast.sample_bytes)}"
    if most < 1:
        return f"Not even one sample fits beside the parameters: {each}."
    if most >= forecast.batch:
        return f"`{forecast.model}` alone would fit with a batch of {forecast.batch}: look at what else is held."
    parts = -(-forecast.batch // most)
    return (
        f"Use a batch of at most {most} instead of {forecast.batch}: {each}. To keep the effect of "
        f"{forecast.batch}, accumulate the gradients of {parts} batches of {forecast.batch // parts}."
    )


def _why(memory: MemoryEvidence) -> str:
    known = memory.parameter_bytes + memory.gradient_bytes + memory.optimizer_bytes
    rest = max(0, memory.allocated_bytes - known)
    parts = [
        ("parameters", memory.parameter_bytes),
        ("gradients", memory.gradient_bytes),
        ("optimizer state", memory.optimizer_bytes),
        ("activations and other tensors", rest),
    ]
    told = ", ".join(f"{name} {bytes_text(size)}" for name, size in parts if size)
    step = memory.forecast
    needs = f" A step of `{step.model}` at batch {step.batch} needs {bytes_text(step.peak_bytes)}" if step else ""
    most = f", most of it saved by {_modules_text(step)}" if step and step.modules else ""
    return f"In use: {told}.{needs}{most}{'.' if needs else ''}{_of_look(memory.look)}"


def _of_look(look: MemoryLook | None) -> str:
    """What was seen while the training still ran."""
    size = look.parts.get(ACTIVATIONS, 0) if look is not None else 0
    if look is None or not size:
        return ""
    modules = ", ".join(f"`{part.path}` {bytes_text(part.size_bytes)}" for part in look.modules[:3] if part.path)
    most = f", most of it for {modules}" if modules else ""
    return f" Before the backward of step {look.step}, activations took {bytes_text(size)}{most}."


def _modules_text(forecast: Forecast) -> str:
    return ", ".join(f"`{part.path}` {bytes_text(part.size_bytes)}" for part in forecast.modules[:3])


def _evidence(crash: CrashFact, memory: MemoryEvidence) -> dict[str, float | str]:
    evidence: dict[str, float | str] = {
        "asked": bytes_text(memory.asked_bytes),
        "free": bytes_text(memory.free_bytes),
        "in use by torch": bytes_text(memory.allocated_bytes),
        "cached by torch": bytes_text(memory.reserved_bytes - memory.allocated_bytes),
        "parameters": bytes_text(memory.parameter_bytes),
        "gradients": bytes_text(memory.gradient_bytes),
        "optimizer state": bytes_text(memory.optimizer_bytes),
    }
    for kept in memory.kept[:3]:
        evidence[kept.name] = f"{shape_text(kept.shape)}, {bytes_text(kept.size_bytes + kept.graph_bytes)}"
    return evidence | {"line": line_text(crash.place)}


# A tensor that the machine has no memory for: which expression makes it, of what, and how large.
_LOSSES = "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "MSELoss", "L1Loss", "SmoothL1Loss", "HuberLoss"
_WIDTHS = 1, 2, 4, 8, 16
_EVERY_PAIR = "cdist", "outer", "matmul", "mm", "bmm", "ger", "pdist", "combinations", "cartesian_prod"
_FACTORIES = (
    "zeros", "ones", "empty", "full", "rand", "randn", "randint", "eye", "arange", "linspace", "one_hot",
)  # fmt: skip


def explain_host_memory(crash: CrashFact) -> Blame | None:
    memory, frame = crash.evidence.memory, user_frame(crash)
    if memory is None or memory.device != "cpu" or frame is None or raised_by_the_user(crash):
        return None
    line = Line(frame, crash.flow)
    for node in line.nodes():
        blame = _broadcast(crash, memory, line, node)
        if blame is not None:
            return blame
    return _sized(crash, memory) or _plain(crash, memory, line)


def _broadcast(crash: CrashFact, memory: MemoryEvidence, line: Line, node: ast.expr) -> Blame | None:
    """Two tensors whose common shape is as large as what was asked for, and far larger than either."""
    pair = _pair(crash, line, node)
    shape = broadcast(pair[0].shape, pair[1].shape) if pair is not None else None
    if pair is None or shape is None or memory.asked_bytes not in [math.prod(shape) * width for width in _WIDTHS]:
        return None
    first, second = pair
    met = f"`{first.name}` {shape_text(first.shape)} with `{second.name}` {shape_text(second.shape)}"
    change, edit = _squeezed(crash, line, node, first, second)
    return Blame(
        message=f"{place_text(crash.place)} makes a tensor {shape_text(shape)} of "
        f"{bytes_text(memory.asked_bytes)}: it combines {met}.",
        why="Sizes of 1 are repeated until the shapes agree, so every row meets every row; the machine has "
        "less memory than that.",
        fix=change,
        evidence=_host_evidence(memory, crash)
        | {first.name: shape_text(first.shape), second.name: shape_text(second.shape)},
        edit=edit,
    )


def _pair(crash: CrashFact, line: Line, node: ast.expr) -> tuple[LocalTensor, LocalTensor] | None:
    operands: list[ast.expr] = []
    if isinstance(node, ast.BinOp):
        operands = [node.left, node.right]
    elif isinstance(node, ast.Compare) and len(node.comparators) == 1:
        operands = [node.left, node.comparators[0]]
    elif called(node)[0] in _LOSSES:
        operands = called(node)[1]
    elif _is_loss_layer(crash) and crash.layer is not None and isinstance(node, ast.Call):
        return crash.layer.inputs[0], crash.layer.inputs[1]
    tensors = [tensor for operand in operands if (tensor := line.tensor(operand)) is not None]
    return (tensors[0], tensors[1]) if len(operands) == len(tensors) == 2 else None


def _is_loss_layer(crash: CrashFact) -> bool:
    layer = crash.layer
    return layer is not None and layer.kind in _LOSSES and len(layer.inputs) == 2


def _squeezed(
    crash: CrashFact, line: Line, node: ast.expr, first: LocalTensor, second: LocalTensor
) -> tuple[str, Edit | None]:
    """[N, 1] with [N] is a slip, and has its edit; all pairs on purpose are made in parts."""
    long, flat = (first, second) if len(first.shape) > len(second.shape) else (second, first)
    if long.shape != (*flat.shape, 1):
        return (
            "If each row was meant to meet only its own, give both the same shape. If all pairs are meant, "
            "work on a few rows at a time, so that only a part of them is in memory.",
            None,
        )
    form = f"{flat.name}.unsqueeze(-1)"
    told, edit = change_operand(crash, line, node, flat.name, form)
    return f"Give both the same shape: write `{told}`, which makes `{flat.name}` {shape_text(long.shape)} too.", edit


def _sized(crash: CrashFact, memory: MemoryEvidence) -> Blame | None:
    """A call that names the sizes itself: a constructor of a layer, torch.zeros(...)."""
    call, sizes = memory.sized_by, memory.sizes
    if not call:
        return None
    node = parse_expression(call)
    name = ast.unparse(node.func).rpartition(".")[2] if isinstance(node, ast.Call) else ""
    if sizes:
        told = f"{place_text(crash.place)} makes a tensor {shape_text(sizes)} of {bytes_text(memory.asked_bytes)}"
        return _host_blame(crash, memory, f"{told}: `{call}`.", _advice(call, sizes), 0.97)
    if name not in _FACTORIES:
        return None
    told = f"`{call}` at {place_text(crash.place)} makes a tensor of {bytes_text(memory.asked_bytes)}"
    return _host_blame(crash, memory, f"{told}{_values(crash, call)}.", _advice(call), 0.95)


def _values(crash: CrashFact, call: str) -> str:
    """: capacity is 10000000"""
    frame, node = user_frame(crash), parse_expression(call)
    names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)} if node is not None else set()
    held = {value.name: value.text for value in frame.values if value.kind == "int"} if frame is not None else {}
    told = [f"`{name}` is {held[name]}" for name in sorted(names & set(held))]
    return f"; {' and '.join(told)}" if told else ""


def _advice(call: str, sizes: Sequence[int] = ()) -> str:
    node = parse_expression(call)
    name = ast.unparse(node.func).rpartition(".")[2] if isinstance(node, ast.Call) else ""
    product = isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult)
    if name in _EVERY_PAIR or product:
        return "Work on a few rows at a time (`x.split(1024)`), and keep of each part only what you need."
    if name == "one_hot":
        return "Look the rows up with `nn.Embedding` instead: it takes the numbers themselves."
    if name == "Linear" and sizes:
        return f"Use fewer features in between: `nn.Linear({sizes[1]}, 512)` has {sizes[1] * 512:,} weights."
    return "Make the sizes smaller, or keep on disk (`numpy.memmap`) what need not be in memory at once."


def _plain(crash: CrashFact, memory: MemoryEvidence, line: Line) -> Blame:
    """The operands of the line are known, what it makes of them is not."""
    parts = [part for node in line.nodes() for part in ast.walk(node)]
    tensors = [tensor for part in parts if (tensor := _held(line, part)) is not None]
    named = {tensor.name: shape_text(tensor.shape) for tensor in tensors[:4]}
    of = f" from {' and '.join(f'`{name}` {shape}' for name, shape in named.items())}" if named else ""
    expression, size = memory.sized_by or crash.place.code, bytes_text(memory.asked_bytes)
    told = f"`{expression}` at {place_text(crash.place)} makes a tensor of {size}{of}."
    return _host_blame(crash, memory, told, _advice(memory.sized_by), 0.85)


def _held(line: Line, part: ast.AST) -> LocalTensor | None:
    return line.tensor(part) if isinstance(part, ast.Name | ast.Attribute) else None


def _host_blame(crash: CrashFact, memory: MemoryEvidence, message: str, fix: str, confidence: float) -> Blame:
    return Blame(
        message=message,
        why="A tensor lies in memory as a whole, and the machine has less than that.",
        fix=fix,
        evidence=_host_evidence(memory, crash),
        confidence=confidence,
    )


def _host_evidence(memory: MemoryEvidence, crash: CrashFact) -> dict[str, float | str]:
    return {
        "asked": bytes_text(memory.asked_bytes),
        "memory of the machine": bytes_text(memory.total_bytes),
        "line": line_text(crash.place),
    }


class OutOfMemory(CrashCheck):
    """The memory of the device, or of the machine, was not enough.

    Symptom:
        The script stops with "CUDA out of memory", "DefaultCPUAllocator: can't allocate memory" or numpy's
        "Unable to allocate".
    Evidence:
        On a device: the caching allocator's counts, the bytes of parameters, gradients and optimizer state,
        variables that keep tensors and their graphs from earlier steps, and one training step of the model
        measured on tensors that have shapes and no memory, at two batch sizes and under autocast. On the
        host: the bytes asked for, the shapes that met, and the memory of the machine.
    Fix:
        Let go of what is kept, take the batch that fits, or pay with time: bfloat16 autocast, gradient
        accumulation, activation checkpointing. The numbers are filled in. On the host it is nearly always
        one tensor that was never meant: a broadcast of every row with every row, or a size in the wrong place.
    Known limits:
        The measured step is the model's own forward and backward; the loss's memory is not part of it. A
        forward that depends on values (`.item()`, boolean masks) cannot be measured, and no batch is named.
        A process that the system kills for its memory raises no exception.
    """

    id = "TD920"
    name = "out-of-memory"
    title = "the memory of the device or the machine was not enough"
    explainers = explain_device_memory, explain_host_memory


# A failed assertion on the device: the index that was out of range, by its values on the CPU.
EXACT_LINE = "run it once more with the environment variable `CUDA_LAUNCH_BLOCKING=1`: the line is then exact"
_LATE = "Kernels run behind the program, so the line where the error shows can be a later one"


def explain_device_assert(crash: CrashFact) -> Blame | None:
    cuda = crash.evidence.cuda
    if cuda is None or cuda.kind != "assert" or raised_by_the_user(crash):
        return None
    return explain_lookup(crash, cuda, 0.95) or _unread(crash, cuda)


def explain_lookup(crash: CrashFact, cuda: CudaEvidence, confidence: float) -> Blame | None:
    """The one lookup whose values, seen on the CPU, are out of range; of several batches the newest."""
    if not cuda.lookups:
        return None
    lookup = cuda.lookups[0]
    rivals = [other for other in cuda.lookups if other.age == lookup.age]
    sure = confidence if len(rivals) == 1 else 0.7
    if lookup.found.operation == "embedding":
        return _table(crash, lookup, sure)
    return _labels(crash, lookup, sure)


def _source(lookup: DeviceLookup) -> str:
    """`batch[0]` of the last batch"""
    name = f"`{lookup.found.indices.name}`"
    if lookup.age < 0:
        return name
    return f"{name} of the last batch" if lookup.age == 0 else f"{name} of {lookup.age + 1} batches ago"


def _out_of_range(lookup: DeviceLookup) -> str:
    """holds 3 values out of range: 1000 at row 2, column 3; ..."""
    found = lookup.found
    many = f"{found.count} values" if found.count > 1 else "a value"
    return f"{_source(lookup)} holds {many} out of range: {offenders_text(found)}"


def _table(crash: CrashFact, lookup: DeviceLookup, confidence: float) -> Blame:
    found, layer = lookup.found, lookup.layer
    named = layer_name(layer) if layer is not None else "an embedding"
    setting = Setting(layer, "num_embeddings", 0, found.highest + 1) if layer is not None else None
    negative = found.lowest < 0
    fix = f"Keep the indices in {allowed_text(found)}: give negative ones a row of their own before the lookup."
    if setting is not None and not negative:
        fix = setting.fix(f", or keep the indices in {allowed_text(found)}")
    return Blame(
        message=f"{named[0].upper()}{named[1:]} has rows {allowed_text(found)}, but {_out_of_range(lookup)}.",
        why=f"The GPU stops at an index without a row. {_LATE}; it showed at {place_text(crash.place)}.",
        fix=fix,
        where=_where(lookup, crash),
        evidence=_lookup_evidence(crash, lookup),
        confidence=confidence,
        edit=setting.edit() if setting is not None and not negative else None,
    )


def _labels(crash: CrashFact, lookup: DeviceLookup, confidence: float) -> Blame:
    found, layer = lookup.found, lookup.layer
    allowed = allowed_text(found)
    scores = f"{layer_name(layer)} gives" if layer is not None else "The loss was given"
    setting = Setting(layer, "out_features", 1, found.highest + 1) if layer is not None else None
    edit = None
    if counts_from_one(found):
        fix = f"Count the labels from 0: subtract 1 from `{found.indices.name}` before the loss."
    elif found.lowest < 0 or setting is None:
        fix = f"Keep the labels in {allowed}, or name the one that does not count: `ignore_index`."
    else:
        fix, edit = setting.fix(f", or keep the labels in {allowed}"), setting.edit()
    return Blame(
        message=f"{scores[0].upper()}{scores[1:]} {found.size} scores, for labels {allowed}, but "
        f"{_out_of_range(lookup)}.",
        why=f"Each label chooses one of the scores. {_LATE}; it showed at {place_text(crash.place)}.",
        fix=fix,
        where=_where(lookup, crash) if edit is not None else crash.place,
        evidence=_lookup_evidence(crash, lookup),
        confidence=confidence,
        edit=edit,
    )


def _where(lookup: DeviceLookup, crash: CrashFact) -> Place:
    place = target_place(lookup.layer) if lookup.layer is not None else Place()
    return place if place.file else crash.place


def _lookup_evidence(crash: CrashFact, lookup: DeviceLookup) -> dict[str, float | str]:
    told = index_evidence(lookup.found)
    own = layer_evidence(lookup.layer, **told) if lookup.layer is not None else told
    return own | {"line": line_text(crash.place)}


def _unread(crash: CrashFact, cuda: CudaEvidence) -> Blame:
    """No index out of range on the CPU side: say what was looked at, and how to get the line."""
    ranges = [f"`{item.name}` {item.lowest} to {item.highest}" for item in cuda.seen if item.lowest is not None]
    looked = f"Those that could be read are in range: {', '.join(ranges)}. " if ranges else ""
    exact = "" if cuda.blocking else f"To learn which, {EXACT_LINE}. "
    evidence: dict[str, float | str] = {
        item.name: f"{item.lowest} to {item.highest} {shape_text(item.shape)}" for item in cuda.seen
    }
    return Blame(
        message=f"A kernel on the GPU failed an assertion, which showed at {place_text(crash.place)}.",
        why="Such an assertion is nearly always about an index or a label out of range, or a probability "
        f"outside 0 to 1 in a loss. {'' if cuda.blocking else f'{_LATE}. '}{looked}".rstrip(),
        fix=f"{exact}{'Run' if cuda.blocking else 'Or run'} one batch on the CPU, which names the index and its value.",
        evidence=evidence | {"line": line_text(crash.place)},
        confidence=0.7,
    )


class DeviceSideAssert(CrashCheck):
    """A kernel on the GPU failed an assertion, nearly always an index out of range.

    Symptom:
        The script stops with "CUDA error: device-side assert triggered", often at a line that has nothing
        to do with it, and every later call into the GPU raises the same.
    Evidence:
        The integer tensors of the last batches, kept on the CPU while the GPU was in use, and those in your
        variables, against the rows of the model's embeddings and the number of scores the loss was given.
        The GPU itself is not asked: its context is dead.
    Fix:
        Bring the index into range, or build the layer for one more than the highest number. The values, the
        layer and the line that builds it are filled in.
    Known limits:
        Indices that were made on the GPU cannot be read; then only what is known is told. Probabilities
        outside 0 to 1 in `BCELoss`, or negative ones in `multinomial`, fail an assertion too.
    """

    id = "TD921"
    name = "device-side-assert"
    title = "a kernel on the GPU failed an assertion"
    explainers = (explain_device_assert,)


# Error codes of the GPU and its libraries: memory or an index in disguise, or a build for other devices.
_LITTLE = 500_000_000  # bytes; what cuBLAS and cuDNN want for handles and workspaces
_STARTS = "ALLOC_FAILED", "NOT_INITIALIZED", "INTERNAL_ERROR", "EXECUTION_FAILED", "MAPPING_ERROR"
_MAYBE_EARLIER = "Kernels run behind the program, so the fault may lie in a line before this one. "


def explain_cuda_error(crash: CrashFact) -> Blame | None:
    cuda = crash.evidence.cuda
    if cuda is None or cuda.kind not in ("address", "launch", "library", "image") or raised_by_the_user(crash):
        return None
    if cuda.kind == "image":
        return _other_device(crash, cuda)
    short = cuda.kind == "library" and cuda.alive and cuda.free_bytes < _LITTLE
    if short and cuda.told.endswith(_STARTS):
        return _no_memory(crash, cuda)
    return explain_lookup(crash, cuda, 0.85) or _unknown(crash, cuda)


def _no_memory(crash: CrashFact, cuda: CudaEvidence) -> Blame:
    return Blame(
        message=f"{cuda.told} at {place_text(crash.place)} is an out-of-memory error: "
        f"{bytes_text(cuda.free_bytes)} of the device's {bytes_text(cuda.total_bytes)} are free.",
        why="The library makes a workspace of its own beside torch's memory, and there was no room for it; it "
        "does not say so.",
        fix="Use a smaller batch, end other programs on the device, or leave the library room: "
        "`torch.cuda.set_per_process_memory_fraction(0.95)` at the start.",
        evidence=_told(crash, cuda, free=bytes_text(cuda.free_bytes), total=bytes_text(cuda.total_bytes)),
        confidence=0.9,
    )


def _other_device(crash: CrashFact, cuda: CudaEvidence) -> Blame | None:
    if not cuda.capability or cuda.capability in cuda.architectures:
        return None
    built = ", ".join(cuda.architectures) or "no GPU"
    return Blame(
        message=f"This torch has no kernels for {cuda.name} ({cuda.capability}): it was built for {built}.",
        why="A build holds kernels for a list of architectures only; a device that is older or newer than all "
        "of them cannot run it.",
        fix="Install a build of torch whose list includes the device: choose another CUDA version at "
        "pytorch.org/get-started, or the nightly build for a new device.",
        evidence=_told(crash, cuda, device=f"{cuda.name} {cuda.capability}", built=built),
    )


def _unknown(crash: CrashFact, cuda: CudaEvidence) -> Blame:
    """No index out of range and memory left: say so, and how to find the line."""
    answers = f" The device still answers, with {bytes_text(cuda.free_bytes)} free." if cuda.alive else ""
    dead = "" if cuda.alive else " Every later call into the GPU fails in this process."
    late, exact = ("", "") if cuda.blocking else (_MAYBE_EARLIER, f"{EXACT_LINE[0].upper()}{EXACT_LINE[1:]}. ")
    return Blame(
        message=f'The GPU failed with "{cuda.told}", which showed at {place_text(crash.place)}.',
        why=f"{late}No index of the last batches that could be read on the CPU is out of range.{answers}{dead}",
        fix=f"{exact}`compute-sanitizer python script.py` names the kernel and the address. Custom and "
        "compiled kernels come first: try without them.",
        evidence=_told(crash, cuda),
        confidence=0.6,
    )


def _told(crash: CrashFact, cuda: CudaEvidence, **others: float | str) -> dict[str, float | str]:
    return {"error": cuda.told, **others, "line": line_text(crash.place)}


class CudaKernelError(CrashCheck):
    """A kernel or a library on the GPU failed with an error code instead of a reason.

    Symptom:
        The script stops with "an illegal memory access was encountered", "misaligned address",
        "CUBLAS_STATUS_ALLOC_FAILED", "CUBLAS_STATUS_NOT_INITIALIZED", "CUDNN_STATUS_NOT_INITIALIZED",
        "unspecified launch failure" or "no kernel image is available for execution on the device".
    Evidence:
        How much memory the device has left, where it still answers; the indices of the last batches, as
        they were on the CPU, against the model's tables and scores; the architectures torch was built for
        against the device's own.
    Fix:
        Free memory where a library found none, bring an index into range, or install a torch that was
        built for this device; where none of these shows, how to get the exact line.
    Known limits:
        A wrong address is often a fault of a custom kernel, whose own line cannot be told from here.
    """

    id = "TD922"
    name = "cuda-kernel-error"
    title = "the GPU failed with an error code instead of a reason"
    explainers = (explain_cuda_error,)


# CUDA in a forked process: the line that touches it, and the loop that should.
_MOVE = re.compile(r"\.cuda\([^()]*\)|\.to\([^()]*\)|device=[\w.\"':]+")


def explain_forked_cuda(crash: CrashFact) -> Blame | None:
    cuda = crash.evidence.cuda
    if cuda is None or cuda.kind != "fork" or raised_by_the_user(crash):
        return None
    where = cuda.worker if cuda.worker.file else crash.place
    moves = _MOVE.findall(where.code or "")
    what = f"`{moves[0]}`" if moves else f"`{where.code}`"
    fix = (
        f"Leave {what} out at {place_text(where)}, so that the worker gives CPU tensors"
        if moves
        else (f"Let {place_text(where)} give CPU tensors")
    )
    return Blame(
        message=f"{place_text(where)} uses CUDA in a forked worker: {what}.",
        why="A fork copies the process but not the GPU's context, so a process forked after CUDA was first "
        "used cannot use it.",
        fix=f"{fix}, and move each batch in the training loop: `x = x.to(device, non_blocking=True)`, with "
        '`pin_memory=True` in the DataLoader. Or pass it `multiprocessing_context="spawn"`.',
        where=where,
        evidence={"worker's line": line_text(where), "line": line_text(crash.place)},
        confidence=0.97 if moves else 0.9,
    )


class CudaInForkedWorker(CrashCheck):
    """A forked process, mostly a loader's worker, touched CUDA.

    Symptom:
        The script stops with "Cannot re-initialize CUDA in forked subprocess", or with "CUDA error:
        initialization error" from a DataLoader's worker.
    Evidence:
        The line of your dataset or collate function in the traceback that the worker sent.
    Fix:
        Let the dataset give CPU tensors and move the batch in the training loop; with `pin_memory=True`
        and `non_blocking=True` that is as fast. Or start the workers with
        `multiprocessing_context="spawn"`.
    Known limits:
        A process of your own (`multiprocessing.Process`) prints its traceback itself; only what reaches
        the main process is explained.
    """

    id = "TD923"
    name = "cuda-in-forked-worker"
    title = "a forked worker touched CUDA"
    explainers = (explain_forked_cuda,)
