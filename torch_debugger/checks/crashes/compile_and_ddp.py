"""TD965: a compiler of torch's stopped at a line that runs without it."""

from __future__ import annotations

import difflib
import re

from torch_debugger.checks.crash_check import CrashCheck
from torch_debugger.checks.crashes.explanation import Blame, line_text, place_text, user_frame
from torch_debugger.checks.crashes.processes import raised_by, reduction_of
from torch_debugger.checks.crashes.user_code import calls_of, one_line, rewritten, statement_of, with_argument
from torch_debugger.records import CrashFact, Edit
from torch_debugger.records.crash_loading import CompileEvidence, ReductionEvidence

# torch.compile, torch.export and TorchScript: where they stopped, and whether the code runs without them.
_NO_COMPILER = {
    "InvalidCxxCompiler": "a C++ compiler (`apt install g++`, or set CXX to one)",
    "TritonMissing": "Triton (`pip install triton`)",
}


def compiled_of(crash: CrashFact) -> CompileEvidence | None:
    """Unless it fails without the compiler too: then that failure is the cause, and others explain it."""
    found = crash.evidence.processes.compiled if crash.evidence.processes is not None else None
    return found if found is not None and found.eager != "fails" else None


def explain_graph_break(crash: CrashFact) -> Blame | None:
    found = compiled_of(crash)
    if found is None or found.stage not in ("graph break", "fake tensors"):
        return None
    if found.stage == "fake tensors" and found.eager != "runs":
        return None
    return Blame(
        message=f"torch.compile cannot put {_region(found)} into one graph: it stops at {line_text(found.place)}",
        why=f"{_reason(found)} {_eager(found)}",
        fix=f"{_rewrite(found)}, {_allow(found)}.",
        where=found.place,
        evidence=_evidence(found, crash),
        confidence=0.95 if found.eager == "runs" else 0.85,
        edit=without(found, "fullgraph=True"),
    )


def _reason(found: CompileEvidence) -> str:
    if "data-dependent branching" in found.told:
        return "Which way it goes depends on the value of a tensor; there are no values while a graph is made."
    return f"{re.sub(r' .has_kwargs .*', '', found.told).rstrip('.')}."


def _rewrite(found: CompileEvidence) -> str:
    code = found.place.code or ""
    if "data-dependent" in found.told.lower() and re.match(r"(el)?if\b|while\b", code):
        return "Write the choice without a branch (`torch.where(condition, a, b)`)"
    if re.search(r"\bprint\(|\.item\(\)|\.tolist\(\)|\.numpy\(\)", code):
        return f"Move `{code}` out of what is compiled"
    return "Rewrite the line so that it uses tensors and plain Python only"


def _allow(found: CompileEvidence) -> str:
    if found.fullgraph.file:
        where = place_text(found.fullgraph)
        return f"or leave out fullgraph=True at {where}, and the line runs between two graphs"
    return "or put it into a function with `@torch.compiler.disable`, which runs as it is"


def without(found: CompileEvidence, argument: str) -> Edit | None:
    """The line that compiles, without one of its arguments."""
    code, changed = found.fullgraph.code or "", argument.replace("True", "False")
    if code.rstrip(",") == argument:  # on a line of its own, which cannot go
        return rewritten(found.fullgraph, argument, changed) if changed != argument else None
    for written in (f", {argument}", f"{argument}, ", argument):
        if code.count(written) == 1:
            return rewritten(found.fullgraph, written, "")
    return None


def explain_recompiling(crash: CrashFact) -> Blame | None:
    found = compiled_of(crash)
    if found is None or found.stage != "recompiling":
        return None
    limit = f"{found.limit} times" if found.limit else "too often"
    cure, edit = _for_any_size(found)
    return Blame(
        message=f"{_region(found)} was compiled {limit} for different inputs, and fullgraph=True leaves no "
        f"other way at {line_text(crash.place)}",
        why=f"Compiled code holds for what it was compiled with. This did not hold again: {found.told}. "
        f"{_eager(found)}",
        fix=f"{cure}; or leave out fullgraph=True, and it goes on uncompiled.",
        evidence=_evidence(found, crash),
        confidence=0.93,
        edit=edit or without(found, "fullgraph=True"),
    )


