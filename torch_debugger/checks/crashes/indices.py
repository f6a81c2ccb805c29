"""TD903: an index or a label for which there is no place."""

from __future__ import annotations

import ast
from dataclasses import replace

from torch_debugger.checks.crash_check import CrashCheck
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
from torch_debugger.checks.crashes.layers_and_losses import LossCall, Setting, add_keyword, loss_call
from torch_debugger.checks.crashes.user_code import (
    Change,
    Line,
    argument_of,
    change_operand,
    number_of,
    one_line,
    rewritten,
    statement_at,
    with_argument,
    written_call,
)
from torch_debugger.records import CrashFact, Edit, LayerFact
from torch_debugger.records.crash import IndexEvidence

# nn.Embedding, nn.EmbeddingBag, F.embedding: numbers for which the table has no row.
_WHY = "The numbers choose rows of the table, so each must be at least 0 and smaller than the number of rows"


def explain_embedding_indices(crash: CrashFact) -> Blame | None:
    found, layer = crash.evidence.indices, crash.layer
    if found is None or found.operation not in ("embedding", "embedding_bag"):
        return None
    if layer is None or "num_embeddings" not in layer.settings:
        # F.embedding with a table of the user's own.
        fix = f"Bring the numbers into {allowed_text(found)} before this line."
        if found.highest >= found.size:  # else the odd ones are below 0
            more = f"Build the table for at least {found.highest + 1} rows"
            fix = f"{more}, or bring the numbers into {allowed_text(found)}."
        return Blame(
            message=f"`F.{found.operation}` at {place_text(crash.place)} got a table with rows "
            f"{allowed_text(found)}, but {wrong_text(found)}.",
            why=f"{_WHY}.",
            fix=fix,
            evidence=index_evidence(found) | {"line": line_text(crash.place)},
            confidence=0.95,
        )
    setting, enlarges = Setting(layer, "num_embeddings", 0, found.highest + 1), True
    why = f"{_WHY}{setting.built_text()}."
    fix = setting.fix(f", or more if other batches hold higher numbers than {found.highest}")
    if found.lowest < 0:
        rows = max(found.size, found.highest + 1) + 1
        name = found.indices.name or "x"
        why, enlarges = f"{_WHY}; an embedding does not count from the end.", False
        fix = (
            f"If {found.lowest} stands for padding, give it a row of its own: look up "
            f"`{name}.masked_fill({name} < 0, {rows - 1})` at {place_text(layer.call)}, and build "
            f"{layer_name(layer)} for {rows} rows with padding_idx={rows - 1}; it has {found.size} now."
        )
    elif found.counts_up:
        length = found.highest + 1
        counts = f"The numbers count the places of a sequence of {length}, and the table was built for {found.size}"
        why = f"{counts}{setting.built_text()}."
        fix = setting.fix(f", for sequences of {length}; or cut them to {found.size}")
    elif is_another_numbering(found):
        why, enlarges = f"{_WHY}; these reach far beyond it, as identifiers do.", False
        fix = (
            f"Map the numbers to 0 to {found.size - 1} before this line, with a dictionary made from all of them; "
            f"a table for numbers up to {found.highest} would need {found.highest + 1} rows."
        )
    return Blame(
        message=f"{layer_name(layer)} has rows {allowed_text(found)}, but {wrong_text(found)}.",
        why=why,
        fix=fix,
        where=setting.where if enlarges else layer.call if layer.call.file else target_place(layer),
        evidence=layer_evidence(layer, **index_evidence(found)),
        confidence=0.98 if enlarges else 0.95,
        edit=setting.edit() if enlarges else None,
    )


# Class numbers that the scores have no place for: cross entropy, NLL and margin losses.
_LOSSES = "cross_entropy", "nll_loss", "multi_margin_loss"
_LABEL_WHY = "Each label chooses one of the scores of its sample, and they are numbered from 0"
_NOWHERE = 99  # no position: by keyword only


