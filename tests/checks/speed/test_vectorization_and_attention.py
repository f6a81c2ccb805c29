from __future__ import annotations

import dataclasses

import pytest

from tests.checks.speed.sampled_loops import Library, Users, speed_settings, steps, training
from tests.fakes import cost, judged, only, place
from torch_debugger.records import AttentionByHand, Finding, MemoryLook, RowPasses, TakenRows
from torch_debugger.records.performance import ACTIVATIONS, AFTER_UPDATE, BEFORE_BACKWARD, PARAMETERS, WATCHER

HEADER = "for i in range(points.size(0)):"
PASSES = RowPasses(
    place=place(31, code=HEADER), last=34, taken=(TakenRows("points", (64, 12, 32), 0),), passes=64,
    sums_up=False, is_differentiated=True, step=40,
)  # fmt: skip
CALL = Users(12, "loss = criterion(model(x), y)")
INSIDE = Users(33, "pooled.append(weights @ points[i])", loops=(place(31, code=HEADER),))
LINEAR = Library("Linear.forward", "/lib/torch/nn/modules/linear.py")


def row_by_row(
    loop: RowPasses = PASSES, samples: int = 30, inside: Users = INSIDE, count: int = 200, **parts_s: float
) -> list[Finding]:
    records = training({(CALL, inside, LINEAR): samples}, count, **parts_s)
    return judged([loop, *records], "rows-computed-one-by-one")


def test_the_loop_its_rows_and_the_way_out_are_named() -> None:
    (finding,) = row_by_row()
    assert (finding.severity, finding.where.line) == ("warning", 31)
    assert finding.message == (
        "A Python loop over the 64 rows of `points` takes 6 ms of the 20 ms of each step: "
        "`for i in range(points.size(0)):` makes 64 passes, each with 384 numbers of `points`."
    )
    assert "and as much again in the backward" in finding.why
    assert finding.fix == (
        "Compute all passes at once: write the loop's body for the whole of `points`, without the loop; dims "
        "counted from the front move by one, and `.sum()` or `.mean()` of a row gets its dim, a product of two "
        "rows becomes `(a * b).sum(-1)` or `torch.einsum`, and what was collected and stacked is then the "
        "result as it is. Expected to save about 60 % of each step (12 ms)."
    )
    assert finding.evidence["expected_gain"] == pytest.approx(0.8 * (0.3 + 0.6 * 0.3 / 0.4))


def test_lines_below_the_loop_and_gradients_count() -> None:
    below = Users(70, "return torch.relu(x)", loops=())
    records = training({(CALL, INSIDE, below): 30})
    assert judged([PASSES, *records], "rows-computed-one-by-one"), "a line below the loop counts as the loop"
    # without gradients the backward is not counted
    (finding,) = row_by_row(dataclasses.replace(PASSES, is_differentiated=False))
    assert finding.evidence["expected_gain"] == pytest.approx(0.24)
    assert "backward" not in finding.why


def test_a_sum_over_passes_is_what_losses_give_themselves() -> None:
    taken = (TakenRows("out", (96, 24), 0), TakenRows("target", (96,), 0))
    (finding,) = row_by_row(dataclasses.replace(PASSES, taken=taken, passes=96, sums_up=True))
    assert "the whole of `out` and `target`" in finding.fix
    assert 'a loss with `reduction="sum"` gives the sum of all passes' in finding.fix


def test_another_dim_is_told() -> None:
    (finding,) = row_by_row(dataclasses.replace(PASSES, taken=(TakenRows("x", (8, 20, 4), 1),), passes=20))
    assert "over the 20 entries along dim 1 of `x`" in finding.message
    assert "move by one" not in finding.fix


def test_a_small_gain_is_a_note_and_a_tiny_one_nothing() -> None:
    apart = dataclasses.replace(PASSES, is_differentiated=False)
    assert only(row_by_row(apart, samples=15)).severity == "note"
    assert row_by_row(apart, samples=7)
    assert not row_by_row(apart, samples=6)


def test_a_handful_of_passes_large_rows_and_long_passes_are_silent() -> None:
    assert row_by_row(dataclasses.replace(PASSES, passes=16))
    assert not row_by_row(dataclasses.replace(PASSES, passes=15))
    assert not row_by_row(dataclasses.replace(PASSES, taken=(TakenRows("x", (64, 4097), 0),)))
    assert row_by_row(dataclasses.replace(PASSES, taken=(TakenRows("x", (64, 4096), 0),)))
    assert not row_by_row(dataclasses.replace(PASSES, passes=20), samples=50, forward=0.03, backward=0.02)
    assert row_by_row(dataclasses.replace(PASSES, passes=26), samples=50, forward=0.03, backward=0.02)


