"""Tensors in memory that are taken apart and stacked again."""

from __future__ import annotations

import pytest

from tests.checks.data.looks import loader
from tests.checks.speed.loads import lines, times, waiting
from tests.fakes import place
from torch_debugger.checks.call_edits import over_whole_batches
from torch_debugger.records import Finding, HeldData, LoaderFact, LoadingLines

HOLDS = (HeldData("tensors[0]", "Tensor", 80, "", 64), HeldData("tensors[1]", "Tensor", 80, "", 8))


def check(seen: LoadingLines | None = None, **others: object) -> list[Finding]:
    fact = loader(**{"holds": HOLDS, **others})  # type: ignore[arg-type]
    seen = seen if seen is not None else lines([])
    return waiting("batches-taken-one-sample-at-a-time", times(0.03, 0.05), fact, seen=seen)


def test_a_tensor_dataset() -> None:
    [finding] = check()
    assert finding.severity == "warning"
    assert finding.message == (
        "The training waits 30 of the 50 ms that a batch takes (60%) for data that is in memory: "
        "`train_loader` at train.py:11 takes 8 samples one at a time out of the tensors of `TensorDataset` and "
        "stacks them again."
    )
    assert "A batch should take about 24.5 ms instead of 50 ms, 51% less." in finding.fix
    assert finding.edit is not None
    assert finding.edit.after == (
        "train_loader = DataLoader(data, batch_size=None, sampler=torch.utils.data.BatchSampler("
        "torch.utils.data.RandomSampler(data), 8, drop_last=False))"
    )
    assert finding.evidence["expected_gain"] == pytest.approx(0.51, abs=0.001)


def test_a_dataset_of_ones_own() -> None:
    assert check(lines([("return self.x[i], self.y[i]", 0.1)]))
    assert not check(lines([("return augment(self.x[i]), self.y[i]", 0.1)]))
    assert check(lines([("return self.x[i], self.y[i]", 0.1), ("return len(self.x)", 0.001)]))


def test_large_samples_are_copied_either_way() -> None:
    assert not check(holds=(HeldData("images", "Tensor", 80, "", 8_000_000),))


@pytest.mark.parametrize(
    "others",
    [
        {"workers": 2},
        {"iterable": True},
        {"collates": False},
        {"batch_size": None},
        {"holds": ()},
        {"holds": (HeldData("rows", "list", 80, "float"),)},
    ],
)
def test_what_is_judged_elsewhere(others: dict[str, object]) -> None:
    assert not check(**others)  # type: ignore[arg-type]


def test_too_few_batches_were_looked_at() -> None:
    assert not check(lines([], looks=2))


@pytest.mark.parametrize(
    ("code", "shuffle", "after"),
    [
        (
            "DataLoader(d, 64)",
            False,
            "BatchSampler(torch.utils.data.SequentialSampler(d), 64, drop_last=False))",
        ),
        ("DataLoader(d, 64, True, drop_last=True)", True, "RandomSampler(d), 64, drop_last=True))"),
        ("DataLoader(Data(), 64)", True, None),
        ("DataLoader(d, 64, num_workers=2)", True, None),
        ("DataLoader(d, **options)", True, None),
        ("DataLoader(d, 64)", None, None),
    ],
)
def test_the_edit(code: str, shuffle: bool | None, after: str | None) -> None:
    edit = over_whole_batches(place(code=code), shuffle)
    assert (edit is None) == (after is None)
    assert edit is None or edit.after.endswith(after or "")


def test_fact_of_another_kind() -> None:
    fact: LoaderFact = loader(holds=HOLDS)
    assert not waiting("batches-taken-one-sample-at-a-time", times(0.01, 0.05), fact, seen=lines([]))
