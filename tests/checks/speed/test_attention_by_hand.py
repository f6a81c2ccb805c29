from __future__ import annotations

import dataclasses

import pytest

from tests.checks.speed.sampled_loops import speed_settings
from tests.fakes import cost, judged, place
from torch_debugger.records import AttentionByHand, Finding, MemoryLook
from torch_debugger.records.performance import ACTIVATIONS, AFTER_UPDATE, BEFORE_BACKWARD, PARAMETERS, WATCHER

MIB = 2**20
SEEN = AttentionByHand(
    shape=(8, 4, 512, 512),
    count=3,
    has_dropout=False,
    kept_bytes=96 * MIB,
    names=("q", "k", "v"),
    place=place(19, code="weights = scores.softmax(dim=-1)"),
    step=3,
)


def in_use(size: int, moment: str = BEFORE_BACKWARD, whole: bool = True) -> MemoryLook:
    parts = {PARAMETERS: 10 * MIB, ACTIVATIONS: size - 10 * MIB, WATCHER: 50 * MIB}
    return MemoryLook(3, "cpu", moment, parts, whole=whole)


def check(seen: AttentionByHand = SEEN, look: MemoryLook | None = None, device: str = "cpu") -> list[Finding]:
    records = [speed_settings(device), seen, look or in_use(240 * MIB), cost()]
    return judged(records, "attention-by-hand")


def test_the_bytes_and_the_call_are_told() -> None:
    (finding,) = check()
    assert finding.severity == "warning"
    assert finding.message == (
        "Attention is computed by hand, with weights for 512 x 512 pairs of places in a tensor of "
        "[8, 4, 512, 512]: 3 such squares are kept for the backward, 101 MB or 40 % of all memory in use by "
        "then."
    )
    assert finding.fix == (
        "Write `F.scaled_dot_product_attention(q, k, v)` in place of the two products and the softmax (with "
        "`attn_mask=` or `is_causal=True` for a mask; it divides by the root of the last dim itself, `scale=` "
        "sets another factor). It computes the same block by block and keeps none of them. Expected to save "
        "101 MB, 40 % of the memory in use before the backward."
    )
    assert finding.where.line == 19
    assert finding.evidence["expected_gain"] == pytest.approx(0.4)


def test_names_that_are_not_known_are_described() -> None:
    (finding,) = check(dataclasses.replace(SEEN, names=("q", "", "v"), count=1))
    assert "scaled_dot_product_attention(queries, keys, values)" in finding.fix
    assert ": it is kept for the backward" in finding.message


def test_a_small_part_of_the_memory_is_a_note_and_a_tiny_one_nothing() -> None:
    (finding,) = check(look=in_use(481 * MIB))
    assert finding.severity == "note"
    assert check(look=in_use(96 * 20 * MIB))
    assert not check(look=in_use(96 * 20 * MIB + MIB))


def test_a_few_bytes_are_silent() -> None:
    assert check(dataclasses.replace(SEEN, kept_bytes=16 * MIB), in_use(40 * MIB))
    assert not check(dataclasses.replace(SEEN, kept_bytes=16 * MIB - 1), in_use(40 * MIB))


def test_dropout_on_the_cpu_has_no_kernel() -> None:
    dropped = dataclasses.replace(SEEN, has_dropout=True)
    assert not check(dropped)
    (finding,) = check(dropped, device="cuda")
    assert "dropout_p=... while training" in finding.fix


def test_without_a_whole_look_at_the_memory_nothing_is_said() -> None:
    assert not check(look=in_use(240 * MIB, AFTER_UPDATE))
    assert not check(look=in_use(240 * MIB, whole=False))
    assert not judged([SEEN, in_use(240 * MIB), cost()], "attention-by-hand")
