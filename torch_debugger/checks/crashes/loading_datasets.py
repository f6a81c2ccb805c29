"""TD930: a sample of the dataset raises, or cannot be put into a batch."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from torch_debugger.checks.crash_check import CrashCheck
from torch_debugger.checks.crashes.explanation import Blame, line_text, place_text
from torch_debugger.checks.crashes.user_code import rewritten
from torch_debugger.records import CrashFact, Edit
from torch_debugger.records.crash_loading import (
    LoaderState,
    MissingFile,
    OddPart,
    SampleFailure,
    Subscripted,
)

# A sample whose __getitem__ raises: which file it read, or at least which sample it is, and the values.

# In this process these are as often faults of the code as of a sample, and other checks read the frames.
NOT_OF_A_SAMPLE = {
    "RuntimeError", "NotImplementedError", "TypeError", "AttributeError", "NameError", "ImportError",
    "ModuleNotFoundError", "UnboundLocalError", "OutOfMemoryError", "MemoryError", "RecursionError",
}  # fmt: skip
OF_ANOTHER_KIND = re.compile(r"Cannot re-initialize CUDA|stack expects each tensor|Too many open files|CUDA error")


def explain_missing_file(crash: CrashFact) -> Blame | None:
    found = failure_of(crash)
    missing = found[1].raised.missing if found else None
    if found is None or missing is None or found[1].stage != "sample":
        return None
    loader, failure = found
    why, fix = _around(missing, earlier=bool(failure.batch))
    return Blame(
        message=f"{capital(sample_name(loader, failure))} reads `{missing.path}`, which does not exist.",
        why=why + looked_again_text(failure),
        fix=fix,
        where=failure.raised.place,
        evidence=failure_evidence(failure, file=missing.path, beside=f"{missing.entries} entries"),
    )


def _around(missing: MissingFile, earlier: bool) -> tuple[str, str]:
    folder, name = os.path.split(missing.path)
    shown = f"`{folder}`" if folder else "the folder the script was started in"
    if not missing.folder_exists and earlier:
        return (
            "It was not there when the sample was read; earlier batches came.",
            f"Leave out samples without a file when the dataset is made, or put `{name}` there.",
        )
    if not missing.folder_exists:
        start = " It is looked for from the folder the script was started in." if missing.relative else ""
        own = ", or build the path from the script's own place (`Path(__file__).parent`)" if missing.relative else ""
        return (
            f"Not even the folder {shown} is there.{start}",
            f"Correct the folder {shown} where the dataset makes its paths{own}.",
        )
    why = f"{capital(shown)} exists and has {missing.entries} entries, but no `{name}`."
    if missing.nearest:
        return (
            f"{why} The nearest name is `{missing.nearest}`.",
            f"Make the dataset's names match the files: `{missing.nearest}` instead of `{name}`.",
        )
    return why, f"Leave out samples without a file when the dataset is made, or put `{name}` there."


def explain_raising_sample(crash: CrashFact) -> Blame | None:
    """No cause is claimed: which sample it is, the line, and the values in it."""
    found = failure_of(crash)
    if found is None or found[1].stage != "sample" or not found[1].raised.place.file:
        return None
    loader, failure = found
    raised = failure.raised
    here = failure.worker is None
    if (here and raised.kind in NOT_OF_A_SAMPLE) or OF_ANOTHER_KIND.search(raised.message):
        return None
    held = "; ".join(f"`{name}` is {text}" for name, text in raised.reach.items())
    return Blame(
        message=f"{capital(sample_name(loader, failure))} raises {raised.kind} at {place_text(raised.place)}: "
        f"{raised.message or 'no message'}",
        why=f"`{raised.failing or raised.place.code}` fails{f': {held}' if held else ''}.{looked_again_text(failure)}",
        fix=_advice(failure),
        where=raised.place,
        evidence=failure_evidence(failure, **raised.reach),
        confidence=0.95 if failure.failing or raised.index is not None else 0.85,
    )


def _advice(failure: SampleFailure) -> str:
    line = place_text(failure.raised.place)
    if failure.looked_at > 1 and len(failure.failing) == failure.looked_at:
        return f"Correct {line}: no sample gets past it."
    index = failure.raised.index if failure.raised.index is not None else next(iter(failure.failing), None)
    if index is None:
        return f"Run it with `num_workers=0` to see the values, and correct the data or the line {line}."
    return f"Correct the data of sample {index}, or leave it out when the dataset is made; or let {line} cope."


# Samples of which no batch can be made: one of them is None, or holds something else than the others.
_BATCHED = "Batches are made of tensors, numpy arrays, numbers, strings, and of dicts and lists of these."
_SKIP = "`collate_fn=lambda batch: torch.utils.data.default_collate([item for item in batch if item is not None])`"
_CONVERSIONS = (
    (r"PIL\..*", "Turn the image into a tensor in `__getitem__`: `transforms.ToTensor()(image)`, or "
                 "`torch.from_numpy(np.array(image))`."),
    (r"pathlib\..*", "Give the path as text: `str(path)`."),
    (r"ndarray of <U\d+|ndarray of \|S\d+", "Give text as a list of `str`, or as the numbers of the classes."),
    (r"ndarray of object", "Give the array a number type: `.astype(np.float32)`."),
    (r"(frozen)?set", "Give a list or a tensor instead of a set: `sorted(...)`."),
)  # fmt: skip


def explain_odd_sample(crash: CrashFact) -> Blame | None:
    """When torch's own collate function could not put the samples together."""
    found = failure_of(crash)
    if found is None or found[1].stage != "collate" or found[1].raised.place.file:
        return None
    loader, failure = found
    odd = failure.odd
    if odd is None or ragged_sizes(odd) is not None or OF_ANOTHER_KIND.search(failure.raised.message):
        return None
    of, usual, where = samples_text(odd.samples), "", loader.sample_place
    counted = f"{len(odd.samples)} differ{'s' if len(odd.samples) == 1 else ''}: {listed(odd.samples)}"
    counted = f"Of {odd.counted} samples looked at {counted}."
    if odd.usual:
        usual = f", the others have {_a(odd.usual)}"
    else:
        of, counted = "every sample", f"All {odd.counted} samples looked at are alike."
    if not where.file:
        where = loader.dataset_place or crash.place
    at = place_text(loader.sample_place if loader.sample_place.file else loader.dataset_place)
    converted = next((advice for pattern, advice in _CONVERSIONS if re.fullmatch(pattern, odd.kind)), "")
    if odd.kind == "None" and not odd.path:
        where = loader.none_place if loader.none_place.file else where
        fix = (
            f"Return a sample for every index, or leave those out when the dataset is made; to skip them while "
            f"loading, give the DataLoader {_SKIP}."
        )
    elif converted:
        fix = converted
    elif odd.usual:
        fix = f"Let every sample have {_a(odd.usual)} there ({at}), or write a collate_fn of your own."
    else:
        fix = f"Turn it into a tensor in `__getitem__` ({at}), or write a collate_fn of your own."
    part = f"`sample{odd.path}` of {of}" if odd.path else of
    return Blame(
        message=f"The DataLoader cannot make a batch of `{loader.dataset}`: {part} is {_a(odd.kind)}{usual}.",
        why=f"{_BATCHED} {counted}",
        fix=fix,
        where=where,
        evidence=failure_evidence(failure, odd=odd.kind, usual=odd.usual or "the same"),
    )


