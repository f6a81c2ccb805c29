from __future__ import annotations

import pytest

from tests.checks.data.looks import given, target
from tests.fakes import judged, losses, model
from torch_debugger.checks.call_edits import only_argument
from torch_debugger.records import Finding, InputLook

NET = model({"net": "Net", "net.0": "Linear"}, {"net.0.weight": (4, 12), "net.0.bias": (4,)})
BYTES = {"kind": "Conv2d", "shape": (8, 3, 16, 16), "minimum": 0.0, "maximum": 255.0, "mean": 120.0, "std": 57.0}
TABLE = {"minimum": 1.0, "maximum": 19710.0, "mean": 3000.0, "std": 6000.0, "column_rms": 11970.0}


def check(name: str, *looks: InputLook) -> list[Finding]:
    return judged([NET, *losses([1.0] * 30), *looks], name)


def test_images_as_bytes() -> None:
    [finding] = check("image-range-0-255", *(given(step, column=-1, **BYTES) for step in (1, 2, 3)))
    assert finding.severity == "warning"
    assert finding.message == (
        "`net.0` (Conv2d) is given images with values up to 255 (mean 120, std 57) by the call at train.py:24."
    )
    assert finding.edit is not None and finding.edit.after == "loss = criterion(net(x / 255), y)"


def test_a_run_that_learns_all_the_same_gets_a_note() -> None:
    looks = [given(step, **TABLE) for step in (1, 2, 3)]
    falling = losses([1.0 / (1 + step) for step in range(30)])
    assert [finding.severity for finding in judged([NET, *falling, *looks], "input-not-normalized")] == ["note"]
    classes = [target(step) for step in (1, 2, 3)]
    [finding] = judged([NET, *losses([30.0] + [0.7] * 30), *looks, *classes], "input-not-normalized")
    assert finding.severity == "warning"  # no better than a guess between two classes


def test_a_table_in_raw_units() -> None:
    [finding] = check("input-not-normalized", *(given(step, **TABLE) for step in (1, 2, 3)))
    assert finding.message == (
        "`net.0` (Linear) is given raw numbers between 1 and 1.971e+04 by the call at train.py:24: column 3 "
        "has a root mean square of 1.197e+04."
    )
    assert finding.fix.startswith("Standardize before the model is called at train.py:24: `x = (x - mean) / std`")


@pytest.mark.parametrize("name", ["image-range-0-255", "input-not-normalized"])
@pytest.mark.parametrize(
    "looks",
    [
        [given(step) for step in (1, 2, 3, 4)],
        [given(step, **TABLE) for step in (1, 1, 1)],
        [given(1, **TABLE), given(2, **TABLE), given(3), given(4, **TABLE)],
        [given(step, kind="Embedding", **TABLE) for step in (1, 2, 3)],
        [given(step, layer="net.9", **TABLE) for step in (1, 2, 3)],
    ],
    ids=["unit size", "one step", "not always", "indices", "frozen or unknown"],
)
def test_silence(name: str, looks: list[InputLook]) -> None:
    assert not check(name, *looks)


def test_bytes_are_told_by_one_check_only() -> None:
    assert not check("input-not-normalized", *(given(step, column=-1, **BYTES) for step in (1, 2, 3)))


@pytest.mark.parametrize(
    ("code", "argument"),
    [
        ("out = net(x)", "x"),
        ("loss = F.mse_loss(self.net(batch['x']), y)", "batch['x']"),
        ("net(a) + net(b)", None),
        ("for x in", None),
        (None, None),
    ],
)
def test_the_argument_of_a_model(code: str | None, argument: str | None) -> None:
    assert only_argument(code, "net") == argument
