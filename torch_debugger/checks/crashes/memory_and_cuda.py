"""TD920: an allocation that the device or the host refused."""

from __future__ import annotations

import ast
import math
import re

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
from torch_debugger.checks.crashes.user_code import (
    Line,
    broadcast,
    called,
    change_operand,
    parse_expression,
    rewritten,
    two_tensors,
)
from torch_debugger.records import CrashFact, Edit, LocalTensor, Place
from torch_debugger.records.crash import CudaEvidence, Forecast, KeptTensors, MemoryEvidence
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
    cached = memory.reserved_bytes - memory.allocated_bytes
    told, where, edit, confidence = "", crash.place, None, 0.9
    if hoard is not None:
        graph = f", with the graphs of earlier steps {bytes_text(hoard.size_bytes + hoard.graph_bytes)}"
        several = f"{hoard.count} tensors" if hoard.count > 1 else "a tensor"
        told = f"; `{hoard.name}` keeps {several} of {bytes_text(hoard.size_bytes)}{graph if hoard.graph_bytes else ''}"
        fix, edit = _let_go(hoard)
        where, confidence = hoard.place, 0.95
    elif others > memory.total_bytes / 2:
        told = f"; {bytes_text(others)} of it belongs to other programs"
        fix = "End the other programs on this device (`nvidia-smi` lists them), or choose another device."
    elif cached > memory.asked_bytes:
        told = f" and kept {bytes_text(cached)} in pieces too small for it"
        fix = (
            "Set the environment variable `PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True` before torch is "
            "imported, so that the allocator can join its pieces; batches of one size keep it from making them."
        )
    else:
        fix, confidence = _what_fits(memory), 0.95
    evidence: dict[str, float | str] = {
        "asked": bytes_text(memory.asked_bytes),
        "free": bytes_text(memory.free_bytes),
        "in use by torch": bytes_text(memory.allocated_bytes),
        "cached by torch": bytes_text(cached),
        "parameters": bytes_text(memory.parameter_bytes),
        "gradients": bytes_text(memory.gradient_bytes),
        "optimizer state": bytes_text(memory.optimizer_bytes),
    }
    for kept in memory.kept[:3]:
        evidence[kept.name] = f"{shape_text(kept.shape)}, {bytes_text(kept.size_bytes + kept.graph_bytes)}"
    return Blame(
        message=f"{place_text(crash.place)} asked for {bytes_text(memory.asked_bytes)} more on {memory.device}, "
        f"which has {bytes_text(memory.total_bytes)}; torch held {bytes_text(memory.allocated_bytes)}{told}.",
        why=_in_use(memory),
        fix=fix,
        where=where if where.file else crash.place,
        evidence=evidence | {"line": line_text(crash.place)},
        confidence=confidence,
        edit=edit,
    )


def _is_hoard(kept: KeptTensors, memory: MemoryEvidence) -> bool:
    """Much memory behind one name that a statement adds to."""
    size = kept.size_bytes + kept.graph_bytes
    return size > _MUCH * memory.allocated_bytes and bool(kept.place.file) and (kept.count > 1 or kept.graph_bytes > 0)


def _let_go(kept: KeptTensors) -> tuple[str, Edit | None]:
    """Append numbers, or copies without a graph on the CPU."""
    single = kept.shape in ((), (1,))
    form = ".item()" if single else ".detach().cpu()"
    before, after = f"{kept.added})", f"{kept.added}{form})"
    if "+=" in (kept.place.code or ""):
        before, after = f"+= {kept.added}", f"+= {kept.added}{form}"
    plain = kept.added.replace(".", "").replace("_", "").isalnum() or kept.added.endswith(")")
    edit = rewritten(kept.place, before, after) if kept.added and plain else None
    told = f"write `{edit.after}`" if edit else f"add `{kept.added or 'x'}{form}` to `{kept.name}`"
    reason = "a number" if single else "a copy in the machine's memory"
    instead = "a tensor with its graph" if kept.graph_bytes else "a tensor on the device"
    return f"At {place_text(kept.place)} {told}: {reason} instead of {instead}.", edit


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


def _in_use(memory: MemoryEvidence) -> str:
    """What the memory holds, what a step needs, and what was seen while the training still ran."""
    known = memory.parameter_bytes + memory.gradient_bytes + memory.optimizer_bytes
    parts = {
        "parameters": memory.parameter_bytes,
        "gradients": memory.gradient_bytes,
        "optimizer state": memory.optimizer_bytes,
        "activations and other tensors": max(0, memory.allocated_bytes - known),
    }
    text = f"In use: {', '.join(f'{name} {bytes_text(size)}' for name, size in parts.items() if size)}."
    step, look = memory.forecast, memory.look
    if step is not None:
        modules = ", ".join(f"`{part.path}` {bytes_text(part.size_bytes)}" for part in step.modules[:3])
        most = f", most of it saved by {modules}" if modules else ""
        text += f" A step of `{step.model}` at batch {step.batch} needs {bytes_text(step.peak_bytes)}{most}."
    if look is not None and (size := look.parts.get(ACTIVATIONS, 0)):
        modules = ", ".join(f"`{part.path}` {bytes_text(part.size_bytes)}" for part in look.modules[:3] if part.path)
        most = f", most of it for {modules}" if modules else ""
        text += f" Before the backward of step {look.step}, activations took {bytes_text(size)}{most}."
    return text


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
    blames = (_broadcast(crash, memory, line, node) for node in line.nodes())
    return next((blame for blame in blames if blame is not None), None) or _whole_tensor(crash, memory, line)


