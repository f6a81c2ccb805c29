from __future__ import annotations

import dataclasses

from tests.fakes import judged, place
from torch_debugger.records import MultipliedMask

NAME = "mask-multiplied-into-scores"


def looks(count: int = 3, **others: object) -> list[MultipliedMask]:
    usual = MultipliedMask((32, 4, 16, 16), True, 0.47, False, place(27), 1)
    return [dataclasses.replace(usual, step=step, **others) for step in range(1, count + 1)]  # type: ignore[arg-type]


def test_a_mask_of_zeros_and_ones_in_front_of_a_softmax() -> None:
    (finding,) = judged(looks(), NAME)
    assert finding.message == (
        "The scores of a softmax at train.py:27 are multiplied with a mask of zeros and ones: 47% of them "
        "become 0, which a softmax does not leave out."
    )
    assert (finding.severity, finding.where.line, finding.last_step) == ("error", 27, 3)


def test_scales_and_masks_that_are_used_again_are_silent() -> None:
    assert not judged(looks(binary=False), NAME)
    assert not judged(looks(again=True), NAME)
    assert not judged(looks(1), NAME)
