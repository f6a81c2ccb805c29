"""The part of a dataset or model that cannot be pickled."""

from __future__ import annotations

from torch_debugger.checks.explainers.blame import Blame, line_text, place_text
from torch_debugger.records import CrashFact
from torch_debugger.records.evidence.loading import Unpicklable

_SENDERS = {
    "DataLoader": "The DataLoader cannot send its workers",
    "Process": "The new process cannot be sent",
    "torch.save": "torch.save cannot write",
}


def explain_unpicklable(crash: CrashFact) -> Blame | None:
    loading = crash.evidence.loading
    part = loading.unpicklable if loading is not None else None
    if part is None:
        return None
    where = part.made if part.made.file else crash.place
    return Blame(
        message=f"{_SENDERS[part.sender]} {_named(part)}: {_what(part)} cannot be pickled.",
        why=_why(part),
        fix=_fix(part),
        where=where,
        evidence={"part": _path(part), "kind": _what(part), "call": line_text(crash.place)},
        confidence=0.97 if part.made.file else 0.92,
    )


def _path(part: Unpicklable) -> str:
    return f"obj{part.path}" if part.sender == "torch.save" else part.path


def _named(part: Unpicklable) -> str:
    if part.sender != "torch.save":
        return f"`{part.path}`"
    return f"`{part.path.lstrip('.')}` of the object" if part.path else "the object"


def _what(part: Unpicklable) -> str:
    article = "an" if part.kind[0] in "aeiou" else "a"
    made = f" of {place_text(part.made)}" if part.made.file else ""
    return f"{article} {part.kind}{f' (`{part.name}`)' if part.name else ''}{made}"


def _why(part: Unpicklable) -> str:
    by_name = part.kind in ("lambda", "local function", "local class")
    reason = (
        "Functions and classes are pickled by their name, and one without a name at the top of a file is not "
        "found again."
        if by_name
        else "It belongs to this process and means nothing in another."
    )
    if part.sender == "torch.save":
        return f"torch.save pickles the whole object. {reason}"
    method = f"`{part.start_method}`" if part.start_method else "this start method"
    return f"Processes started by {method} get their objects by pickle. {reason}"


def _fix(part: Unpicklable) -> str:
    if part.sender == "torch.save":
        return "Save what can be loaded again, `model.state_dict()`, instead of the object; " + _instead(part)
    return _instead(part, capital=True)


def _instead(part: Unpicklable, capital: bool = False) -> str:
    at = f" ({place_text(part.made)})" if part.made.file else ""
    if part.kind == "lambda":
        text = f"write the lambda{at} as a function with `def` at the top level of the file, and give its name."
    elif part.kind in ("local function", "local class"):
        text = f"move `{part.name}`{at} to the top level of the file, out of the function it stands in."
    elif part.kind == "generator":
        text = f"keep what the generator gives in a list{at}, or make it in the worker."
    else:
        text = (
            f"do not keep it in the object{at}: make or open it at first use, inside the process that uses it."
        )
    return text[0].upper() + text[1:] if capital else text
