"""Class numbers that the scores have no place for: cross entropy, NLL and margin losses."""

from __future__ import annotations

from torch_debugger.checks.explainers.blame import Blame, line_text, place_text
from torch_debugger.checks.explainers.calls import argument_of, one_line, rewritten, with_argument
from torch_debugger.checks.explainers.constructors import add_keyword
from torch_debugger.checks.explainers.indices.index_words import (
    allowed_text,
    counts_from_one,
    index_evidence,
    is_another_numbering,
    is_marked,
    may_count_from_one,
    wrong_text,
)
from torch_debugger.checks.explainers.losses import LossCall, loss_call
from torch_debugger.checks.explainers.settings import Setting
from torch_debugger.checks.explainers.statements import Change, statement_at, written_call
from torch_debugger.records import CrashFact, Edit, LayerFact, Place
from torch_debugger.records.evidence import IndexEvidence

_LOSSES = ("cross_entropy", "nll_loss", "multi_margin_loss")
_WHY = "Each label chooses one of the scores of its sample, and they are numbered from 0"
_NOWHERE = 99  # no position: by keyword only


def explain_label_indices(crash: CrashFact) -> Blame | None:
    found = crash.evidence.indices
    if found is None or found.operation not in _LOSSES:
        return None
    call = loss_call(crash)
    if (found.lowest, found.highest, found.distinct, found.size) == (-1, 1, 2, 2):
        return _plus_and_minus(crash, call, found)
    if counts_from_one(found) and found.size > 1:
        return _from_one(crash, call, found)
    if is_marked(found):
        return _marked(crash, call, found)
    if found.lowest < 0 or is_another_numbering(found):
        return _unmapped(crash, call, found)
    return _too_few_scores(crash, call, found)


def _plus_and_minus(crash: CrashFact, call: LossCall | None, found: IndexEvidence) -> Blame:
    change, edit = _changed(crash, call, "({} + 1) // 2")
    why = f"{_WHY}; -1 and 1 are the labels of hinge losses."
    return _blame(crash, call, found, why, f"Turn -1 and 1 into 0 and 1: {change}.", crash.place, edit)


def _from_one(crash: CrashFact, call: LossCall | None, found: IndexEvidence) -> Blame:
    change, edit = _changed(crash, call, "{} - 1")
    why = f"{_WHY}; these labels count from 1 to {found.size}."
    return _blame(crash, call, found, why, f"Count them from 0: {change}.", crash.place, edit)


def _changed(crash: CrashFact, call: LossCall | None, pattern: str) -> tuple[str, Edit | None]:
    if call is None:
        return f"give it `{pattern.format('target')}`", None
    return call.change(crash, 1, pattern)


def _marked(crash: CrashFact, call: LossCall | None, found: IndexEvidence) -> Blame:
    mark, ignored = found.values[0], found.ignored
    why = f"{_WHY}; one that marks what is not to count must be named as ignore_index, which is {ignored} now."
    change = _ignore(crash, call, mark)
    fix = f"If {mark} marks what does not count, say so: {change.text}."
    return _blame(crash, call, found, why, fix, change.where, change.edit)


def _ignore(crash: CrashFact, call: LossCall | None, mark: int) -> Change:
    written = f"ignore_index={mark}"
    if crash.layer is not None:
        return add_keyword(crash.layer, written)
    whole = statement_at(crash, crash.place).whole
    before = written_call(whole.code or "", call.unparsed) if call is not None and call.unparsed else None
    if before is None or argument_of(before, _NOWHERE, "ignore_index") is not None:
        return Change(f"call the loss with `{written}` at {place_text(crash.place)}", None, crash.place)
    after = with_argument(before, written)
    return Change(f"write `{one_line(after)}`", rewritten(whole, before, after), crash.place)


def _unmapped(crash: CrashFact, call: LossCall | None, found: IndexEvidence) -> Blame:
    why = f"{_WHY}; these go from {found.lowest} to {found.highest}, in {found.distinct} different values."
    name = call.target_name if call is not None else "target"
    fix = (
        f"Number the classes 0 to {found.size - 1} where `{name}` is made: for all labels of the data at once, "
        "`torch.unique(labels, return_inverse=True)[1]` does it."
    )
    return _blame(crash, call, found, why, fix, crash.place, None)


def _too_few_scores(crash: CrashFact, call: LossCall | None, found: IndexEvidence) -> Blame:
    wanted = found.highest + 1
    setting = scores_setting(found.scores_from, wanted)
    why = f"{_WHY}: label {found.highest} needs at least {wanted} scores a sample, not {found.size}."
    if may_count_from_one(found):
        return _from_one_perhaps(crash, call, found, why, setting)
    if setting is None:
        fix = f"Build the model's last layer for {wanted} classes; it gives {found.size} now."
        return _blame(crash, call, found, why, fix, crash.place, None)
    binary = (
        "; or, with one score a sample, use nn.BCEWithLogitsLoss" if found.size == found.highest == 1 else ""
    )
    return _blame(crash, call, found, why, setting.fix(binary), setting.where, setting.edit(), setting.layer)


def _from_one_perhaps(
    crash: CrashFact, call: LossCall | None, found: IndexEvidence, why: str, setting: Setting | None
) -> Blame:
    """No label of the batch is 0, and the highest is one too high: two ways out, the likelier one first."""
    change, _ = _changed(crash, call, "{} - 1")
    wanted = f"If there are {found.highest + 1} classes"
    other = f"Build the model's last layer for {found.highest + 1} classes; it gives {found.size} now."
    built = setting.fix("") if setting is not None else other
    fix = f"If the labels count from 1 (none of these is 0), {change}. {wanted}: {built[0].lower()}{built[1:]}"
    layer = setting.layer if setting is not None else None
    return _blame(crash, call, found, why, fix, crash.place, None, layer)


def scores_setting(layer: LayerFact | None, wanted: int) -> Setting | None:
    for keyword in ("out_features", "out_channels"):
        if layer is not None and keyword in layer.settings and layer.place.file:
            return Setting(layer, keyword, 1, wanted)
    return None


def _blame(
    crash: CrashFact,
    call: LossCall | None,
    found: IndexEvidence,
    why: str,
    fix: str,
    where: Place,
    edit: Edit | None,
    layer: LayerFact | None = None,
) -> Blame:
    told = call.text(crash) if call is not None else f"`{found.operation}` at {place_text(crash.place)}"
    made = f" from `{layer.path}`" if layer is not None and layer.path else ""
    name = call.target_name if call is not None else ""
    evidence = index_evidence(found, name) | {"line": line_text(crash.place)}
    if layer is not None:
        evidence["constructor"] = line_text(layer.place)
    return Blame(
        message=f"{told} got {found.size} score{'s' * (found.size != 1)} a sample{made}, so "
        f"{_allowed(found)}, but {wrong_text(found, name)}.",
        why=why,
        fix=fix,
        where=where,
        evidence=evidence,
        confidence=0.97 if edit is not None else 0.95,
        edit=edit,
    )


def _allowed(found: IndexEvidence) -> str:
    return f"labels {allowed_text(found)} are allowed" if found.size > 1 else "only label 0 is allowed"