def test_a_loop_that_nobody_waits_for_and_the_time_of_other_lines_are_silent() -> None:
    # a loop that nobody waits for
    assert not row_by_row(samples=30, count=2000, forward=0.001, backward=0.002)
    assert row_by_row(samples=34, count=2000, forward=0.001, backward=0.002)
    # time of other lines is not the loops
    assert not row_by_row(inside=Users(40, "return self.head(pooled)", loops=()))
    assert not row_by_row(inside=dataclasses.replace(INSIDE, condition=30))
    # too few samples and too short runs
    assert not judged([PASSES, *steps(), cost()], "rows-computed-one-by-one")
    assert not row_by_row(count=9, forward=0.2, backward=0.2)


MIB = 2**20
SEEN = AttentionByHand(
    shape=(8, 4, 512, 512), count=3, has_dropout=False, kept_bytes=96 * MIB, names=("q", "k", "v"),
    place=place(19, code="weights = scores.softmax(dim=-1)"), step=3,
)  # fmt: skip


def in_use(size: int, moment: str = BEFORE_BACKWARD, whole: bool = True) -> MemoryLook:
    parts = {PARAMETERS: 10 * MIB, ACTIVATIONS: size - 10 * MIB, WATCHER: 50 * MIB}
    return MemoryLook(3, "cpu", moment, parts, whole=whole)


def by_hand(seen: AttentionByHand = SEEN, look: MemoryLook | None = None, device: str = "cpu") -> list[Finding]:
    records = [speed_settings(device), seen, look or in_use(240 * MIB), cost()]
    return judged(records, "attention-by-hand")


def test_the_bytes_and_the_call_are_told() -> None:
    (finding,) = by_hand()
    assert finding.message == (
        "Attention is computed by hand, with weights for 512 x 512 pairs of places in a tensor of [8, 4, 512, 512]: 3 "
        "such squares are kept for the backward, 101 MB or 40 % of all memory in use by then."
    )
    assert finding.fix == (
        "Write `F.scaled_dot_product_attention(q, k, v)` in place of the two products and the softmax (with "
        "`attn_mask=` or `is_causal=True` for a mask; it divides by the root of the last dim itself, `scale=` "
        "sets another factor). It computes the same block by block and keeps none of them. Expected to save "
        "101 MB, 40 % of the memory in use before the backward."
    )
    assert (finding.severity, finding.where.line) == ("warning", 19)
    assert finding.evidence["expected_gain"] == pytest.approx(0.4)


def test_names_that_are_not_known_are_described() -> None:
    (finding,) = by_hand(dataclasses.replace(SEEN, names=("q", "", "v"), count=1))
    assert "scaled_dot_product_attention(queries, keys, values)" in finding.fix
    assert ": it is kept for the backward" in finding.message


def test_a_small_part_of_the_memory_is_a_note_and_a_tiny_one_nothing() -> None:
    assert only(by_hand(look=in_use(481 * MIB))).severity == "note"
    assert by_hand(look=in_use(96 * 20 * MIB))
    assert not by_hand(look=in_use(96 * 20 * MIB + MIB))


def test_a_few_bytes_are_silent() -> None:
    assert by_hand(dataclasses.replace(SEEN, kept_bytes=16 * MIB), in_use(40 * MIB))
    assert not by_hand(dataclasses.replace(SEEN, kept_bytes=16 * MIB - 1), in_use(40 * MIB))


def test_dropout_on_the_cpu_has_no_kernel() -> None:
    dropped = dataclasses.replace(SEEN, has_dropout=True)
    assert not by_hand(dropped)
    assert "dropout_p=... while training" in only(by_hand(dropped, device="cuda")).fix


def test_without_a_whole_look_at_the_memory_nothing_is_said() -> None:
    assert not by_hand(look=in_use(240 * MIB, AFTER_UPDATE))
    assert not by_hand(look=in_use(240 * MIB, whole=False))
    assert not judged([SEEN, in_use(240 * MIB), cost()], "attention-by-hand")
