"""Axes mixed up or taken for time, answers among the questions, validation on another scale."""

from __future__ import annotations

from tests.checks.data.looks import batch, given, loader, target
from tests.fakes import findings_of, judged, only, place
from torch_debugger.records import (
    AxesLook,
    Finding,
    FutureLook,
    ModelFact,
    ModuleFact,
    Record,
    RootInput,
    SequenceInput,
)

LSTM = place(9, code="self.lstm = nn.LSTM(3, 40)")
NET = ModelFact("net", "Net", place(5), (ModuleFact("net.lstm", "LSTM", LSTM),), (), 1)


def sequence(step: int, shape: tuple[int, ...], fed: tuple[int, ...] | None = None) -> SequenceInput:
    return SequenceInput("net.lstm", "LSTM", shape, fed or shape, place(14), step)


def timed(shape: tuple[int, ...], targets: tuple[int, ...], fed: tuple[int, ...] | None = None) -> list[Finding]:
    records: list[Record] = [NET]
    for step in (1, 2):
        records += [sequence(step, shape, fed), target(step, shape=targets)]
    return judged(records, "batch-axis-taken-for-time")


def test_a_recurrent_layer_runs_over_the_batch() -> None:
    [finding] = timed((32, 25, 3), (32,))
    assert finding.message == (
        "`net.lstm` (LSTM) is given [32, 25, 3] at train.py:14 and takes the first axis for time, but that is "
        "the batch: it runs over the 32 samples as if they were steps."
    )
    assert finding.edit is not None and finding.edit.after == "self.lstm = nn.LSTM(3, 40, batch_first=True)"


def test_time_first_is_as_it_should_be() -> None:
    assert not timed((25, 32, 3), (32,), fed=(32, 25, 3))
    assert not timed((25, 32, 3), (25, 32))
    assert not timed((50, 1, 3), (50,))
    assert not timed((32, 32, 3), (32,))


def test_the_loader_knows_the_batch_where_each_step_has_a_target() -> None:
    looks: list[Record] = [NET, loader(batch_size=32), batch(range(8))]
    for step in (1, 2):
        looks += [sequence(step, (32, 25, 3)), target(step, shape=(800, 4))]
    assert judged(looks, "batch-axis-taken-for-time")
    assert not judged([NET, *looks[3:]], "batch-axis-taken-for-time")


def future(step: int, seeing: int) -> FutureLook:
    return FutureLook("gpt.tok", 16, 2, seeing, place(38, code="x = self.blocks(x)"), step)


def test_attention_without_a_mask_sees_the_answer() -> None:
    [finding] = judged([future(1, 2), future(2, 2)], "target-leakage")
    assert finding.message == (
        "The attention at train.py:38 lets each of the 16 places of `gpt.tok` see the next one, and the next "
        "token is what the loss asks for: no causal mask is in effect."
    )
    assert "is_causal=True" in finding.fix


def test_a_recurrent_layer_that_also_reads_backwards() -> None:
    looks = [FutureLook("lm.emb", 20, 1, 1, place(20), step, "lm.lstm") for step in (1, 2)]
    [finding] = judged(looks, "target-leakage")
    assert finding.message == (
        "`lm.lstm` at train.py:20 lets each of the 20 places of `lm.emb` see the next one, and the next token "
        "is what the loss asks for: it reads them backwards as well."
    )
    assert "without `bidirectional=True`" in finding.fix


def test_attention_that_is_masked_sees_nothing() -> None:
    assert not judged([future(1, 0), future(2, 0)], "target-leakage")
    assert not judged([future(1, 2)], "target-leakage")


def axes(step: int, form: str, before: tuple[int, ...], after: tuple[int, ...]) -> AxesLook:
    return AxesLook("net.qkv", form, before, after, place(18, code="q = q.view(b, h, t, d)"), step)


def test_heads_are_split_off_in_the_wrong_order() -> None:
    looks = [axes(step, "heads split", (32, 12, 64), (32, 4, 12, 16)) for step in (1, 1, 2, 2)]
    [finding] = judged(looks, "reshape-instead-of-permute")
    assert finding.message == (
        "What `net.qkv` made, of shape [32, 12, 64], is read as [32, 4, 12, 16] at train.py:18: a view does "
        "not move axes, it mixes their contents."
    )
    assert ".view(32, 12, 4, 16).transpose(1, 2)" in finding.fix