def _broadcast(crash: CrashFact, memory: MemoryEvidence, line: Line, node: ast.expr) -> Blame | None:
    """Two tensors whose common shape is as large as what was asked for, and far larger than either."""
    pair = _pair(crash, line, node)
    shape = broadcast(pair[0].shape, pair[1].shape) if pair is not None else None
    if pair is None or shape is None or memory.asked_bytes not in [math.prod(shape) * width for width in _WIDTHS]:
        return None
    first, second = pair
    met = f"`{first.name}` {shape_text(first.shape)} with `{second.name}` {shape_text(second.shape)}"
    # [N, 1] with [N] is a slip, and has its edit; all pairs on purpose are made in parts.
    long, flat = (first, second) if len(first.shape) > len(second.shape) else (second, first)
    edit, fix = None, (
        "If each row was meant to meet only its own, give both the same shape. If all pairs are meant, "
        "work on a few rows at a time, so that only a part of them is in memory."
    )  # fmt: skip
    if long.shape == (*flat.shape, 1):
        told, edit = change_operand(crash, line, node, flat.name, f"{flat.name}.unsqueeze(-1)")
        fix = f"Give both the same shape: write `{told}`, which makes `{flat.name}` {shape_text(long.shape)} too."
    return Blame(
        message=f"{place_text(crash.place)} makes a tensor {shape_text(shape)} of "
        f"{bytes_text(memory.asked_bytes)}: it combines {met}.",
        why="Sizes of 1 are repeated until the shapes agree, so every row meets every row; the machine has "
        "less memory than that.",
        fix=fix,
        evidence=_host_evidence(memory, crash)
        | {first.name: shape_text(first.shape), second.name: shape_text(second.shape)},
        edit=edit,
    )


def _pair(crash: CrashFact, line: Line, node: ast.expr) -> tuple[LocalTensor, LocalTensor] | None:
    operands: list[ast.expr] = []
    layer = crash.layer
    if isinstance(node, ast.BinOp):
        operands = [node.left, node.right]
    elif isinstance(node, ast.Compare) and len(node.comparators) == 1:
        operands = [node.left, node.comparators[0]]
    elif called(node)[0] in _LOSSES:
        operands = called(node)[1]
    elif layer is not None and layer.kind in _LOSSES and len(layer.inputs) == 2 and isinstance(node, ast.Call):
        return layer.inputs[0], layer.inputs[1]
    return two_tensors(line, operands)


