"""parameter-replaced, data-write-before-backward and frozen-at-random, from records."""

from __future__ import annotations

from dataclasses import replace

from tests.fakes import judged, only, place
from torch_debugger.records import (
    CheckpointLoad,
    DataWritten,
    Edit,
    Finding,
    FrozenAtRandom,
    Place,
    ReplacedParameter,
    UntiedWeights,
)

LINE = place(18, code="head.weight = nn.Parameter(F.normalize(head.weight.detach()))")
REPLACED = ReplacedParameter("net", "net.head.weight", 128, False, 2, LINE, step=3)
WRITE = place(16, code="layer.weight.data.clamp_(-0.1, 0.1)")
WRITTEN = DataWritten("net.fc.weight", 640, True, 0.25, WRITE, place(18), step=1)
FROZEN = FrozenAtRandom(
    root="net", parts=("net.backbone",), elements=2048, of=2244, layers=2, drawn="uniform(-0.177, 0.177)",
    spread=0.1017, expected=0.1021, place=place(12, code="p.requires_grad = False"), loading=Place(), step=1,
)  # fmt: skip
LOADING = place(10, code="net.load_state_dict(torch.load(path))")


def test_a_parameter_that_is_replaced_between_steps_gets_a_write_as_edit() -> None:
    (finding,) = judged([replace(REPLACED, looks=1, step=2), REPLACED], "parameter-replaced")
    assert "the optimizer still holds the first one" in finding.message
    assert finding.edit is not None
    assert finding.edit.after == ("with torch.no_grad():\n    head.weight.copy_(F.normalize(head.weight.detach()))")


def test_where_the_new_one_gets_no_gradient_and_once_is_not_enough() -> None:
    # between forward and backward the new one gets no gradient
    (finding,) = judged([replace(REPLACED, in_step=True)], "parameter-replaced")
    assert "the new one gets no gradient" in finding.message
    assert finding.edit is None
    assert not judged([replace(REPLACED, looks=1)], "parameter-replaced"), "once replaced is another checks matter"


def test_a_write_through_data_that_two_steps_agree_on() -> None:
    (finding,) = judged([WRITTEN, replace(WRITTEN, step=2, change=0.5)], "data-write-before-backward")
    assert finding.message == (
        "`layer.weight.data.clamp_(-0.1, 0.1)` at train.py:16 writes `net.fc.weight` between the forward and "
        "the backward() at train.py:18, which changes the norm by up to 50 %: the gradients belong to other "
        "values than the loss."
    )
    assert finding.severity == "error"


def test_two_tensors_of_one_step_are_one_look_and_small_changes_a_warning() -> None:
    other = replace(WRITTEN, name="net.fc.bias")
    assert not judged([WRITTEN, other], "data-write-before-backward")
    small = [replace(each, change=1e-4, step=step) for step in (1, 2) for each in (WRITTEN, other)]
    (finding,) = judged(small, "data-write-before-backward")
    assert finding.severity == "warning"
    assert "and 1 more" in finding.message


def test_frozen_random_layers_are_a_note() -> None:
    (finding,) = judged([FROZEN], "frozen-at-random")
    assert finding.severity == "note"
    assert finding.message == (
        "Frozen with the random values of its initialization: `net.backbone`, 2,048 of 2,244 values of `net`; "
        "nobody has loaded or trained it."
    )


def test_a_line_that_should_have_loaded_frozen_layers_makes_it_a_warning() -> None:
    # with a line that should have loaded them a warning
    (finding,) = judged([replace(FROZEN, loading=LOADING)], "frozen-at-random")
    assert finding.severity == "warning"
    assert "`net.load_state_dict(torch.load(path))` at train.py:10 has loaded nothing into it" in finding.message
    # where something was loaded it stays a note
    load = CheckpointLoad("Net", LOADING, 6, 6, 0, (), (), "fc", "", Place(), 0)
    assert only(judged([load, replace(FROZEN, loading=LOADING)], "frozen-at-random")).severity == "note"
    assert not judged([replace(FROZEN, elements=300)], "frozen-at-random"), "a small frozen part may be anything"


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
        "`self.head.weight = nn.Parameter(self.embed.weight.clone())` at train.py:12 copies values and shares nothing."
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
