"""nn.Embedding, nn.EmbeddingBag, F.embedding: numbers for which the table has no row."""

from __future__ import annotations

from torch_debugger.checks.explainers.blame import (
    Blame,
    layer_evidence,
    layer_name,
    line_text,
    place_text,
    target_place,
)
from torch_debugger.checks.explainers.indices.index_words import (
    allowed_text,
    index_evidence,
    is_another_numbering,
    wrong_text,
)
from torch_debugger.checks.explainers.settings import Setting
from torch_debugger.records import CrashFact, LayerFact
from torch_debugger.records.evidence import IndexEvidence

_WHY = "The numbers choose rows of the table, so each must be at least 0 and smaller than the number of rows"


def explain_embedding_indices(crash: CrashFact) -> Blame | None:
    found, layer = crash.evidence.indices, crash.layer
    if found is None or found.operation not in ("embedding", "embedding_bag"):
        return None
    if layer is None or "num_embeddings" not in layer.settings:
        return _function(crash, found)
    if found.lowest < 0:
        return _negative(layer, found)
    if found.counts_up:
        return _positions(layer, found)
    if is_another_numbering(found):
        return _unmapped(layer, found)
    setting = Setting(layer, "num_embeddings", 0, found.highest + 1)
    fix = setting.fix(f", or more if other batches hold higher numbers than {found.highest}")
    return _blame(layer, found, f"{_WHY}{setting.built_text()}.", fix, setting)


def _positions(layer: LayerFact, found: IndexEvidence) -> Blame:
    length, setting = found.highest + 1, Setting(layer, "num_embeddings", 0, found.highest + 1)
    why = f"The numbers count the places of a sequence of {length}, and the table was built for {found.size}"
    fix = setting.fix(f", for sequences of {length}; or cut them to {found.size}")
    return _blame(layer, found, f"{why}{setting.built_text()}.", fix, setting)


def _negative(layer: LayerFact, found: IndexEvidence) -> Blame:
    rows, wanted = found.size, max(found.size, found.highest + 1) + 1
    name = found.indices.name or "x"
    fix = (
        f"If {found.lowest} stands for padding, give it a row of its own: look up "
        f"`{name}.masked_fill({name} < 0, {wanted - 1})` at {place_text(layer.call)}, and build "
        f"{layer_name(layer)} for {wanted} rows with padding_idx={wanted - 1}; it has {rows} now."
    )
    return _blame(layer, found, f"{_WHY}; an embedding does not count from the end.", fix, None)


def _unmapped(layer: LayerFact, found: IndexEvidence) -> Blame:
    fix = (
        f"Map the numbers to 0 to {found.size - 1} before this line, with a dictionary made from all of them; "
        f"a table for numbers up to {found.highest} would need {found.highest + 1} rows."
    )
    return _blame(layer, found, f"{_WHY}; these reach far beyond it, as identifiers do.", fix, None)


def _blame(layer: LayerFact, found: IndexEvidence, why: str, fix: str, setting: Setting | None) -> Blame:
    return Blame(
        message=f"{layer_name(layer)} has rows {allowed_text(found)}, but {wrong_text(found)}.",
        why=why,
        fix=fix,
        where=setting.where if setting else layer.call if layer.call.file else target_place(layer),
        evidence=layer_evidence(layer, **index_evidence(found)),
        confidence=0.98 if setting else 0.95,
        edit=setting.edit() if setting else None,
    )


def _function(crash: CrashFact, found: IndexEvidence) -> Blame:
    """F.embedding with a table of the user's own."""
    return Blame(
        message=f"`F.{found.operation}` at {place_text(crash.place)} got a table with rows "
        f"{allowed_text(found)}, but {wrong_text(found)}.",
        why=f"{_WHY}.",
        fix=_larger(found) or f"Bring the numbers into {allowed_text(found)} before this line.",
        where=crash.place,
        evidence=index_evidence(found) | {"line": line_text(crash.place)},
        confidence=0.95,
    )


def _larger(found: IndexEvidence) -> str:
    enough = found.highest < found.size  # the others are below 0
    rows = f"Build the table for at least {found.highest + 1} rows"
    return "" if enough else f"{rows}, or bring the numbers into {allowed_text(found)}."
