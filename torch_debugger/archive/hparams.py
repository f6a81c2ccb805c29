"""The hyperparameters of a run under names that other scripts' runs have as well."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from contextlib import suppress

from torch_debugger.archive import media, parsing
from torch_debugger.archive.log import Log
from torch_debugger.records import HparamsFact
from torch_debugger.records.surroundings import HparamValue


def merge_hparams(facts: Sequence[HparamsFact]) -> dict[str, HparamValue]:
    """A later fact counts more. The settings of the only optimizer go by their own names (lr, and its kind as
    optimizer): `opt.lr` of one script is `optimizer.lr` of another."""
    alone = _only_optimizer(facts)
    hparams: dict[str, HparamValue] = {}
    optimized: dict[str, HparamValue] = {}
    for fact in facts:
        if alone and fact.origin == alone:
            optimized |= {_plain(name, alone): value for name, value in fact.values.items()}
        else:
            hparams |= fact.values
    for name, value in optimized.items():
        if name not in hparams:
            hparams[name] = value
        elif hparams[name] != value:  # the script calls something else so
            hparams[f"optimizer.{'kind' if name == 'optimizer' else name}"] = value
    return hparams


def said_hparams(logs: Iterable[Log]) -> dict[str, HparamValue]:
    """Those that were given to `add_hparams`, of any writer; the last log counts most."""
    found: dict[str, HparamValue] = {}
    for _, value in (each for log in logs for each in log.values("hparams")):
        with suppress(*parsing.FOREIGN):
            found |= media.hparams(value)
    return found


def said_metrics(logs: Sequence[Log]) -> dict[str, float]:
    """The metrics given to `add_hparams`, each with its last value; the last log that has one counts."""
    found: dict[str, float] = {}
    for _, value in (each for log in logs for each in log.values("hparams")):
        with suppress(*parsing.FOREIGN):
            found |= dict.fromkeys(media.metric_tags(value), math.nan)
    curves = {tag: [log.curve(tag) for log in logs if log.has(parsing.SCALARS, tag)] for tag in found}
    return {tag: float(known[-1].values[-1]) for tag, known in curves.items() if known and len(known[-1])}


def _only_optimizer(facts: Sequence[HparamsFact]) -> str | None:
    """The variable of the one optimizer whose settings were told; they alone begin with its kind."""
    names = {fact.origin for fact in facts if f"{fact.origin}.kind" in fact.values}
    return names.pop() if len(names) == 1 else None


def _plain(name: str, optimizer: str) -> str:
    plain = name.removeprefix(f"{optimizer}.")
    return "optimizer" if plain == "kind" else plain
