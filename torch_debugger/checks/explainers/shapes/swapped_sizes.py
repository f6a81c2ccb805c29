"""Two sizes given to a constructor in the wrong order."""

from __future__ import annotations

from torch_debugger.checks.explainers.blame import Blame, layer_evidence, place_text, shape_text
from torch_debugger.checks.explainers.calls import one_line
from torch_debugger.records import CrashFact, Edit


def explain_swapped_sizes(crash: CrashFact) -> Blame | None:
    """Only where the exchange was tried, and made the forward pass or the loss fit."""
    swap = crash.evidence.swaps
    if swap is None or swap.place.file is None or swap.place.line is None:
        return None
    line, layer = swap.place, crash.layer
    got = f" (the input has shape {shape_text(layer.inputs[0].shape)})" if layer and layer.inputs else ""
    where = "The shapes differ"
    if layer is not None and layer.path is not None:
        where = f"`{layer.path}` got another size than it was built for{got}"
    exchanged, line_text = f"`{swap.first}` and `{swap.second}`", place_text(line)
    named = ", and each then has the name of its parameter" if swap.named else ""
    return Blame(
        message=f"{where}: `{swap.function}(...)` at {line_text} is given {exchanged} the wrong way round.",
        why=f"The model was run once more with {exchanged} exchanged: then everything fits{named}.",
        fix=f"Exchange {exchanged} at {line_text}{f': `{one_line(swap.after)}`' if swap.after else ''}.",
        where=line,
        evidence=(layer_evidence(layer) if layer else {})
        | {"line": line.code or "", "tried": "passes exchanged"},
        confidence=0.97 if swap.named else 0.9,
        edit=Edit(swap.place.file, swap.place.line, line.code or "", swap.after) if swap.after else None,
    )
