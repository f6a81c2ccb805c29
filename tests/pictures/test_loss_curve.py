"""A loss over the steps of a run."""

from __future__ import annotations

import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from tests.pictures.goldens import assert_as_looked_at
from torch_debugger import Run, SummaryWriter
from torch_debugger.pictures import loss_curve
from torch_debugger.pictures.loss_curves import smoothed
from torch_debugger.system.errors import UsageError


def falling(count: int = 400) -> Any:
    noise = np.random.RandomState(0).rand(count)
    return np.exp(-np.arange(count) / 60) * (3 + noise) + 0.01


def test_a_loss_that_goes_nan_is_as_it_was_looked_at() -> None:
    values = falling()
    values[300:310], values[350] = np.nan, np.inf
    found = [SimpleNamespace(first_step=300, name="loss-not-finite", severity="error")]
    found.append(SimpleNamespace(first_step=120, name="lr-too-high", severity="warning"))
    found.append(SimpleNamespace(first_step=5, name="a-note", severity="note"))
    run = SimpleNamespace(
        scalars=lambda tag: SimpleNamespace(steps=np.arange(400), values=values),
        tags={"scalars": ["loss"]}, loss_tag="loss", findings=found,
    )  # fmt: skip
    picture = loss_curve(run)
    assert picture.remarks == (
        "loss is NaN at 10 of 400 points, first at step 300.",
        "loss is Inf at 1 of 400 points, first at step 350.",
    )
    assert_as_looked_at(picture, "loss_curve")


def words(picture: Any) -> str:
    return str(picture.figure().get_supxlabel())


def test_a_run_of_ours_is_read(tmp_path: Path) -> None:
    writer = SummaryWriter(str(tmp_path))
    for step in range(50):
        writer.add_scalar("train/loss", 1 / (1 + step), 10 * step)
        writer.add_scalar("val/acc", 0.5, 10 * step)
    writer.close()
    picture = loss_curve(Run(tmp_path))
    assert picture.arrays["train/loss: steps"].tolist() == [10 * step for step in range(50)]
    assert np.allclose(picture.arrays["train/loss: values"], [1 / (1 + step) for step in range(50)])
    both = loss_curve(Run(tmp_path), ["train/loss", "val/acc"])
    assert len(both.arrays) == 4 and both.png(dpi=40)


def test_findings_are_marked_and_notes_are_not() -> None:
    found = [
        SimpleNamespace(first_step=3, name="dead-relu", severity="warning"),
        SimpleNamespace(first_step=1, name="small-note", severity="note"),
    ]
    run = SimpleNamespace(
        scalars=lambda tag: SimpleNamespace(steps=np.arange(9), values=np.ones(9)),
        loss_tag="loss",
        findings=found,
    )
    assert words(loss_curve(run)) == "1: dead-relu, warning since step 3."


def test_lists_tensors_pairs_and_dictionaries_are_curves() -> None:
    assert loss_curve([3.0, torch.tensor(2.0), 1]).arrays["loss: values"].tolist() == [3, 2, 1]
    assert loss_curve(torch.tensor([3.0, 1.0]), steps=[0, 100]).arrays["loss: steps"].tolist() == [0, 100]
    pairs = loss_curve({"val": [(10, 0.5), (20, 0.25)], "train": [1.0, 0.5, 0.25]})
    assert pairs.arrays["val: steps"].tolist() == [10, 20]


def test_losses_that_were_kept_with_their_graphs_are_read_without_a_warning() -> None:
    kept = [torch.tensor(value, requires_grad=True) for value in (3.0, 2.0)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert loss_curve(kept).arrays["loss: values"].tolist() == [3.0, 2.0]


@pytest.mark.parametrize(
    ("values", "scale"), [(falling(), "log"), (falling() + 1, "linear"), (falling() - 1, "linear")]
)
def test_the_axis_is_logarithmic_where_decades_are_spanned(values: Any, scale: str) -> None:
    (axes,) = loss_curve(values).figure().axes
    assert axes.get_yscale() == scale


def test_smoothing_moves_no_line() -> None:
    """The mean of both sides: a straight line stays itself, also at its ends, and NaN stays where it is."""
    straight = np.arange(100, dtype=float)
    assert np.allclose(smoothed(straight, 7), straight)
    short = np.arange(5, dtype=float)
    assert np.allclose(smoothed(short, 7), short)
    straight[40] = np.nan
    answer = smoothed(straight, 3)
    assert np.isnan(answer[40]) and np.isfinite(np.delete(answer, 40)).all()
    slow = [np.nanmean(straight[max(0, p - 3) : p + 4]) for p in range(10, 38)]
    assert np.allclose(answer[10:38], slow)


def test_a_run_that_began_again_draws_no_line_back() -> None:
    values = np.r_[falling(200), falling(150)]
    steps = np.r_[0:200, 100:250]
    (axes,) = loss_curve(values, steps=steps).figure().axes
    for line in axes.lines:
        assert (np.diff(line.get_xdata()) >= 0).all()


def test_nothing_but_nan_is_drawn() -> None:
    picture = loss_curve([float("nan")] * 3)
    assert picture.png(dpi=40)
    assert picture.remarks == ("loss is NaN at 3 of 3 points, first at step 0.",)


def test_what_cannot_be_drawn_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"not the path of one: loss_curve\(torch_debugger\.Run\('runs/a'\)\)"):
        loss_curve("runs/a")
    with pytest.raises(UsageError, match="`loss` is no curve: expected a run, a list of numbers"):
        loss_curve(object())
    with pytest.raises(UsageError, match="2 values but 3 steps"):
        loss_curve([1.0, 2.0], steps=[1, 2, 3])
    with pytest.raises(UsageError, match="smooth= is the number of points on either side, 0 or more, not -3"):
        loss_curve([1.0, 2.0], smooth=-3)
    with pytest.raises(UsageError, match="shape of"):
        loss_curve([])
    writer = SummaryWriter(str(tmp_path))
    writer.add_scalar("accuracy", 0.5, 1)
    writer.close()
    with pytest.raises(UsageError, match=r"looks like a loss; it has `accuracy`\. Say which one with tag="):
        loss_curve(Run(tmp_path))
