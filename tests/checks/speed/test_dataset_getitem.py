from __future__ import annotations

import pytest

from tests.checks.data.looks import loader
from tests.checks.speed.loads import lines, times, waiting
from tests.fakes import only, place
from torch_debugger.checks.call_edits import over_whole_batches
from torch_debugger.checks.speed.dataset_getitem import conversion_in
from torch_debugger.records import Finding, HeldData, LoaderFact, LoadingLines, LoadingTime

HOLDS = (HeldData("tensors[0]", "Tensor", 80, "", 64), HeldData("tensors[1]", "Tensor", 80, "", 8))


def one_by_one(seen: LoadingLines | None = None, **others: object) -> list[Finding]:
    fact = loader(**{"holds": HOLDS, **others})  # type: ignore[arg-type]
    seen = seen if seen is not None else lines([])
    return waiting("batches-taken-one-sample-at-a-time", times(0.03, 0.05), fact, seen=seen)


def test_a_tensor_dataset() -> None:
    [finding] = one_by_one()
    assert finding.severity == "warning"
    assert finding.message == (
        "The training waits 30 of the 50 ms that a batch takes (60%) for data that is in memory: `train_loader` at "
        "train.py:11 takes 8 samples one at a time out of the tensors of `TensorDataset` and stacks them again."
    )
    assert "A batch should take about 24.5 ms instead of 50 ms, 51% less." in finding.fix
    assert finding.edit is not None
    assert finding.edit.after == (
        "train_loader = DataLoader(data, batch_size=None, sampler=torch.utils.data.BatchSampler("
        "torch.utils.data.RandomSampler(data), 8, drop_last=False))"
    )
    assert finding.evidence["expected_gain"] == pytest.approx(0.51, abs=0.001)


def test_a_dataset_of_ones_own() -> None:
    assert one_by_one(lines([("return self.x[i], self.y[i]", 0.1)]))
    assert not one_by_one(lines([("return augment(self.x[i]), self.y[i]", 0.1)]))
    assert one_by_one(lines([("return self.x[i], self.y[i]", 0.1), ("return len(self.x)", 0.001)]))