def _a(words: str) -> str:
    return words if words == "None" else f"{'an' if words.startswith(('a', 'e', 'i', 'o', 'nd')) else 'a'} {words}"


def explain_collate_function(crash: CrashFact) -> Blame | None:
    """The user's own collate function raised, or what a worker runs first."""
    found = failure_of(crash)
    if found is None or found[1].stage == "sample" or not found[1].raised.place.file:
        return None
    loader, failure = found
    raised = failure.raised
    if (failure.worker is None and raised.kind in NOT_OF_A_SAMPLE) or OF_ANOTHER_KIND.search(raised.message):
        return None
    held = "; ".join(f"`{name}` is {text}" for name, text in raised.reach.items())
    asked = f" on {samples_text(failure.indices)} of `{loader.dataset}`" if failure.indices else ""
    what = (
        f"`{raised.function}`{asked}"
        if failure.stage == "collate"
        else f"The start of a worker, in `{raised.function}`,"
    )
    odd, differs = failure.odd, ""
    if odd is not None and odd.usual:
        part = f"`sample{odd.path}`" if odd.path else "The sample"
        differs = f" {part} of {samples_text(odd.samples)} is {_a(odd.kind)}, where the others have {_a(odd.usual)}."
    return Blame(
        message=f"{capital(what)} raises {raised.kind} at {place_text(raised.place)}: {raised.message}",
        why=f"`{raised.failing or raised.place.code}` fails{f': {held}' if held else ''}.{differs}",
        fix=f"Correct {place_text(raised.place)}, or the samples it cannot cope with.",
        where=raised.place,
        evidence=failure_evidence(failure, **raised.reach),
        confidence=0.9,
    )  # fmt: skip


