from __future__ import annotations

from tests.fakes import judged, ledger, ledger_row, optimizer, place
from torch_debugger.records import FreshParameter, Record

LINE = place(18, code="x = nn.Linear(x.shape[1], self.classes)(x)")
FRESH = FreshParameter("net", "Net", "nn.Linear", 292, LINE, looks=3, step=3)


def test_a_layer_that_every_pass_makes_anew() -> None:
    (finding,) = judged([FRESH], "parameter-created-in-forward")
    assert finding.message == (
        "forward() of Net makes new parameters at every pass: `x = nn.Linear(x.shape[1], self.classes)(x)` at "
        "train.py:18 gave 292 values that were other objects on each of 3 looks."
    )
    assert finding.fix == (
        "Move `nn.Linear(...)` at train.py:18 to `Net.__init__`, as `self.<name> = ...`, and only call it in forward."
    )
    assert (finding.severity, finding.first_step, finding.where) == ("error", 1, LINE)


def test_what_the_optimizer_misses_is_its_symptom() -> None:
    rows = (ledger_row("net.conv.weight"), ledger_row("net.fc.weight", in_optimizer=False, changed=None))
    missing: list[Record] = [optimizer(), *(ledger(*rows, step=step) for step in (1, 2))]
    first, second = judged([*missing, FRESH], "parameter-created-in-forward", "parameters-not-in-optimizer")
    assert first.name == "parameter-created-in-forward"
    assert second.symptom_of == "parameter-created-in-forward"
