"""A process that has as many files open as it may."""

from __future__ import annotations

from torch_debugger.checks.explainers.blame import Blame, line_text, place_text
from torch_debugger.records import CrashFact
from torch_debugger.records.evidence.loading import OpenFiles

_STRATEGY = '`torch.multiprocessing.set_sharing_strategy("file_system")` at the start of the script'


def explain_open_files(crash: CrashFact) -> Blame | None:
    loading = crash.evidence.loading
    files = loading.files if loading is not None else None
    if files is None:
        return None
    kept = f", and `{files.holder}` keeps {files.held} {_of(files)}" if files.holder else ""
    return Blame(
        message=f"The script has {files.opened} files open of {files.limit} it may have{kept}.",
        why=_why(files),
        fix=_fix(files),
        where=files.place if files.place.file else crash.place,
        evidence={
            "open files": float(files.opened),
            "limit": float(files.limit),
            "sharing strategy": files.strategy,
            "line": line_text(crash.place),
        },
        confidence=0.97 if files.holder else 0.85,
    )


def _of(files: OpenFiles) -> str:
    return "tensors that came from workers" if files.holds == "tensors" else "open files"


def _why(files: OpenFiles) -> str:
    if files.holds == "tensors":
        return (
            f"With the sharing strategy `{files.strategy}` every tensor from a worker keeps a file open for as "
            f"long as it lives."
        )
    if files.holds == "files":
        return "A file that is kept in a variable stays open until it is closed."
    return "What keeps them open was not found in the variables of the traceback."


def _fix(files: OpenFiles) -> str:
    at = f" ({place_text(files.place)})" if files.place.file else ""
    if files.holds == "tensors":
        return f"Keep copies, `tensor.clone()`, in `{files.holder}`{at}, or call {_STRATEGY}."
    if files.holds == "files":
        return f"Close each file, `with open(...) as file:`, and do not keep it in `{files.holder}`{at}."
    return (
        f"Close files after reading (`with open(...)`); where they are tensors from workers, call {_STRATEGY}; "
        f"or allow more with `ulimit -n`."
    )
