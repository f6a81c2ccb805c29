"""Classes that only validation has."""

from __future__ import annotations

from tests.checks.data.looks import batch, loader, target
from tests.fakes import judged
from torch_debugger.records import Finding, Record

KNOWN = (0, 1, 2, 3) * 2


def check(
    unseen: tuple[int, ...], *, batches: int = 10, classifies: bool = True, name: str = "val_loader"
) -> list[Finding]:
    looks: list[Record] = [loader(1), loader(2, name, shuffle=False)]
    looks += [target(1)] if classifies else []
    looks += [batch(range(8), KNOWN, step=index + 1, index=index) for index in range(batches)]
    looks += [batch(range(8), unseen, step=11, index=index, loader=2, trained=False) for index in range(3)]
    return judged(looks, "validation-classes-unseen")


def test_data_cut_in_two_without_shuffling() -> None:
    [finding] = check((4,) * 8)
    assert finding.severity == "warning"
    assert finding.message == (
        "16 of the 16 labels seen from `val_loader` at train.py:12 are classes that `train_loader` at "
        "train.py:11 never has: 4."
    )


def test_silence() -> None:
    assert not check(KNOWN)
    assert not check((4, *KNOWN[1:]))
    assert not check((4,) * 8, batches=6)  # not yet a whole pass of training
    assert not check((4,) * 8, classifies=False)
    assert not check((4,) * 8, name="probe_loader")
