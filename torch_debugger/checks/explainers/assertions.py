"""A condition that the script itself asked for: the values that met in it, and what would make them fit."""

from __future__ import annotations

from collections.abc import Sequence

from torch_debugger.checks.explainers.blame import Blame, line_text, place_text, product_text, shape_text
from torch_debugger.records import CrashFact
from torch_debugger.records.evidence import AssertionEvidence

_SAID = {"==": "", "!=": "anything but ", "<": "less than ", "<=": "at most ", ">": "more than ",
         ">=": "at least ",
         "is": "", "is not": "anything but ", "in": "one of ", "not in": "none of "}  # fmt: skip


def explain_assertion(crash: CrashFact) -> Blame | None:
    held = crash.evidence.assertion
    if held is None or not crash.place.file:
        return None
    found = _of_shapes(held) if held.sizes or held.wanted else _of_values(held)
    if found is None:
        return None
    told, fix = found
    kind = "The assert" if held.asserted else "The condition of the script's own"
    made = f" `{held.tensor}` was made at {line_text(held.made)}." if held.made.file and held.tensor else ""
    return Blame(
        message=f"{kind} at {place_text(crash.place)} {'failed' if held.asserted else 'was met'}: {told}.",
        why=f"`{held.test}` is {'False' if held.asserted else 'True'} with the values of this call.{made}",
        fix=fix,
        where=crash.place,
        evidence=_evidence(crash, held),
        confidence=0.9,
    )


def _evidence(crash: CrashFact, held: AssertionEvidence) -> dict[str, float | str]:
    sides = {held.left: held.left_value, held.right: held.right_value}
    known: dict[str, float | str] = {
        text: value for text, value in sides.items() if text and value and text != value
    }
    if held.tensor and f"{held.tensor}.shape" not in known:
        known[f"{held.tensor}.shape"] = shape_text(held.shape)
    if held.made.file:
        known["made"] = line_text(held.made)
    return known | {"line": line_text(crash.place)}


def _of_shapes(held: AssertionEvidence) -> tuple[str, str] | None:
    got, wanted = held.sizes, held.wanted
    name = held.tensor or held.left
    if held.operation != "==":
        return None
    whole = f" (`{name}` is {shape_text(held.shape)})" if held.tensor and held.shape != got else ""
    subject = held.left if held.left_value == shape_text(got) else held.right
    if len(got) != len(wanted):
        told = (
            f"`{subject}` is {shape_text(got)}{whole}, {len(got)} dimensions where "
            f"{shape_text(wanted)} has {len(wanted)}"
        )
    else:
        pairs = enumerate(zip(got, wanted, strict=True), held.first)
        odd = [f"dimension {at} is {one} and not {other}" for at, (one, other) in pairs if one != other]
        told = f"`{subject}` is {shape_text(got)}{whole} and not {shape_text(wanted)}: {', '.join(odd)}"
    return told, _reshaping(held, name, got, wanted)


def _reshaping(held: AssertionEvidence, name: str, got: Sequence[int], wanted: Sequence[int]) -> str:
    where = f" at {place_text(held.made)}" if held.made.file else ""
    sought = f"Look at what makes `{name}`{where}"
    if len(got) == len(wanted) and sorted(got) == sorted(wanted):
        order = list(range(held.first)) + [held.first + at for at in _order(got, wanted)]
        return (
            "The sizes are right and their order is not: "
            f"`{name}.permute({', '.join(map(str, order))})`. {sought}."
        )
    if len(got) + 1 == len(wanted):
        at = next(
            (
                at
                for at, size in enumerate(wanted)
                if size == 1 and (*wanted[:at], *wanted[at + 1 :]) == tuple(got)
            ),
            None,
        )
        if at is not None:
            return f"A dimension of size 1 is missing: `{name}.unsqueeze({held.first + at})`. {sought}."
    if len(got) == len(wanted) and held.first == 0 and got[1:] == wanted[1:]:
        return (
            "Only the batch differs: the last batch of an epoch is often smaller. Compare "
            f"`{name}.shape[1:]`, or "
            "drop that batch: `DataLoader(..., drop_last=True)`."
        )
    if _count(got) == _count(wanted):
        return (
            f"Both have {product_text(got)} = {_count(got):,} values: a `reshape` is missing "
            f"or wrong. {sought}."
        )
    return f"{sought}; if its shape is as you want it, the condition is what is out of date."


def _order(got: Sequence[int], wanted: Sequence[int]) -> list[int]:
    free = list(range(len(got)))
    found = []
    for size in wanted:
        at = next(index for index in free if got[index] == size)
        free.remove(at)
        found.append(at)
    return found


def _count(sizes: Sequence[int]) -> int:
    count = 1
    for size in sizes:
        count *= size
    return count


def _of_values(held: AssertionEvidence) -> tuple[str, str] | None:
    numbers = held.numbers
    where = f" at {place_text(held.made)}" if held.made.file else ""
    if numbers is not None and (numbers.nans or numbers.infs):
        wrong = [f"{numbers.nans:,} NaN"] if numbers.nans else []
        wrong += [f"{numbers.infs:,} Inf"] if numbers.infs else []
        told = (
            f"`{held.tensor}` ({shape_text(held.shape)}) holds {' and '.join(wrong)} among "
            f"{numbers.elements:,} values"
        )
        return told, (
            "Find the op or the data that made the first of them; this line only met "
            f"it{where and f', made{where}'}. "
            "`torch-debugger run` on the script runs the step again and names it."
        )
    if not held.operation:
        return None if not held.tensor else _of_a_flag(held)
    told = (
        f"`{held.left}` is {held.left_value}, and "
        f"{_SAID[held.operation]}{held.right_value or held.right} was asked for"
    )
    if not held.asserted:
        told = f"`{held.left}` is {held.left_value} ({held.operation} {held.right_value})"
    if held.left.endswith((".dim()", ".ndim", ".ndimension()")):
        told += f": `{held.tensor}` has shape {shape_text(held.shape)}"
        return told, _dimensions(held, where)
    spot = f"Look at what makes `{held.tensor or held.left}`{where}"
    return told, f"{spot}; if its value is as you want it, the condition is what is out of date."


def _dimensions(held: AssertionEvidence, where: str) -> str:
    got, wanted = len(held.shape), held.right_value
    if held.operation == "==" and wanted == str(got + 1):
        return (
            f"One sample without a batch? `{held.tensor}.unsqueeze(0)` adds the dimension. "
            f"Look at what makes it{where}."
        )
    return f"Look at what makes `{held.tensor}`{where}."


def _of_a_flag(held: AssertionEvidence) -> tuple[str, str]:
    numbers = held.numbers
    spread = (
        f", values {numbers.low:.4g} to {numbers.high:.4g}" if numbers is not None and numbers.elements else ""
    )
    told = f"`{held.test}` does not hold; `{held.tensor}` has shape {shape_text(held.shape)}{spread}"
    if not held.asserted:
        told = f"`{held.test}` holds; `{held.tensor}` has shape {shape_text(held.shape)}{spread}"
    where = f" at {place_text(held.made)}" if held.made.file else ""
    return (
        told,
        f"Look at what makes `{held.tensor}`{where}; if it is as you want it, the condition is out of date.",
    )