def test_samples_that_are_large_or_few_are_silent() -> None:
    # large samples are copied either way
    assert not one_by_one(holds=(HeldData("images", "Tensor", 80, "", 8_000_000),))
    assert not one_by_one(lines([], looks=2)), "too few batches were looked at"


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
    assert not one_by_one(**others)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("code", "shuffle", "after"),
    [
        ("DataLoader(d, 64)", False, "BatchSampler(torch.utils.data.SequentialSampler(d), 64, drop_last=False))"),
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


ROWS = HeldData("rows", "list", 80, "list")
CODE = "return torch.tensor(self.rows[index], dtype=torch.float32), self.labels[index]"


def converted(
    seen: LoadingLines | None = None, time: LoadingTime | None = None, holds: tuple[HeldData, ...] = (ROWS,)
) -> list[Finding]:
    seen = seen or lines([(CODE, 0.24)])
    return waiting("samples-converted-each-time", time, loader(holds=holds), seen=seen)


def test_a_list_of_lists() -> None:
    [finding] = converted()
    assert finding.severity == "warning"
    assert finding.message == (
        f"`{CODE}` at train.py:30 makes a tensor anew whenever a sample is asked for: 24 ms of the 50 ms that "
        "a batch takes (48%). `self.rows` is a list of 80 entries in memory, the same in every epoch."
    )
    assert finding.fix == (
        "Convert once, at the end of `__init__`: `self.rows = [torch.tensor(entry, dtype=torch.float32) for "
        "entry in self.rows]`. Here, write `self.rows[...]` instead of `torch.tensor(self.rows[index], "
        "dtype=torch.float32)`. Expected: 24 ms less for each batch, 48% of the time."
    )
    assert finding.evidence["expected_gain"] == pytest.approx(0.48, abs=0.001)


def test_two_lines_are_one_finding() -> None:
    labels = HeldData("labels", "ndarray", 80, "", 8)
    seen = lines([("x = torch.tensor(self.rows[i])", 0.1), ("y = torch.tensor(self.labels[i])", 0.05)])
    [finding] = converted(seen, holds=(ROWS, labels))
    assert "rows[i])` at train.py:30 and `y = torch.tensor(self.labels[i])` at train.py:31" in finding.message
    assert "make a tensor anew" in finding.message
    assert finding.where.line == 30


def test_what_is_converted_must_be_held() -> None:
    assert not converted(holds=())
    assert not converted(holds=(HeldData("rows", "Tensor", 80, "", 64),))
    assert not converted(holds=(HeldData("rows", "list", 80, "str"),))  # paths
    assert not converted(lines([("return torch.tensor(load(self.rows[index]))", 0.24)]))


def test_it_must_matter() -> None:
    assert not converted(lines([(CODE, 0.08)]))  # of 0.3 s
    assert not converted(time=times(0.0049, 0.008))
    assert not converted(time=times(0.0051, 0.06))
    assert only(converted(time=times(0.01, 0.06))).severity == "note"


@pytest.mark.parametrize(
    ("code", "of_entry"),
    [
        ("return torch.tensor(self.rows[i])", "torch.tensor(entry)"),
        ("x = torch.from_numpy(np.array(self.rows[i]))", "torch.from_numpy(np.array(entry))"),
        ("y = torch.tensor([self.rows[i]])", "torch.tensor([entry])"),
        ("x = torch.from_numpy(self.rows[i].astype('float32'))", "torch.from_numpy(entry.astype('float32'))"),
        ("x = torch.FloatTensor(self.rows[i]) / 255", "torch.FloatTensor(entry)"),
    ],
)
def test_forms_of_a_conversion(code: str, of_entry: str) -> None:
    found = conversion_in(code, frozenset({"rows"}))
    assert found is not None
    assert (found.attribute, found.of_entry) == ("rows", of_entry)


@pytest.mark.parametrize(
    "code",
    ["return self.rows[i]", "x = torch.tensor(rows[i])", "torch.zeros(3)", "torch.tensor(", "torch.tensor()", None],
)
def test_what_is_none(code: str | None) -> None:
    assert conversion_in(code, frozenset({"rows"})) is None


SEEN = lines([("x = self.transform(x)", 0.28), ("return blur(x)", 0.27), ("return y", 0.01)])


def slow_line(
    time: LoadingTime | None = None, seen: LoadingLines | None = SEEN, fact: LoaderFact | None = None, cores: int = 2
) -> list[Finding]:
    return waiting("slow-sample-line", time or times(0.08, 0.09), fact, cores, seen)


def test_the_innermost_line_is_named() -> None:
    [finding] = slow_line()
    assert finding.severity == "note", "the line may have to be there"
    assert finding.message == (
        "The training waits 80 of the 90 ms that a batch takes (89%) for data, 90% of it in `return blur(x)` "
        "at train.py:31: 72 ms a batch, 9 ms a sample."
    )
    assert finding.where.line == 31
    assert "Workers alone would not hide it on the 2 cores: a batch would still take about 46 ms" in finding.why
    assert "Without it a batch would take about 18 ms instead of 90 ms, 80% less." in finding.fix
    assert finding.evidence["expected_gain"] == pytest.approx(0.8)


def test_lines_that_workers_hide_or_that_do_not_stand_out_are_silent() -> None:
    # where workers can hide it another check names it
    assert not slow_line(cores=16)
    assert not slow_line(times(0.03, 0.06))
    # no line stands out
    assert not slow_line(seen=lines([("a()", 0.17), ("b()", 0.1)]))
    assert not slow_line(seen=lines([("a()", 0.3)], looks=2))
    assert not slow_line(seen=None)
    assert not slow_line(fact=loader(workers=2)), "workers load elsewhere"
