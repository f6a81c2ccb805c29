"""parameter-replaced, data-write-before-backward and frozen-at-random, from records."""

from __future__ import annotations

from dataclasses import replace

from tests.fakes import judged, place
from torch_debugger.records import CheckpointLoad, DataWritten, FrozenAtRandom, Place, ReplacedParameter

LINE = place(18, code="head.weight = nn.Parameter(F.normalize(head.weight.detach()))")
REPLACED = ReplacedParameter("net", "net.head.weight", 128, False, 2, LINE, step=3)
WRITE = place(16, code="layer.weight.data.clamp_(-0.1, 0.1)")
WRITTEN = DataWritten("net.fc.weight", 640, True, 0.25, WRITE, place(18), step=1)
FROZEN = FrozenAtRandom(
    root="net",
    parts=("net.backbone",),
    elements=2048,
    of=2244,
    layers=2,
    drawn="uniform(-0.177, 0.177)",
    spread=0.1017,
    expected=0.1021,
    place=place(12, code="p.requires_grad = False"),
    loading=Place(),
    step=1,
)
LOADING = place(10, code="net.load_state_dict(torch.load(path))")


def test_a_parameter_that_is_replaced_between_steps_gets_a_write_as_edit() -> None:
    (finding,) = judged([replace(REPLACED, looks=1, step=2), REPLACED], "parameter-replaced")
    assert "the optimizer still holds the first one" in finding.message
    assert finding.edit is not None
    assert finding.edit.after == ("with torch.no_grad():\n    head.weight.copy_(F.normalize(head.weight.detach()))")


def test_between_forward_and_backward_the_new_one_gets_no_gradient() -> None:
    (finding,) = judged([replace(REPLACED, in_step=True)], "parameter-replaced")
    assert "the new one gets no gradient" in finding.message
    assert finding.edit is None


def test_once_replaced_is_another_checks_matter() -> None:
    assert not judged([replace(REPLACED, looks=1)], "parameter-replaced")


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


def test_with_a_line_that_should_have_loaded_them_a_warning() -> None:
    (finding,) = judged([replace(FROZEN, loading=LOADING)], "frozen-at-random")
    assert finding.severity == "warning"
    assert "`net.load_state_dict(torch.load(path))` at train.py:10 has loaded nothing into it" in finding.message


def test_where_something_was_loaded_it_stays_a_note() -> None:
    load = CheckpointLoad("Net", LOADING, 6, 6, 0, (), (), "fc", "", Place(), 0)
    (finding,) = judged([load, replace(FROZEN, loading=LOADING)], "frozen-at-random")
    assert finding.severity == "note"


def test_a_small_frozen_part_may_be_anything() -> None:
    assert not judged([replace(FROZEN, elements=300)], "frozen-at-random")