def _for_any_size(found: CompileEvidence) -> tuple[str, Edit | None]:
    sizes = re.search(r"tensor '(.+)' size mismatch at index (\d+)", found.told)
    if sizes is None:
        return "Pass what changes from call to call as a tensor, or keep it constant", None
    edit = without(found, "dynamic=False")
    fixed = f"leave out dynamic=False at {place_text(found.fullgraph)}" if edit is not None else (
        f"call `torch._dynamo.mark_dynamic({sizes[1]}, {sizes[2]})` before"
    )  # fmt: skip
    return f"Let it compile for any size: {fixed}", edit


def explain_backend_failure(crash: CrashFact) -> Blame | None:
    found = compiled_of(crash)
    if found is None or found.stage != "backend":
        return None
    missing = _NO_COMPILER.get(found.inner)
    last = crash.frames[-1]
    where = crash.place if last.user or not found.place.file else found.place
    return Blame(
        message=f"The backend of torch.compile failed on {_region(found)} at {place_text(crash.place)}: {found.told}",
        why=f"{_whose(crash, missing)}. {_eager(found)}",
        fix=_cure(crash, missing),
        where=where,
        evidence=_evidence(found, crash),
        confidence=0.95 if missing or last.user else 0.85,
    )


def explain_compiled_code(crash: CrashFact) -> Blame | None:
    """Code that was compiled and then fails, where the uncompiled does not."""
    found = compiled_of(crash)
    if found is None or found.stage != "running" or found.eager != "runs":
        return None
    return Blame(
        message=f"The compiled form of {_region(found)}, called at {place_text(found.place)}, fails: {found.told}",
        why=f"{_eager(found)} So the compiled code is at fault, or what it was compiled for does not hold any more.",
        fix="Leave out torch.compile there, or compile with another backend; if it is PyTorch's own, the "
        "failure is worth a report.",
        where=found.place,
        evidence=_evidence(found, crash),
        confidence=0.8,
    )


def _whose(crash: CrashFact, missing: str | None) -> str:
    if missing:
        return f"It makes machine code with {missing}, and found none"
    own = crash.frames[-1].user
    return "Your own backend raised it" if own else "It was raised inside the compiler, not by your code"


def _cure(crash: CrashFact, missing: str | None) -> str:
    if missing:
        return f'Install {missing}, or compile with `backend="aot_eager"`, which needs none.'
    if crash.frames[-1].user:
        return f"Look at {line_text(crash.place)}: that is the line of the backend which raised."
    return (
        'Compile with another backend (`backend="aot_eager"`) or not at all where it fails '
        "(`@torch.compiler.disable`); the failure is worth a report to PyTorch."
    )


def explain_backend_name(crash: CrashFact) -> Blame | None:
    found, frame = compiled_of(crash), user_frame(crash)
    named = re.search(r"Invalid backend: '([^']*)'", crash.message)
    if found is None or found.stage != "name" or named is None or frame is None or named[1] in found.choices:
        return None
    near = difflib.get_close_matches(named[1], found.choices, n=1)
    place = statement_of(frame, None).whole
    edits = [rewritten(place, f"{quote}{named[1]}{quote}", f"{quote}{near[0]}{quote}") for quote in "\"'" if near]
    return Blame(
        message=f"torch.compile at {place_text(crash.place)} knows no backend `{named[1]}`.",
        why="The common ones are inductor, aot_eager, eager and cudagraphs; "
        "`torch._dynamo.list_backends(None)` tells all that are installed.",
        fix=f'Write "{near[0]}".'
        if near
        else 'Leave out the argument ("inductor" is the default), or take one of these.',
        evidence={"backend": named[1], "line": line_text(crash.place)},
        edit=next((edit for edit in edits if edit is not None), None),
    )


def explain_export(crash: CrashFact) -> Blame | None:
    found = compiled_of(crash)
    if found is None or found.stage not in ("export", "script"):
        return None
    tool = "torch.export" if found.stage == "export" else "torch.jit.script"
    return Blame(
        message=f"{tool} cannot take this line: {line_text(found.place)}",
        why=_refusal(found),
        fix=_other_form(found),
        where=found.place,
        evidence=_evidence(found, crash),
        confidence=0.93,
    )


def _refusal(found: CompileEvidence) -> str:
    if "data-dependent" in found.told:
        return "What follows depends on the value of a tensor, and there are no values while a model is exported."
    return f"{found.told.rstrip('.')}."