def test_one_look_at_misread_axes_is_not_enough() -> None:
    assert not judged([axes(1, "exchanged", (8, 20, 3), (8, 3, 20))], "reshape-instead-of-permute")


VIEW = place(22, code="images = batch.view(-1, 3, 12, 12)")


def mixed_up(before: tuple[int, ...], after: tuple[int, ...], steps: tuple[int, ...] = (1, 2)) -> list[Finding]:
    looks = [given(step, kind="Conv2d", shape=after, viewed=before, viewed_at=VIEW) for step in steps]
    return judged(looks, "reshape-instead-of-permute")


def test_channels_moved_by_a_view() -> None:
    [finding] = mixed_up((40, 12, 12, 3), (40, 3, 12, 12))
    assert finding.message == (
        "`net.0` (Conv2d) is given a tensor of shape [40, 12, 12, 3] read as [40, 3, 12, 12] at train.py:22: "
        "view() does not move axes, it mixes their contents."
    )
    assert finding.edit is not None and finding.edit.after == "images = batch.permute(0, 3, 1, 2)"


def test_views_that_mix_nothing() -> None:
    assert not mixed_up((40, 12, 12, 1), (40, 1, 12, 12))
    assert not mixed_up((40, 144), (40, 1, 12, 12))
    assert not mixed_up((40, 3, 12, 12), (40, 3, 12, 12))
    assert not mixed_up((), (40, 3, 12, 12))
    assert not mixed_up((40, 12, 12, 3), (40, 3, 12, 12), steps=(1, 1))


def leaks(*columns: tuple[int, ...], width: int = 10, **others: object) -> list[Finding]:
    looks: list[Record] = []
    for step, copied in enumerate(columns, 1):
        looks += [given(step, shape=(8, width)), target(step, copied_to=copied, **others)]
    return judged(looks, "target-leakage")


def test_the_answer_is_a_column() -> None:
    assert only(leaks((9,), (2, 9), (9,))).message == (
        "Column 9 of the 10 that `net.0` is given at train.py:24 is the target itself: equal for all 24 "
        "samples of 3 steps."
    )


def test_columns_that_agree_by_chance() -> None:
    assert not leaks((9,), (), (9,), ())
    assert not leaks((1,), (2,), (3,))
    assert not leaks((9,), (9,), (9,), labels={"1": 8})
    assert not leaks((9,), (9,), (9,), shape=(4,))
    assert not leaks((0,), (0,), (0,), width=1)


def fed(step: int, std: float, trained: bool = True, code: str = "pred = net(x)", size: int = 12) -> RootInput:
    return RootInput("net", trained, (32, size), 0.0, std, place(40 if trained else 50, code=code), step)


TRAINED = [fed(step, 1.0 + 0.1 * step) for step in (1, 2, 3)]
scales = findings_of("validation-scale-differs", loader(2, "val_loader"), *TRAINED)


def test_validation_without_the_scaling_of_training() -> None:
    [finding] = scales(*(fed(step, 50.0, trained=False, code="pred = net(x_val)") for step in (10, 20, 30)))
    assert finding.severity == "error"
    assert finding.message == (
        "`net` is validated at train.py:50 on inputs with a deviation of 50, and trained at train.py:40 on "
        "inputs with 1.3: a factor of 38."
    )


def test_validation_is_known_by_its_loader() -> None:
    looks = [fed(step, 50.0, trained=False) for step in (10, 20, 30)]
    assert not scales(*looks)
    batches = [batch(range(8), step=step, loader=2, trained=False) for step in (10, 20, 30)]
    assert scales(*looks, *batches)


def test_the_same_scale_or_another_shape() -> None:
    code = "pred = net(x_val)"
    assert not scales(*(fed(step, 3.0, trained=False, code=code) for step in (10, 20, 30)))
    assert not scales(*(fed(step, 50.0, trained=False, code=code, size=7) for step in (10, 20, 30)))
    assert not scales(*(fed(step, std, trained=False, code=code) for step, std in ((10, 50.0), (20, 1.0), (30, 50.0))))