# An index or key that a container of the dataset does not have: a __len__ too long, or a key unheard of.
def explain_entry(crash: CrashFact) -> Blame | None:
    """An index or key that a container of the dataset does not have."""
    found = failure_of(crash)
    asked = found[1].raised.subscripted if found else None
    if found is None or asked is None or found[1].stage != "sample":
        return None
    loader, failure = found
    ahead = _ahead(failure, asked)
    if ahead is not None and (loader.length or 0) > asked.size - ahead > 0:
        returned, edit = loader.length_place, _length_edit(loader, asked, ahead)
        at = f"`__len__` at {place_text(returned)}" if returned.file else "its `__len__`"
        further = f"; sample {failure.raised.index} reads {ahead} entries further on" if ahead else ""
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
            why=f"{capital(at)} gives {loader.length}, and the DataLoader asks for every index below that{further}."
            f"{looked_again_text(failure)}",
            fix=fix,
            where=returned if returned.file and edit is not None else failure.raised.place,
            evidence=failure_evidence(failure, samples=float(loader.length or 0), **{asked.container: asked.size}),
            confidence=0.98,
            edit=edit,
        )
    keyed = asked.kind == "dict"
    what = f"its {asked.size} keys are {asked.keys}" if keyed else f"it has {asked.size} entries"
    made = f"It is made at {line_text(asked.place)}." if asked.place.file else "Nothing puts that entry into it."
    return Blame(
        message=f"{capital(sample_name(loader, failure))} asks `{asked.container}` for {asked.key}, which it "
        f"does not have: {what}.",
        why=f"{made}{looked_again_text(failure)}",
        fix=f"Give `{asked.container}` an entry for {asked.key}, or correct or leave out the samples that ask for it.",
        where=failure.raised.place,
        evidence=failure_evidence(failure, **{asked.container: asked.size}),
    )


def _ahead(failure: SampleFailure, asked: Subscripted) -> int | None:
    """How far beyond the sample's own index the container was asked: 24 for self.series[index + 24]."""
    index = failure.raised.index
    if index is None or asked.kind == "dict" or not re.fullmatch(r"\d+", asked.key):
        return None
    ahead = int(asked.key) - index
    written = failure.raised.failing or failure.raised.place.code or ""
    return ahead if ahead == 0 or (ahead > 0 and "+" in written) else None


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
    return rewritten(loader.length_place, code, f"return len({asked.container})" + (f" - {ahead}" if ahead else ""))


class SampleRaises(CrashCheck):
    """A sample of the dataset raises, or does not fit into a batch with the others.

    Symptom:
        The loop over a DataLoader stops: "Caught KeyError in DataLoader worker process 0", an IndexError
        in `__getitem__`, "batch must contain tensors, numpy arrays, numbers, dicts or lists; found NoneType".
    Evidence:
        The dataset's own line and the values in it, the index it was asked for, and what the samples of
        the batch hold. Of a worker only the text of its traceback arrives: its line is compared with the
        source, and the batch's samples are fetched once more, one by one, in a process of their own.
    Fix:
        Correct or leave out the samples that the finding names, or the line that fails for all of them.
    Known limits:
        A random order that is spent is kept nowhere; then as many samples of the dataset are tried as
        fit into half a second. An IterableDataset is not read again. Errors of torch itself in the main
        process are left to the checks of shapes, dtypes and devices.
    """

    id = "TD930"
    name = "sample-raises"
    title = "a sample of the dataset raises or does not fit into a batch"
    explainers = (
        explain_entry,
        explain_missing_file,
        explain_odd_sample,
        explain_raising_sample,
        explain_collate_function,
    )