def explain_label_indices(crash: CrashFact) -> Blame | None:
    found = crash.evidence.indices
    if found is None or found.operation not in _LOSSES:
        return None
    call, layer, where = loss_call(crash), None, crash.place
    edit: Edit | None = None
    if (found.lowest, found.highest, found.distinct, found.size) == (-1, 1, 2, 2):
        change, edit = _changed(crash, call, "({} + 1) // 2")
        why, fix = "; -1 and 1 are the labels of hinge losses.", f"Turn -1 and 1 into 0 and 1: {change}."
    elif counts_from_one(found) and found.size > 1:
        change, edit = _changed(crash, call, "{} - 1")
        why, fix = f"; these labels count from 1 to {found.size}.", f"Count them from 0: {change}."
    elif is_marked(found):
        why = f"; one that marks what is not to count must be named as ignore_index, which is {found.ignored} now."
        ignoring = _ignore(crash, call, found.values[0])
        where, edit = ignoring.where, ignoring.edit
        fix = f"If {found.values[0]} marks what does not count, say so: {ignoring.text}."
    elif found.lowest < 0 or is_another_numbering(found):
        why = f"; these go from {found.lowest} to {found.highest}, in {found.distinct} different values."
        fix = (
            f"Number the classes 0 to {found.size - 1} where `{call.target_name if call else 'target'}` is made: for "
            "all labels of the data at once, `torch.unique(labels, return_inverse=True)[1]` does it."
        )
    else:
        wanted = found.highest + 1
        why = f": label {found.highest} needs at least {wanted} scores a sample, not {found.size}."
        setting = scores_setting(found.scores_from, wanted)
        layer = setting.layer if setting is not None else None
        fix = _more_scores(crash, call, found, setting)
        if setting is not None and not may_count_from_one(found):
            where, edit = setting.where, setting.edit()
    told = call.text(crash) if call is not None else f"`{found.operation}` at {place_text(crash.place)}"
    made = f" from `{layer.path}`" if layer is not None and layer.path else ""
    name = call.target_name if call is not None else ""
    evidence = index_evidence(found, name) | {"line": line_text(crash.place)}
    if layer is not None:
        evidence["constructor"] = line_text(layer.place)
    allowed = f"labels {allowed_text(found)} are allowed" if found.size > 1 else "only label 0 is allowed"
    return Blame(
        message=f"{told} got {found.size} score{'s' * (found.size != 1)} a sample{made}, so "
        f"{allowed}, but {wrong_text(found, name)}.",
        why=f"{_LABEL_WHY}{why}",
        fix=fix,
        where=where,
        evidence=evidence,
        confidence=0.97 if edit is not None else 0.95,
        edit=edit,
    )


def _changed(crash: CrashFact, call: LossCall | None, pattern: str) -> tuple[str, Edit | None]:
    if call is None:
        return f"give it `{pattern.format('target')}`", None
    return call.change(crash, 1, pattern)


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


def _more_scores(crash: CrashFact, call: LossCall | None, found: IndexEvidence, setting: Setting | None) -> str:
    wanted = found.highest + 1
    build = f"Build the model's last layer for {wanted} classes; it gives {found.size} now."
    if not may_count_from_one(found):
        binary = "; or, with one score a sample, use nn.BCEWithLogitsLoss" if found.size == found.highest == 1 else ""
        return setting.fix(binary) if setting is not None else build
    # No label of the batch is 0, and the highest is one too high: two ways out, the likelier one first.
    change, _ = _changed(crash, call, "{} - 1")
    built = setting.fix("") if setting is not None else build
    return (
        f"If the labels count from 1 (none of these is 0), {change}. If there are {wanted} classes: "
        f"{built[0].lower()}{built[1:]}"
    )


def scores_setting(layer: LayerFact | None, wanted: int) -> Setting | None:
    for keyword in ("out_features", "out_channels"):
        if layer is not None and keyword in layer.settings and layer.place.file:
            return Setting(layer, keyword, 1, wanted)
    return None


