"""The ranks of a run in one sentence."""

from __future__ import annotations

from collections.abc import Sequence

from torch_debugger.records.ranks import ranks_in_words
from torch_debugger.report.exits import ending_signal
from torch_debugger.report.result import RankResult


def ranks_sentence(ranks: Sequence[RankResult]) -> str:
    """4 ranks (gloo): ranks 0, 2 and 3 were stopped by SIGTERM after 12 steps, rank 1 crashed after 12 steps"""
    ends: dict[str, list[int]] = {}
    for each in ranks:
        ends.setdefault(_end(each), []).append(each.rank)
    if len(ends) == 1:
        told = f"all {next(iter(ends))}"
    else:
        told = ", ".join(f"{ranks_in_words(whose)} {_verb(end, whose)}" for end, whose in ends.items())
    return f"{_who(ranks)}: {told}"


def _who(ranks: Sequence[RankResult]) -> str:
    backends = sorted({each.backend for each in ranks if each.backend})
    hosts = {each.host for each in ranks if each.host}
    world = max([each.world_size for each in ranks] + [len(ranks)])
    many = f"{len(ranks)} of {world} ranks" if len(ranks) < world else f"{world} ranks"
    where = f" on {len(hosts)} hosts" if len(hosts) > 1 else ""
    return f"{many}{where}" + (f" ({', '.join(backends)})" if backends else "")


def _end(each: RankResult) -> str:
    caught = ending_signal(each.exit_code)
    verbs = {"finished": "finished", "crashed": "crashed", "hung": "hung", "stopped": "were stopped"}
    verb = verbs.get(each.outcome, "left no end in their logs")
    if caught is not None:
        verb = f"were ended by {caught.name}"
    return f"{verb} after {each.steps:,} step{'' if each.steps == 1 else 's'}"


def _verb(end: str, whose: Sequence[int]) -> str:
    return end if len(whose) > 1 else end.replace("were ", "was ", 1).replace("in their logs", "in its log", 1)