def _other_form(found: CompileEvidence) -> str:
    if found.stage == "script":
        return (
            "Write the line in the part of Python that TorchScript knows, mark its function "
            "`@torch.jit.ignore`, or record one run instead with `torch.jit.trace(model, example)`."
        )
    return (
        "Export follows one path for all inputs, so no value of a tensor may decide: write it with "
        "`torch.where(condition, a, b)` or `torch.cond`."
    )


def _region(found: CompileEvidence) -> str:
    return f"`{found.region}`" if found.region else "the function"


def _eager(found: CompileEvidence) -> str:
    if found.eager == "runs":
        return "Without torch.compile the same call runs through."
    return "Whether the call runs without torch.compile could not be tried."


def _evidence(found: CompileEvidence, crash: CrashFact) -> dict[str, float | str]:
    evidence: dict[str, float | str] = {"call": line_text(crash.place)}
    if found.eager:
        evidence["without the compiler"] = "it runs"
    if found.fullgraph.file:
        evidence["fullgraph"] = line_text(found.fullgraph)
    return evidence


class CompileError(CrashCheck):
    """torch.compile, torch.export or TorchScript could not take your code.

    Symptom:
        torch._dynamo.exc.Unsupported, TorchRuntimeError, BackendCompilerFailed, FailOnRecompileLimitHit,
        GuardOnDataDependentSymNode, or a TorchScript error with "<--- HERE".
    Evidence:
        The line of yours that the compiler was at, by its own record; and, for torch.compile on the CPU,
        the same call made once more without the compiler, in a fork of the process: where that fails too,
        that failure is explained instead.
    Fix:
        Rewrite the line, take it out of the compiled part, or leave out fullgraph=True.
    Known limits:
        The call is not tried on GPUs, nor for longer than a moment. Why a backend fails inside is not known.
    """

    id = "TD965"
    name = "compile-error"
    title = "torch.compile, torch.export or TorchScript stopped at a line"
    explains = "recompiles-each-step", "graph-breaks"
    explainers = (
        explain_graph_break,
        explain_recompiling,
        explain_backend_failure,
        explain_backend_name,
        explain_compiled_code,
        explain_export,
    )


# DistributedDataParallel and parameters whose gradients do not come, or come twice.
_SHOWN = 4


def explain_left_out(crash: CrashFact) -> Blame | None:
    """Which parameters the last backward pass did not reach: by DDP's own list and by the loss's graph."""
    found = reduction_of(crash)
    if found is None or not found.left_out or not raised_by(crash, "torch/nn/parallel/distributed.py"):
        return None
    paths = dict.fromkeys(name.rpartition(".")[0] or name for name in found.left_out)
    owners = ", ".join(f"`{path}`" for path in list(paths)[:_SHOWN]) + _more(len(paths))
    change, edit = _find_unused(found)
    names = ", ".join(f"`{name}`" for name in found.left_out[:_SHOWN])
    parameters = names + _more(len(found.left_out))
    graph = f"The graph of `{found.loss}` does not reach them. " if found.loss else ""
    held = f"`{found.held[0]}` is made with them, but is not in the loss. " if found.held else ""
    why = f"{graph}{held}A step is complete when the gradients of all parameters are averaged over the processes."
    return Blame(
        message=f"{parameters} of `{found.model}` got no gradient in the last step, and "
        f"DistributedDataParallel waits for every one ({place_text(crash.place)}).",
        why=why,
        fix=f"Let {owners} take part in the loss, or remove {'it' if ',' not in owners else 'them'}. If only "
        f"some steps use {'it' if ',' not in owners else 'them'}, {change}.",
        where=found.wrapped_at if edit is not None else crash.place,
        evidence={
            "no gradient": ", ".join(found.left_out[:_SHOWN]) + _more(len(found.left_out)),
            "parameters": float(found.trainable),
            "line": line_text(crash.place),
        },
        confidence=0.97 if found.loss else 0.92,
        edit=edit,
    )


def _more(count: int) -> str:
    return f" and {count - _SHOWN} more" if count > _SHOWN else ""


