"""torch.compile, torch.export and TorchScript: where they stopped, and whether the code runs without them."""

from __future__ import annotations

import difflib
import re

from torch_debugger.checks.explainers.blame import Blame, line_text, place_text, user_frame
from torch_debugger.checks.explainers.calls import rewritten
from torch_debugger.checks.explainers.statements import statement_of
from torch_debugger.records import CrashFact, Edit
from torch_debugger.records.evidence.processes import CompileEvidence

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
        message=f"torch.compile cannot put {_region(found)} into one graph: it stops at "
        f"{line_text(found.place)}",
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
        where=crash.place,
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
        message=f"The backend of torch.compile failed on {_region(found)} at {place_text(crash.place)}: "
        f"{found.told}",
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
        message=f"The compiled form of {_region(found)}, called at {place_text(found.place)}, fails: "
        f"{found.told}",
        why=f"{_eager(found)} So the compiled code is at fault, or what it was compiled for does not hold any "
        "more.",
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
    edits = [
        rewritten(place, f"{quote}{named[1]}{quote}", f"{quote}{near[0]}{quote}") for quote in "\"'" if near
    ]
    return Blame(
        message=f"torch.compile at {place_text(crash.place)} knows no backend `{named[1]}`.",
        why="The common ones are inductor, aot_eager, eager and cudagraphs; "
        "`torch._dynamo.list_backends(None)` tells all that are installed.",
        fix=f'Write "{near[0]}".'
        if near
        else 'Leave out the argument ("inductor" is the default), or take one of these.',
        where=crash.place,
        evidence={"backend": named[1], "line": line_text(crash.place)},
        confidence=0.97,
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
        return (
            "What follows depends on the value of a tensor, and there are no values while a model is exported."
        )
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
    kept: dict[str, float | str] = {"call": line_text(crash.place)}
    if found.eager:
        kept["without the compiler"] = "it runs"
    if found.fullgraph.file:
        kept["fullgraph"] = line_text(found.fullgraph)
    return kept
