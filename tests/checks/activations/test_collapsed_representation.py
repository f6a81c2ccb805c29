from __future__ import annotations

from tests.fakes import judged, losses, place
from torch_debugger.records import Finding, LossGraph, Record, SampleSpread

FLOOR = losses([1.0 * 0.9**step for step in range(120)])
COSINE = losses([-0.1 - 0.9 * min(1.0, step / 50) for step in range(120)])
GRAPH = LossGraph("loss", place(23), 1.0, (), (), 1, made=place(20, code="loss = F.mse_loss(z1, z2)"))


def looks(*values: float, names: tuple[str, ...] = ("z1", "z2"), directions: bool = False) -> list[Record]:
    found: list[Record] = []
    for step, value in zip((1, 30, 100, 300), values, strict=True):
        turned, between = (value, 0.8) if directions else (0.8, value)
        found.append(SampleSpread(names, (turned,) * len(names), (between,) * len(names), step))
    return found


def check(*records: Record) -> list[Finding]:
    return judged([GRAPH, *records], "collapsed-representation")


def test_embeddings_that_shrink_to_nothing_while_the_loss_goes_to_zero() -> None:
    (finding,) = check(*FLOOR, *looks(0.3, 0.1, 0.02, 0.001))
    assert finding.message == (
        "All samples get the same embedding: the rows of `z1` and `z2` differ by 0.001 at step 300, by 0.3 at "
        "step 1, and the loss is at its floor."
    )
    assert "take `z2.detach()` as the target" in finding.fix
    assert (finding.severity, finding.where.line) == ("error", 20)


def test_one_direction_for_all_with_a_cosine_loss() -> None:
    (finding,) = check(*COSINE, *looks(0.8, 0.4, 0.1, 0.005, directions=True))
    assert "the rows of `z1` and `z2` differ in direction by 0.005 at step 300" in finding.message


def test_samples_that_differ_or_a_loss_that_does_not_fall_are_silent() -> None:
    assert not check(*FLOOR, *looks(0.8, 0.5, 0.4, 0.3))
    assert not check(*losses([1.0] * 120), *looks(0.3, 0.1, 0.02, 0.001))
    assert not check(*FLOOR, *looks(0.3, 0.1, 0.02, 0.001, names=("logits",))), "one tensor is no pair of views"
    assert not check(*FLOOR, *looks(0.3, 0.1, 0.02, 0.001)[:2]), "too early"
