"""One program on both sides, what is left of the differences, and which of its pieces are to blame."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tests.hostile.allowed import Allowed, allowance
from tests.hostile.catalog import PLAINEST, named
from tests.hostile.comparing import Difference, differences
from tests.hostile.grammar import Program
from tests.hostile.running import PLAIN, run


@dataclass
class Verdict:
    program: Program
    failures: list[Difference]
    allowed: Counter[Allowed]
    undecided: list[Difference]  # two plain runs differ there as well
    plain_ended: str
    factor: float  # processor time, watched by plain
    seconds: float
    said: str = field(default="")  # stderr of the other side, for who looks into a failure

    def kinds(self) -> frozenset[str]:
        """The properties that fail, without what varies from program to program."""
        return frozenset(re.sub(r"\[.*", "", difference.what) for difference in self.failures)


def judge(program: Program, how: tuple[str, ...], root: Path) -> Verdict:
    """Plain first and then the other; a second plain run only where there is a difference to explain."""
    plain = run(program, PLAIN, root)
    other = run(program, how, root)
    allowed: Counter[Allowed] = Counter()
    open_ones = []
    for difference in differences(plain, other):
        if (entry := allowance(str(difference))) is not None:
            allowed[entry] += 1
        else:
            open_ones.append(difference)
    undecided: list[Difference] = []
    seconds = plain.wall_s + other.wall_s
    if open_ones:
        again = run(program, PLAIN, root)
        seconds += again.wall_s
        vague = {difference.what for difference in differences(plain, again)}
        undecided = [difference for difference in open_ones if difference.what in vague]
        open_ones = [difference for difference in open_ones if difference.what not in vague]
    factor = other.processor_s / plain.processor_s
    said = other.stderr.decode(errors="replace")
    return Verdict(program, open_ones, allowed, undecided, plain.ended, factor, seconds, said)


def shrink(verdict: Verdict, how: tuple[str, ...], root: Path) -> Verdict:
    """Drops one piece after the other as long as one of the same properties still fails."""
    smallest, kinds = verdict, verdict.kinds()
    for name in reversed(verdict.program.names):
        names = [kept for kept in smallest.program.names if kept != name]
        if name in (piece.name for piece in PLAINEST) or not names:
            continue
        smaller = judge(named("+".join(names), verdict.program.seed), how, root)
        if smaller.kinds() & kinds:
            smallest = smaller
    return smallest
