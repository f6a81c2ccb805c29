from __future__ import annotations

from tests.fakes import judged, place
from torch_debugger.records import Edit, Finding, UntiedWeights

COPY = place(12, code="self.head.weight = nn.Parameter(self.embed.weight.clone())")
SHARE = place(14, code="self.head.weight = self.embed.weight")


def untied(how: str, line: int = 12) -> Finding:
    where = COPY if how == "copied" else SHARE
    fact = UntiedWeights("net", "net.lm.embed.weight", "net.lm.head.weight", 960, how, where, step=1)
    (finding,) = judged([fact], "weight-tying-broken")
    return finding


def test_values_that_were_copied() -> None:
    finding = untied("copied")
    assert finding.message == (
        "`net.lm.head.weight` and `net.lm.embed.weight` are two weights of 960 values each that train apart: "
        "`self.head.weight = nn.Parameter(self.embed.weight.clone())` at train.py:12 copies values and shares "
        "nothing."
    )
    assert finding.fix == "Write `self.head.weight = self.embed.weight` at train.py:12."
    assert finding.edit == Edit("train.py", 12, COPY.code or "", "self.head.weight = self.embed.weight")
    assert finding.severity == "warning"


def test_a_tie_that_a_later_line_undoes() -> None:
    finding = untied("undone")
    assert finding.fix == (
        "Move `self.head.weight = self.embed.weight` at train.py:14 below the line that makes either layer again."
    )
    assert finding.edit is None
