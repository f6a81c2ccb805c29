"""Parameters of a ledger that no optimizer moves, and the modules they make up."""

from __future__ import annotations

from collections.abc import Sequence

from torch_debugger.records import LedgerFact, LedgerRow


def is_left_out(row: LedgerRow) -> bool:
    in_use = row.trainable and row.registered and row.used is not False and row.gradient == "nonzero"
    # A value that changes although no optimizer holds it is updated by hand.
    return in_use and not row.in_optimizer and row.changed is not True


def lies_before_the_rest(ledger: LedgerFact, names: set[str]) -> bool:
    """All that is missing was defined before all that is held: a backbone under a trained head?"""
    held = [index for index, row in enumerate(ledger.rows) if row.in_optimizer]
    left_out = [index for index, row in enumerate(ledger.rows) if row.name in names]
    return bool(held and left_out) and max(left_out) < min(held)


def group_by_module(ledger: LedgerFact, names: set[str]) -> list[tuple[str, int]]:
    """The largest modules that are missing as a whole, with their numbers of parameters."""
    groups: dict[str, int] = {}
    concerned = [row.name for row in ledger.rows if row.trainable or row.in_optimizer]
    for name in concerned:
        if name in names:
            path = _largest_missing(name, concerned, names)
            groups[path] = groups.get(path, 0) + 1
    return list(groups.items())


def _largest_missing(name: str, concerned: Sequence[str], names: set[str]) -> str:
    parts = name.split(".")
    for length in range(1, len(parts)):
        path = ".".join(parts[:length])
        if all(other in names for other in concerned if other.startswith(path + ".")):
            return path
    return name


def list_groups(groups: list[tuple[str, int]]) -> str:
    texts = [f"all {count} parameters of `{path}`" if count > 1 else f"`{path}`" for path, count in groups[:3]]
    if len(groups) > 3:
        texts.append(f"{sum(count for _, count in groups[3:])} more parameters")
    text = " and ".join(", ".join(texts).rsplit(", ", 1))
    return text[0].upper() + text[1:]