# Samples of different sizes that a DataLoader puts into one batch.
_UNEQUAL = r"stack expects each tensor to be equal size, but got (\[[\d, ]*\]) at entry 0 and (\[[\d, ]*\]) at entry"
# The batch's shared memory was made for the numbers that the samples have in all.
_NO_ROOM = "resize storage"
_SIZE = r"^((?:tensor|ndarray) \w+) (\[[\d, ]*\])$"
_COLLATE = os.path.join("torch", "utils", "data", "_utils", "collate.py")


def explain_collate(crash: CrashFact) -> Blame | None:
    """When torch's own collate function raised, in this process or in a worker that hands its traceback on."""
    here = bool(crash.frames) and crash.frames[-1].file.endswith(_COLLATE)
    worker = crash.message.startswith("Caught RuntimeError in DataLoader worker") and _COLLATE in crash.message
    match, no_room = re.search(_UNEQUAL, crash.message), _NO_ROOM in crash.message
    loading = crash.evidence.loading
    odd = loading.failure.odd if loading is not None and loading.failure is not None else None
    ragged = ragged_sizes(odd) if odd is not None else None
    # A worker that cannot enlarge the batch's shared memory does not tell the sizes; the samples do.
    sizes = (match[1], match[2]) if match is not None else ragged if no_room else None
    if not (here or worker) or (sizes is None and not no_room):
        return None
    differing = f": {sizes[0]} and {sizes[1]}" if sizes else ""
    if odd is not None and ragged is not None and len(odd.samples) == 1:
        part = f" in `sample{odd.path}`" if odd.path else ""
        differing = f": sample {odd.samples[0]} has {ragged[1]}{part}, the others {ragged[0]}"
    shown = {"first sample": sizes[0], "other sample": sizes[1]} if sizes else {}
    return Blame(
        message=f"The DataLoader read at {place_text(crash.place)} puts samples of different sizes into one "
        f"batch{differing}.",
        why="A batch is one tensor, so all of its samples must have one size.",
        fix="Bring all samples to one size in the dataset (resize, crop or pad), or give the DataLoader a "
        "collate_fn that pads them.",
        evidence={**shown, "line": line_text(crash.place)},
        confidence=0.97 if sizes else 0.85,
    )


def ragged_sizes(odd: OddPart) -> tuple[str, str] | None:
    """The sizes of two samples that differ in nothing else: [7] and [8]."""
    rare, usual = re.search(_SIZE, odd.kind), re.search(_SIZE, odd.usual)
    alike = rare is not None and usual is not None and rare[1] == usual[1]
    return (usual[2], rare[2]) if alike and rare is not None and usual is not None else None


# Words about a DataLoader that several explainers use.
_LISTED = 8


def failure_of(crash: CrashFact) -> tuple[LoaderState, SampleFailure] | None:
    loading = crash.evidence.loading
    if loading is None or loading.loader is None or loading.failure is None:
        return None
    return loading.loader, loading.failure


def listed(numbers: Sequence[int]) -> str:
    """3, 7 and 12"""
    shown = [str(number) for number in numbers[:_LISTED]]
    if len(numbers) > _LISTED:
        return f"{', '.join(shown)} and more"
    return " and ".join(filter(None, (", ".join(shown[:-1]), shown[-1]))) if shown else ""


def samples_text(indices: Sequence[int]) -> str:
    return f"sample{'s' if len(indices) > 1 else ''} {listed(indices)}"


def sample_name(loader: LoaderState, failure: SampleFailure) -> str:
    """sample 37 of `Reviews`"""
    index = failure.raised.index if failure.raised.index is not None else next(iter(failure.failing), None)
    return f"{'a sample' if index is None else f'sample {index}'} of `{loader.dataset}`"


