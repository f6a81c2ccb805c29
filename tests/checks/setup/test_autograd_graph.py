"""Parts that gradients never reach: cut off by a line, or never used at all."""

from __future__ import annotations

import dataclasses

from tests.fakes import end, findings_of, ledger, ledger_row, losses, only, place, rows
from torch_debugger.records import CheckpointLoad, Edit, Place, Record, UnreachedPart


def part(reason: str, cut: Place, **others: object) -> UnreachedPart:
    facts: dict[str, object] = {"root": "net", "part": "net.encoder", "kind": "Encoder", "place": place(12)}
    facts |= {"parameters": 4, "elements": 1392, "following": "net.head", "instead": "", "training": True}
    return UnreachedPart(reason=reason, cut=cut, step=3, **{**facts, **others})  # type: ignore[arg-type]


def looks(count: int = 4, names: tuple[str, ...] = ("net.head.weight",)) -> list[Record]:
    return [rows(step, "parameter", ("grad_norm",), {name: [1.0] for name in names}) for step in range(1, count + 1)]


DETACH = part("cut", place(26, code="code = code.detach()"))


def over(fact: UnreachedPart) -> list[Record]:
    """The same as it is told when the run is over."""
    return [fact, *losses([1.0] * 100), dataclasses.replace(fact, step=100, at_end=True), end(steps=100)]


cut = findings_of("graph-cut")


def test_a_line_that_cuts_the_graph() -> None:
    (finding,) = cut(*looks(), *over(DETACH))
    assert finding.message == (
        "`net.encoder` (4 parameters, 1,392 values) gets no gradient: `code = code.detach()` at train.py:26 "
        "cuts the graph before `net.head`, so it has kept its first values."
    )
    assert finding.fix == (
        "Let gradients through at train.py:26: `code = code.detach()` must keep the graph of `net.encoder`. If "
        "`net.encoder` should stay as it is, leave it out of the optimizer."
    )
    assert (finding.severity, finding.where.line, finding.where.module) == ("error", 26, "net.encoder")


def test_a_part_that_was_reached_or_looked_at_once_is_not_cut_off() -> None:
    late = ledger(ledger_row("net.encoder.0.weight"), step=90)
    assert not cut(*looks(), *over(DETACH), late)
    assert not cut(*looks(), *over(DETACH), *looks(1, ("net.encoder.0.weight",)))
    assert not cut(*looks(), DETACH, end())  # its values have changed by the end
    assert not cut(*looks(2), *over(DETACH)), "few looks are not enough"


def test_no_grad_is_a_warning_and_only_in_training_mode() -> None:
    block = place(13, code="with torch.no_grad():")
    (finding,) = cut(*looks(), *over(part("no grad", block)))
    assert (finding.severity, finding.confidence) == ("warning", 0.75)
    assert finding.fix.startswith("Take the call of `net.encoder` out of `with torch.no_grad():` at train.py:13.")
    assert not cut(*looks(), *over(part("no grad", block, training=False)))


def test_features_of_a_loaded_model_are_a_note() -> None:
    load = CheckpointLoad("Encoder", place(9), 4, 4, 0, (), (), "fc", "", Place(), 0)
    assert only(cut(load, *looks(), *over(DETACH))).severity == "note"


unused = findings_of("unused-parameters")


def test_a_layer_whose_neighbour_is_called_twice() -> None:
    call = place(25, code="x = F.relu(self.layer1(x))")
    fact = part("never read", call, part="net.layer2", instead="layer1", parameters=2, elements=600)
    (finding,) = unused(*looks(), fact)
    assert finding.message == (
        "`net.layer2` (2 parameters, 600 values) is never called, while `layer1` is called again at "
        "train.py:25, so it is never trained and changes no output."
    )
    assert finding.fix == "Call `self.layer2` instead of `self.layer1` at train.py:25."
    assert finding.edit == Edit("train.py", 25, "x = F.relu(self.layer1(x))", "x = F.relu(self.layer2(x))")
    assert finding.severity == "error"


def test_a_result_that_nobody_reads_costs_every_block_its_layer() -> None:
    line = place(17, code="h2 = self.norm(x)")
    blocks = [part("dropped", line, part=f"net.blocks.{number}.norm", parameters=2) for number in range(3)]
    (finding,) = unused(*looks(), *blocks)
    assert finding.message.startswith("`net.blocks.0.norm` (2 parameters, 1,392 values), like 2 other parts, runs")
    assert (finding.severity, finding.where.line) == ("warning", 17)


def test_a_parameter_that_no_line_uses() -> None:
    made = place(11, code="self.scale = nn.Parameter(torch.ones(4))")
    (finding,) = unused(*looks(), part("never read", made, part="net.scale", parameters=1, elements=4))
    assert finding.fix == "Use `self.scale` in `forward`, or remove the line that makes it at train.py:11."


def test_what_may_run_another_time_is_silent() -> None:
    assert not unused(*looks(), part("unknown", Place()))
    assert not unused(*looks(), DETACH)
    assert not unused(*looks(2), part("never read", place(11)))
    assert not unused(*looks(), part("never read", place(11)), ledger(ledger_row("net.encoder.0.bias"), step=9))