# Square brackets, gather, scatter, index_select and one_hot with numbers out of range.
def explain_picked_indices(crash: CrashFact) -> Blame | None:
    found = crash.evidence.indices
    if found is None or not found.expression or _beyond_a_dataset(crash):
        return None
    name = found.indices.name
    if counts_from_one(found):
        changed, edit = _with_operand(crash, found, f"{name} - 1")
        why = f"Everything in torch is numbered from 0, and `{name}` counts from 1 to {found.size}."
        return _picked_blame(crash, found, why, f"Count from 0: write `{changed}`.", edit)
    if found.operation == "one_hot":
        why = "one_hot makes a row of num_classes numbers and puts a 1 at the place of the label, counted from 0."
        if found.lowest < 0:
            fix = f"Leave out or replace the labels below 0 in `{name}` before this line."
            return _picked_blame(crash, found, why, fix, None)
        wanted, whole = found.highest + 1, statement_at(crash, crash.place).whole
        call = written_call(whole.code or "", found.expression)
        argument = argument_of(call, 1, "num_classes") if call else None
        from_one = f"; if the labels count from 1, write `{name} - 1` instead" if may_count_from_one(found) else ""
        if argument is None or number_of(argument.text) is None:
            classes = f"`{argument.text}`" if argument else "num_classes"
            fix = f"Make {classes} {wanted}; it is {found.size} now{from_one}."
            return _picked_blame(crash, found, why, fix, None)
        changed = argument.replaced(str(wanted))
        edit = rewritten(whole, argument.call, changed) if not from_one else None
        return _picked_blame(crash, found, why, f"Write `{changed}`{from_one}.", edit)
    below = f", or -1 to {found.allowed} from its end" if found.allowed < 0 else ""
    numbered = f"A dimension of {found.size} is numbered {allowed_text(found)}{below}."
    if found.operation == "[]" and not found.indices.shape:
        # x[i], x[:, 4]
        last, asked = found.size - 1, found.values[0]
        known = "" if number_of(name) is not None else f"; `{name}` is {asked} here"
        held = f"`{found.table.name}` {shape_text(found.table.shape)}" if found.table is not None else "a tensor"
        if asked < 0:
            fix = f"Keep `{name}` at {-last - 1} or above."
        elif number_of(name) is not None:
            fix = f"Use {last}, or -1, for the last one."
        else:
            fix = f"Keep `{name}` at {last} or below{'; a loop must end one earlier' if asked == last + 1 else ''}."
        return replace(
            _picked_blame(crash, found, numbered, fix, None),
            message=f"`{found.expression}` at {place_text(crash.place)} asks for number {asked} in dimension "
            f"{found.dimension} of {held}, where the last one is {last}{known}.",
        )
    return _scores(crash, found) or _picked_blame(crash, found, numbered, f"{_advice(found)}.", None)


def _beyond_a_dataset(crash: CrashFact) -> bool:
    """A sample that does not exist: the dataset's length is at fault, not this line."""
    loading = crash.evidence.loading
    failure = loading.failure if loading is not None else None
    return failure is not None and failure.stage == "sample" and failure.raised.subscripted is not None


def _with_operand(crash: CrashFact, found: IndexEvidence, form: str) -> tuple[str, Edit | None]:
    frame = user_frame(crash)
    line = Line(frame) if frame is not None else None
    for node in line.all_nodes() if line is not None else ():
        if line is not None and ast.unparse(node) == found.expression:
            return change_operand(crash, line, node, found.indices.name, form)
    return form, None


def _scores(crash: CrashFact, found: IndexEvidence) -> Blame | None:
    """What picks from a model's outputs: the layer that gives too few of them."""
    setting = scores_setting(found.scores_from, found.highest + 1)
    if setting is None or found.lowest < 0 or found.highest >= 2 * found.size:
        return None
    from_one = "; if they count from 1, subtract 1 instead" if may_count_from_one(found) else ""
    why = f"`{setting.layer.path}` gives {found.size} outputs{setting.built_text()}, numbered from 0."
    blame = _picked_blame(crash, found, why, setting.fix(from_one), setting.edit() if not from_one else None)
    return replace(blame, where=setting.where, confidence=0.95)


def _advice(found: IndexEvidence) -> str:
    name, table = found.indices.name, found.table.name if found.table is not None else "the tensor"
    sizes = found.table.shape if found.table is not None else ()
    fits = [place for place, size in enumerate(sizes) if found.highest < size]
    if found.lowest < found.allowed:
        return f"Keep `{name}` at {found.allowed} or more before this line"
    if len(fits) == 1 and found.operation != "[]":
        there = f"Dimension {fits[0]} of `{table}` has {sizes[fits[0]]}, where all of them fit"
        return f"{there}: look there if that was meant; else keep `{name}` below {found.size}"
    return (
        f"Keep `{name}` below {found.size} before this line, or give dimension {found.dimension} of `{table}` "
        f"at least {found.highest + 1}"
    )


def _picked_blame(crash: CrashFact, found: IndexEvidence, why: str, fix: str, edit: Edit | None) -> Blame:
    where = f" makes rows of {found.size}"
    if found.table is not None:
        where = f" looks in dimension {found.dimension} of `{found.table.name}` {shape_text(found.table.shape)}"
    return Blame(
        message=f"`{found.expression}` at {place_text(crash.place)}{where}, where {allowed_text(found)} "
        f"{'is' if found.size == 1 else 'are'} allowed, but {wrong_text(found)}.",
        why=why,
        fix=fix,
        evidence=index_evidence(found) | {"line": line_text(crash.place)},
        confidence=0.97 if edit is not None else 0.95,
        edit=edit,
    )