def _find_unused(found: ReductionEvidence) -> tuple[str, Edit | None]:
    if found.find_unused:
        return "return them from forward in a tuple, list or dict, where DistributedDataParallel can see them", None
    calls = [
        call for name in ("DistributedDataParallel", "DDP") for call in calls_of(found.wrapped_at.code or "", name)
    ]
    if len(calls) != 1:
        return "pass find_unused_parameters=True to DistributedDataParallel", None
    changed = with_argument(calls[0], "find_unused_parameters=True")
    edit = rewritten(found.wrapped_at, calls[0], changed)
    return f"write `{one_line(changed)}` at {place_text(found.wrapped_at)}", edit


def explain_ready_twice(crash: CrashFact) -> Blame | None:
    found = reduction_of(crash)
    if found is None or not found.ready_twice or not raised_by(crash, "torch/autograd/"):
        return None
    name, where, edit, confidence = f"`{found.model}`", crash.place, None, 0.88
    message = f"The gradient of `{found.ready_twice}` of {name} came twice"
    if any(frame.file.endswith("checkpoint.py") and not frame.user for frame in crash.frames):
        lines = ", ".join(dict.fromkeys(place_text(place) for place in found.checkpoints))
        message += (
            f" in one backward pass: a reentrant checkpoint{f' ({lines})' if lines else ''} runs a backward pass of "
            "its own."
        )
        why = (
            "DistributedDataParallel averages each gradient once a step, as soon as it is ready. A reentrant "
            "checkpoint makes it ready in the middle of the pass, each time that the layer is used."
        )
        fix = "Pass use_reentrant=False to every torch.utils.checkpoint call; it needs no second backward pass."
        confidence = 0.95
        if len(found.checkpoints) == 1:
            where = found.checkpoints[0]
            written = re.search(r"use_reentrant\s*=\s*True", where.code or "")
            edit = rewritten(where, written[0], "use_reentrant=False") if written else None
    else:
        message += f" before the next forward pass ({place_text(crash.place)})."
        why = (
            f"DistributedDataParallel averages each gradient once after each forward pass. Two calls of {name} before "
            f"their backward passes, or a use of its layers past it (`{found.model}.module...`), make a gradient "
            "ready twice."
        )
        fix = (
            f"Call {name} once for each backward pass: join the inputs into one batch, or run the first backward "
            f"before the second forward; and call no layer of `{found.model}.module` outside of its forward."
        )
    evidence: dict[str, float | str] = {"parameter": found.ready_twice, "line": line_text(crash.place)}
    return Blame(message, why, fix, where, evidence, confidence, edit)


def explain_nothing_to_reduce(crash: CrashFact) -> Blame | None:
    found = reduction_of(crash)
    needless = "DistributedDataParallel is not needed" in crash.message
    if found is None or not needless or found.trainable or not raised_by(crash, "torch/nn/parallel/distributed.py"):
        return None
    frozen = f"all of its {found.parameters} parameters are frozen" if found.parameters else "it has no parameters"
    unfreeze = "Unfreeze what shall be trained before this line (`requires_grad_(True)`), or use"
    return Blame(
        message=f"DistributedDataParallel at {place_text(crash.place)} has nothing to do: {frozen}.",
        why="It averages the gradients of the processes, so at least one parameter must require a gradient.",
        fix=f"{unfreeze if found.parameters else 'Use'} the module as it is, without DistributedDataParallel.",
        evidence={"parameters": float(found.parameters), "trainable": 0.0, "line": line_text(crash.place)},
    )


class DdpUnusedParameters(CrashCheck):
    """DistributedDataParallel got no gradient for some parameters, two for one, or has none to wait for.

    Symptom:
        "Expected to have finished reduction in the prior iteration", "Expected to mark a variable ready only
        once", "DistributedDataParallel is not needed".
    Evidence:
        The parameters that DistributedDataParallel itself counts as missing, by name, and the graph of the
        last loss, which does not reach them; the checkpoint calls of the backward pass that failed.
    Fix:
        Let the parameters take part in the loss, remove them, or pass find_unused_parameters=True; for
        checkpoints, use_reentrant=False.
    Known limits:
        The loss's graph confirms only where the last loss is still held by a variable. Which of two uses
        made a gradient come twice is not known without a checkpoint. find_unused_parameters=True needs what
        forward returns to be tensors, in tuples, lists or dicts; in an object of another class it sees none.
    """

    id = "TD961"
    name = "ddp-unused-parameters"
    title = "DistributedDataParallel misses gradients, or gets them twice"
    explainers = explain_left_out, explain_ready_twice, explain_nothing_to_reduce
