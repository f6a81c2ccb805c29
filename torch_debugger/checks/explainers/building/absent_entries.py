"""An index or key that a container of the dataset does not have: a __len__ too long, or a key unheard of."""

from __future__ import annotations

import re

from torch_debugger.checks.explainers.blame import Blame, line_text, place_text
from torch_debugger.checks.explainers.calls import rewritten
from torch_debugger.checks.explainers.loading.loader_words import (
    capital,
    failure_evidence,
    failure_of,
    looked_again_text,
    sample_name,
)
from torch_debugger.records import CrashFact, Edit
from torch_debugger.records.evidence.loading import LoaderState, SampleFailure, Subscripted


def explain_entry(crash: CrashFact) -> Blame | None:
    """An index or key that a container of the dataset does not have."""
    found = failure_of(crash)
    asked = found[1].raised.subscripted if found else None
    if found is None or asked is None or found[1].stage != "sample":
        return None
    loader, failure = found
    ahead = _ahead(failure, asked)
    if ahead is not None and (loader.length or 0) > asked.size - ahead > 0:
        return _too_long(loader, failure, asked, ahead)
    return _absent(loader, failure, asked)


def _ahead(failure: SampleFailure, asked: Subscripted) -> int | None:
    """How far beyond the sample's own index the container was asked: 24 for self.series[index + 24]."""
    index = failure.raised.index
    if index is None or asked.kind == "dict" or not re.fullmatch(r"\d+", asked.key):
        return None
    ahead = int(asked.key) - index
    written = failure.raised.failing or failure.raised.place.code or ""
    return ahead if ahead == 0 or (ahead > 0 and "+" in written) else None


def _too_long(loader: LoaderState, failure: SampleFailure, asked: Subscripted, ahead: int) -> Blame:
    returned, edit = loader.length_place, _length_edit(loader, asked, ahead)
    at = f"`__len__` at {place_text(returned)}" if returned.file else "its `__len__`"
    if edit is not None:
        fix = f"Write `{edit.after}` instead of `{edit.before}` at {place_text(returned)}."
    else:
        made = f" Look at {line_text(asked.place)}." if asked.place.file else ""
        fix = (
            f"Let {at} give {asked.size - ahead}, or give `{asked.container}` all "
            f"{(loader.length or 0) + ahead} entries.{made}"
        )
    return Blame(
        message=f"`{loader.dataset}` says it has {loader.length} samples; {_enough(failure, asked, ahead)}.",
        why=f"{capital(at)} gives {loader.length}, and the DataLoader asks for every index below that"
        f"{f'; sample {failure.raised.index} reads {ahead} entries further on' if ahead else ''}."
        f"{looked_again_text(failure)}",
        fix=fix,
        where=returned if returned.file and edit is not None else failure.raised.place,
        evidence=failure_evidence(failure, samples=float(loader.length or 0), **{asked.container: asked.size}),
        confidence=0.98,
        edit=edit,
    )


def _enough(failure: SampleFailure, asked: Subscripted, ahead: int) -> str:
    if not ahead:
        return f"`{asked.container}` has {asked.size} entries: there is no sample {asked.key}"
    return (
        f"the {asked.size} entries of `{asked.container}` are enough for {asked.size - ahead}: sample "
        f"{failure.raised.index} reads entry {asked.key}"
    )


def _length_edit(loader: LoaderState, asked: Subscripted, ahead: int) -> Edit | None:
    """Not where __len__ counts another container: which of the two is right is not known."""
    code = loader.length_place.code or ""
    written = re.fullmatch(r"return (.+)", code)
    if written is None or not asked.container.startswith("self."):
        return None
    if re.fullmatch(r"len\(self\.\w+\)", written[1]) and written[1] != f"len({asked.container})":
        return None
    return rewritten(
        loader.length_place, code, f"return len({asked.container})" + (f" - {ahead}" if ahead else "")
    )


def _absent(loader: LoaderState, failure: SampleFailure, asked: Subscripted) -> Blame:
    keyed = asked.kind == "dict"
    what = f"its {asked.size} keys are {asked.keys}" if keyed else f"it has {asked.size} entries"
    made = (
        f"It is made at {line_text(asked.place)}." if asked.place.file else "Nothing puts that entry into it."
    )
    return Blame(
        message=f"{capital(sample_name(loader, failure))} asks `{asked.container}` for {asked.key}, which it "
        f"does not have: {what}.",
        why=f"{made}{looked_again_text(failure)}",
        fix=f"Give `{asked.container}` an entry for {asked.key}, or correct or leave out the samples that ask "
        f"for it.",
        where=failure.raised.place,
        evidence=failure_evidence(failure, **{asked.container: asked.size}),
        confidence=0.97,
    )