class IndexOutOfRange(CrashCheck):
    """An index or a class label is negative or too high for what it chooses from.

    Symptom:
        The script stops with "index out of range in self", "Target 9 is out of bounds", "index 5 is
        out of bounds for dimension 1 with size 3" or "Class values must be smaller than num_classes".
    Evidence:
        The values themselves, read on the CPU: how many are out of range, the first of them, where in
        the batch they stand, and the size they were held against: the rows of the embedding, the scores
        of the model, a dimension of a tensor. For labels also the layer that made the scores.
    Fix:
        Build the layer for one more than the highest number, count labels from 0, or name the label that
        is not to count as `ignore_index`; the finding says which, with the numbers filled in.
    Known limits:
        Only the batch that crashed is seen: other batches may hold higher numbers. Labels that count
        from 1 are told from missing zeros only in batches that are large enough. On a GPU the values
        cannot be read after the crash. An index out of range of a Python list is not explained.
    """

    id = "TD903"
    name = "index-out-of-range"
    title = "an index or a label is out of range"
    explainers = explain_embedding_indices, explain_label_indices, explain_picked_indices


# The words about values out of range: how many, which, where they stand, and what is allowed.
_SURE = 5  # labels each class would have in the batch, if they were spread evenly


def wrong_text(found: IndexEvidence, name: str = "") -> str:
    """3 of the 24 indices in `x` are out of range: 10 at row 2, column 3; 12 at row 3, column 1; and 1 more"""
    held = name or found.indices.name
    named = f" in `{held}`" if held else ""
    if found.count == found.total:
        counted = f"all {found.total} {_plural(found)}" if found.total > 1 else f"the {_noun(found)}"
    else:
        counted = f"{found.count} of the {found.total} {_plural(found)}"
    verb = "is" if found.count == 1 else "are"
    return f"{counted}{named} {verb} out of range: {offenders_text(found)}"


def offenders_text(found: IndexEvidence) -> str:
    told = [f"{value}{_position(place)}" for value, place in zip(found.values[:3], found.positions, strict=False)]
    more = found.count - len(told)
    return "; ".join([*told, *([f"and {more} more"] if more > 0 else [])])


def allowed_text(found: IndexEvidence) -> str:
    """0 to 9"""
    return f"0 to {found.size - 1}" if found.size > 1 else "0"


def index_evidence(found: IndexEvidence, name: str = "") -> dict[str, float | str]:
    spread = f"{found.lowest} to {found.highest}" if found.lowest != found.highest else f"{found.lowest}"
    return {
        name or found.indices.name or _plural(found): f"{spread} {shape_text(found.indices.shape)}",
        "allowed": allowed_text(found),
        "out of range": f"{found.count} of {found.total}: {offenders_text(found)}",
    }


def counts_from_one(found: IndexEvidence) -> bool:
    """1 to size, and enough of them that a missing 0 is no chance."""
    return (found.lowest, found.highest) == (1, found.size) and found.total >= _SURE * (found.size + 1)


def may_count_from_one(found: IndexEvidence) -> bool:
    return found.lowest >= 1 and found.highest == found.size and not counts_from_one(found)


def is_marked(found: IndexEvidence) -> bool:
    """Whether one value, which is no number of anything, marks what does not count: -1, 255."""
    mark = found.values[0]
    negative = mark == found.lowest < 0 and found.highest < found.size
    beyond = mark == found.highest >= 2 * found.size and found.lowest >= 0 and mark in (255, 65535)
    return (negative or beyond) and set(found.values) == {mark}


def is_another_numbering(found: IndexEvidence) -> bool:
    """Few different values that reach far beyond the size: numbers of something else, not yet mapped."""
    return found.highest >= 10 * found.size or (
        found.highest >= 2 * found.size and found.distinct <= found.size and found.total > found.distinct
    )


def _noun(found: IndexEvidence) -> str:
    return "label" if found.operation in ("cross_entropy", "nll_loss", "multi_margin_loss", "one_hot") else "index"


def _position(place: tuple[int, ...]) -> str:
    if len(place) == 1:
        return f" at position {place[0]}"
    if len(place) == 2:
        return f" at row {place[0]}, column {place[1]}"
    return f" at {shape_text(place)}" if place else ""


def _plural(found: IndexEvidence) -> str:
    return "labels" if _noun(found) == "label" else "indices"