def looked_again_text(failure: SampleFailure) -> str:
    """What fetching the batch's samples once more, one by one, has shown."""
    if not failure.looked_at:
        return ""
    looked = f"{failure.looked_at} samples were fetched once more, one by one"
    if not failure.failing:
        return f" {looked}, and none of them failed: it depends on the worker's own state or random numbers."
    if len(failure.failing) == failure.looked_at > 1:
        return f" {looked}, and all of them fail: it is the line, not one bad sample."
    return f" {looked}: {samples_text(failure.failing)} {'fail' if len(failure.failing) > 1 else 'fails'}."


def failure_evidence(failure: SampleFailure, **first: float | str) -> dict[str, float | str]:
    """What an explainer found itself, and then the batch around it."""
    evidence: dict[str, float | str] = dict(first)
    evidence["error"] = f"{failure.raised.kind}: {failure.raised.message}"
    if failure.worker is not None:
        evidence["worker"] = float(failure.worker)
    if failure.batch is not None:
        evidence["batch"] = float(failure.batch)
    if failure.indices:
        evidence["samples of the batch"] = listed(failure.indices)
    if failure.raised.place.file:
        evidence["line"] = line_text(failure.raised.place)
    return evidence


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]


# The part of a dataset or model that cannot be pickled.
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
    known, saved = bool(part.made.file), part.sender == "torch.save"
    path, at = f"`{part.path}`", f" ({place_text(part.made)})" if known else ""
    what = f"{'an' if part.kind[0] in 'aeiou' else 'a'} {part.kind}{f' (`{part.name}`)' if part.name else ''}"
    what += f" of {place_text(part.made)}" if known else ""
    why = "It belongs to this process and means nothing in another."
    if part.kind in ("lambda", "local function", "local class"):
        why = (
            "Functions and classes are pickled by their name, and one without a name at the top of a file is not "
            "found again."
        )
    if part.kind == "lambda":
        fix = f"write the lambda{at} as a function with `def` at the top level of the file, and give its name."
    elif part.kind in ("local function", "local class"):
        fix = f"move `{part.name}`{at} to the top level of the file, out of the function it stands in."
    elif part.kind == "generator":
        fix = f"keep what the generator gives in a list{at}, or make it in the worker."
    else:
        fix = f"do not keep it in the object{at}: make or open it at first use, inside the process that uses it."
    if saved:
        path = f"`{part.path.lstrip('.')}` of the object" if part.path else "the object"
        why = f"torch.save pickles the whole object. {why}"
        fix = f"Save what can be loaded again, `model.state_dict()`, instead of the object; {fix}"
    else:
        method = f"`{part.start_method}`" if part.start_method else "this start method"
        why = f"Processes started by {method} get their objects by pickle. {why}"
    return Blame(
        message=f"{_SENDERS[part.sender]} {path}: {what} cannot be pickled.",
        why=why,
        fix=capital(fix),
        where=part.made if known else crash.place,
        evidence={"part": f"{'obj' * saved}{part.path}", "kind": what, "call": line_text(crash.place)},
        confidence=0.97 if known else 0.92,
    )


class UnpicklableObject(CrashCheck):
    """An object that is sent to another process, or saved, holds something that cannot be pickled.

    Symptom:
        "Can't pickle local object", "cannot pickle '_io.TextIOWrapper' object", "attribute lookup <lambda>
        failed" when workers are started by spawn or forkserver, or in `torch.save(model)`.
    Evidence:
        The object's parts, tried one by one: the innermost that pickle refuses, and the line that makes it.
    Fix:
        Move lambdas, functions and classes to the top level of a file; open files, locks and connections
        inside the process that uses them; save a `state_dict` instead of a model.
    Known limits:
        Objects with a `__getstate__` of their own are named as a whole. The search ends after 0.4 seconds.
    """

    id = "TD932"
    name = "unpicklable-object"
    title = "an object to be sent or saved cannot be pickled"
    explainers = (explain_unpicklable,)
