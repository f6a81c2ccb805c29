"""NaN in the output of a model that nobody trains: what is said of it, and how sure it is."""

from __future__ import annotations

import dataclasses

from tests.fakes import judged, place
from torch_debugger.records import Finding, NonFinite, NonFiniteOutput, Operand, Origin, Record
from torch_debugger.records.codec import from_plain, to_plain

P = Operand("p", "float32", (64, 10), low=0.0, high=0.9, zeros=12, limit=3.4e38, elements=640)
LOG = Origin("forward", "net.head", "log", place(31, code="return torch.log(p)"), (P,), made="nan")


def output(origin: Origin | None = LOG, **others: object) -> NonFiniteOutput:
    fact = NonFinite(0, "output of `net`", "nan", place(40), origin, how="model")
    known = NonFiniteOutput("net", "Net", 3, 64, 64, True, False, fact)
    return dataclasses.replace(known, **others)  # type: ignore[arg-type]


def check(*records: Record) -> list[Finding]:
    return judged(records, "output-not-finite")


def test_the_op_its_line_and_the_edit() -> None:
    (finding,) = check(output(), output())
    assert (finding.severity, finding.confidence) == ("error", 0.97)
    assert finding.message.startswith("The output of `net` became nan: `torch.log(p)` in `net.head` at train.py:31")
    assert finding.why.startswith("Seen in call 3 of `net`, in evaluation mode; 64 of 64 samples of its output have")
    assert finding.edit is not None and (finding.where.line, finding.evidence["op"]) == (31, "log")


def test_rows_that_may_be_padding_make_it_a_warning() -> None:
    (finding,) = check(output(bad_rows=1, everywhere=False))
    assert finding.severity == "warning" and "1 of 64 samples of its output has NaN" in finding.why


def test_weights_that_were_loaded_so() -> None:
    (finding,) = check(output(Origin("weights", "net.fc", None, given="net.fc.weight")))
    assert finding.message == "The output of `net` became nan: `net.fc.weight` is not finite."
    assert "loaded" in finding.why and "--on-nan" not in finding.fix


def test_seen_too_late_it_claims_no_op() -> None:
    late = output(None, bad_rows=0, rows=0, everywhere=False)
    (finding,) = check(dataclasses.replace(late, fact=dataclasses.replace(late.fact, how="late")))
    assert (finding.confidence, finding.evidence["op"]) == (0.7, "unknown")
    assert finding.message == "The output of `net` became nan in its call 3."


def test_the_record_survives_the_log() -> None:
    restored = from_plain("NonFiniteOutput", to_plain(output()))
    assert restored is not None and check(restored) == check(output())