def _whole_tensor(crash: CrashFact, memory: MemoryEvidence, line: Line) -> Blame:
    """A call that names the sizes itself, as torch.zeros(...) does; or a line of which only the operands are known."""
    call, sizes, at, size = memory.sized_by, memory.sizes, place_text(crash.place), bytes_text(memory.asked_bytes)
    node = parse_expression(call)
    name = ast.unparse(node.func).rpartition(".")[2] if isinstance(node, ast.Call) else ""
    if call and sizes:
        message, confidence = f"{at} makes a tensor {shape_text(sizes)} of {size}: `{call}`.", 0.97
    elif call and name in _FACTORIES:
        frame = user_frame(crash)
        names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)} if node is not None else set()
        held = {value.name: value.text for value in frame.values if value.kind == "int"} if frame is not None else {}
        known = [f"`{name}` is {held[name]}" for name in sorted(names & set(held))]
        values = f"; {' and '.join(known)}" if known else ""
        message, confidence = f"`{call}` at {at} makes a tensor of {size}{values}.", 0.95
    else:
        parts = [part for node in line.nodes() for part in ast.walk(node) if isinstance(part, ast.Name | ast.Attribute)]
        tensors = [tensor for part in parts if (tensor := line.tensor(part)) is not None]
        named = {tensor.name: shape_text(tensor.shape) for tensor in tensors[:4]}
        of = f" from {' and '.join(f'`{name}` {shape}' for name, shape in named.items())}" if named else ""
        message, confidence = f"`{call or crash.place.code}` at {at} makes a tensor of {size}{of}.", 0.85
        sizes = ()
    if name in _EVERY_PAIR or (isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult)):
        fix = "Work on a few rows at a time (`x.split(1024)`), and keep of each part only what you need."
    elif name == "one_hot":
        fix = "Look the rows up with `nn.Embedding` instead: it takes the numbers themselves."
    elif name == "Linear" and sizes:
        fix = f"Use fewer features in between: `nn.Linear({sizes[1]}, 512)` has {sizes[1] * 512:,} weights."
    else:
        fix = "Make the sizes smaller, or keep on disk (`numpy.memmap`) what need not be in memory at once."
    why = "A tensor lies in memory as a whole, and the machine has less than that."
    return Blame(message, why, fix, evidence=_host_evidence(memory, crash), confidence=confidence)


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
    found, layer, edit = lookup.found, lookup.layer, None
    place = target_place(layer) if layer is not None else Place()
    where = place if place.file else crash.place
    allowed, wanted = allowed_text(found), found.highest + 1
    if found.operation == "embedding":
        named = layer_name(layer) if layer is not None else "an embedding"
        setting = Setting(layer, "num_embeddings", 0, wanted) if layer is not None else None
        has, why = f"has rows {allowed}", "The GPU stops at an index without a row."
        fix = f"Keep the indices in {allowed}: give negative ones a row of their own before the lookup."
        if setting is not None and found.lowest >= 0:
            fix, edit = setting.fix(f", or keep the indices in {allowed}"), setting.edit()
    else:
        named = f"{layer_name(layer)} gives" if layer is not None else "The loss was given"
        setting = Setting(layer, "out_features", 1, wanted) if layer is not None else None
        has, why = f"{found.size} scores, for labels {allowed}", "Each label chooses one of the scores."
        if counts_from_one(found):
            fix = f"Count the labels from 0: subtract 1 from `{found.indices.name}` before the loss."
        elif found.lowest < 0 or setting is None:
            fix = f"Keep the labels in {allowed}, or name the one that does not count: `ignore_index`."
        else:
            fix, edit = setting.fix(f", or keep the labels in {allowed}"), setting.edit()
        where = where if edit is not None else crash.place
    age = {-1: "", 0: " of the last batch"}.get(max(lookup.age, -1), f" of {lookup.age + 1} batches ago")
    many = f"{found.count} values" if found.count > 1 else "a value"
    told = index_evidence(found)
    own = layer_evidence(layer, **told) if layer is not None else told
    rivals = [other for other in cuda.lookups if other.age == lookup.age]
    return Blame(
        message=f"{named[0].upper()}{named[1:]} {has}, but `{found.indices.name}`{age} holds {many} out of range: "
        f"{offenders_text(found)}.",
        why=f"{why} {_LATE}; it showed at {place_text(crash.place)}.",
        fix=fix,
        where=where,
        evidence=own | {"line": line_text(crash.place)},
        confidence=confidence if len(rivals) == 1 else 0.7,
        edit=edit,
    )


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
    line, evidence, confidence = place_text(crash.place), {"error": cuda.told}, 0.97
    if cuda.kind == "image":
        if not cuda.capability or cuda.capability in cuda.architectures:
            return None
        built = ", ".join(cuda.architectures) or "no GPU"
        message = f"This torch has no kernels for {cuda.name} ({cuda.capability}): it was built for {built}."
        why = (
            "A build holds kernels for a list of architectures only; a device that is older or newer than all "
            "of them cannot run it."
        )
        fix = (
            "Install a build of torch whose list includes the device: choose another CUDA version at "
            "pytorch.org/get-started, or the nightly build for a new device."
        )
        evidence |= {"device": f"{cuda.name} {cuda.capability}", "built": built}
    elif cuda.kind == "library" and cuda.alive and cuda.free_bytes < _LITTLE and cuda.told.endswith(_STARTS):
        free, total = bytes_text(cuda.free_bytes), bytes_text(cuda.total_bytes)
        message = f"{cuda.told} at {line} is an out-of-memory error: {free} of the device's {total} are free."
        why = (
            "The library makes a workspace of its own beside torch's memory, and there was no room for it; it "
            "does not say so."
        )
        fix = (
            "Use a smaller batch, end other programs on the device, or leave the library room: "
            "`torch.cuda.set_per_process_memory_fraction(0.95)` at the start."
        )
        evidence, confidence = evidence | {"free": free, "total": total}, 0.9
    elif (found := explain_lookup(crash, cuda, 0.85)) is not None:
        return found
    else:
        # No index out of range and memory left: say so, and how to find the line.
        state = " Every later call into the GPU fails in this process."
        if cuda.alive:
            state = f" The device still answers, with {bytes_text(cuda.free_bytes)} free."
        late, exact = ("", "") if cuda.blocking else (_MAYBE_EARLIER, f"{EXACT_LINE[0].upper()}{EXACT_LINE[1:]}. ")
        message = f'The GPU failed with "{cuda.told}", which showed at {line}.'
        why = f"{late}No index of the last batches that could be read on the CPU is out of range.{state}"
        fix = (
            f"{exact}`compute-sanitizer python script.py` names the kernel and the address. Custom and "
            "compiled kernels come first: try without them."
        )
        confidence = 0.6
    return Blame(message, why, fix, evidence={**evidence, "line": line_text(crash.place)}, confidence=confidence)


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
