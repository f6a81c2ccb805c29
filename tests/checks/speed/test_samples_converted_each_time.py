"""Tensors that are made again at every access."""

from __future__ import annotations

import pytest

from tests.checks.data.looks import loader
from tests.checks.speed.loads import lines, times, waiting
from torch_debugger.checks.speed.dataset_getitem import conversion_in
from torch_debugger.records import Finding, HeldData, LoadingLines, LoadingTime

ROWS = HeldData("rows", "list", 80, "list")
CODE = "return torch.tensor(self.rows[index], dtype=torch.float32), self.labels[index]"


def check(
    seen: LoadingLines | None = None, time: LoadingTime | None = None, holds: tuple[HeldData, ...] = (ROWS,)
) -> list[Finding]:
    seen = seen or lines([(CODE, 0.24)])
    return waiting("samples-converted-each-time", time, loader(holds=holds), seen=seen)


def test_a_list_of_lists() -> None:
    [finding] = check()
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
    [finding] = check(seen, holds=(ROWS, labels))
    assert "rows[i])` at train.py:30 and `y = torch.tensor(self.labels[i])` at train.py:31" in finding.message
    assert "make a tensor anew" in finding.message
    assert finding.where.line == 30


def test_what_is_converted_must_be_held() -> None:
    assert not check(holds=())
    assert not check(holds=(HeldData("rows", "Tensor", 80, "", 64),))
    assert not check(holds=(HeldData("rows", "list", 80, "str"),))  # paths
    assert not check(lines([("return torch.tensor(load(self.rows[index]))", 0.24)]))


def test_it_must_matter() -> None:
    assert not check(lines([(CODE, 0.08)]))  # of 0.3 s
    assert not check(time=times(0.0049, 0.008))
    assert not check(time=times(0.0051, 0.06))
    [finding] = check(time=times(0.01, 0.06))
    assert finding.severity == "note"


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
    [
        "return self.rows[i]",
        "x = torch.tensor(rows[i])",
        "torch.zeros(3)",
        "torch.tensor(",
        "torch.tensor()",
        None,
    ],
)
def test_what_is_none(code: str | None) -> None:
    assert conversion_in(code, frozenset({"rows"})) is None
