"""Where runs part, on made-up records: what counts as rounding, and what comes in from outside."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import fakes
from torch_debugger.log.compare import compare_runs
from torch_debugger.log.compare_records import RunEvidence
from torch_debugger.records import ModelFact, PhaseFact, Record
from torch_debugger.records.findings import Parting, RunsComparison
from torch_debugger.report.comparison import ComparisonReport

LAYERS = ("net.fc1", "net.fc2", "net.fc3")
WEIGHTS = ("net.fc1.weight", "net.fc2.weight", "net.fc3.weight")
Change = Callable[[int, str, float], float]  # (step, tensor or tag, number) -> number


def training(steps: int = 20, change: Change = lambda step, name, number: number) -> list[Record]:
    """A run in which every step is looked at closely."""
    records: list[Record] = [fakes.run(), fakes.optimizer(parameters=WEIGHTS, name="opt")]
    records.append(fakes.model(dict.fromkeys(("net", *LAYERS), "Linear"), dict.fromkeys(WEIGHTS, (8, 8))))
    for step in range(1, steps + 1):
        records += one_step(step, change)
    return [*records, fakes.end(steps=steps)]


def one_step(step: int, change: Change) -> list[Record]:
    def number(name: str, scale: float = 1.0) -> float:
        noise = numpy.random.default_rng([step, len(name), sum(map(ord, name))]).normal()
        return change(step, name, scale * (2.0 + math.tanh(noise)))

    outputs = {name: [0.0, number(name), -3.0, 3.0, 0.5] for name in LAYERS}
    slopes = {name: [0.0, number(f"slope {name}"), -3.0, 3.0, 0.5] for name in LAYERS}
    norms = {name: [number(f"gradient {name}"), number(name), 64.0] for name in WEIGHTS}
    updates = {name: [0.1, number(f"update {name}")] for name in WEIGHTS}
    stats = ("mean", "std", "min", "max", "zeros")
    return [
        fakes.rows(step, "parameter", ("grad_norm", "weight_norm", "elements"), norms, root="opt"),
        fakes.rows(step, "update", ("ratio", "change"), updates, root="opt"),
        fakes.rows(step, "activation", stats, outputs),
        fakes.rows(step, "output_gradient", stats, slopes),
        fakes.scalars(step, {"loss": number("loss"), "lr/0": 0.1, "time/step_s": 0.1 * step, "eval/accuracy": 0.9}),
    ]


def compared(first: list[Record], second: list[Record]) -> RunsComparison:
    return compare_runs(RunEvidence("a", first), RunEvidence("b", second))


def parting(change: Change, steps: int = 20) -> Parting:
    return compared(training(steps), training(steps, change)).parting


def test_a_run_and_itself_are_the_same() -> None:
    found = parting(lambda step, name, number: number)
    assert (found.verdict, found.steps, found.gap, found.unequal) == ("same", 20, None, None)


@settings(deadline=None, max_examples=30)  # a busy machine is no fault
@given(st.integers(1, 20), st.sampled_from([*LAYERS, "loss"]), st.floats(1e-4, 10.0))
def test_a_number_that_changes_is_found_where_it_does(step: int, name: str, share: float) -> None:
    found = parting(lambda at, tensor, number: number * (1 + share) if (at, tensor) == (step, name) else number)
    assert found.gap is not None
    assert (found.gap.step, found.gap.name) == (step, name)
    assert found.unequal is None, "all before it is bit-equal"
    assert found.exact


@settings(deadline=None, max_examples=30)  # a busy machine is no fault
@given(st.integers(0, 2**32))
def test_the_last_digits_are_rounding(seed: int) -> None:
    draws = numpy.random.default_rng(seed)
    found = parting(lambda step, name, number: number * (1 + 2e-7 * draws.uniform(-1, 1)))
    assert found.verdict == "rounding"
    assert found.unequal is not None and found.unequal.step == 1


def test_rounding_that_grows_is_still_rounding() -> None:
    found = parting(lambda step, name, number: number * (1 + 1e-7 * 1.3**step), steps=60)
    assert found.verdict == "rounding"
    assert found.largest is not None and found.largest.size > 0.1
    report = ComparisonReport(compared(training(60), training(60, lambda s, n, x: x * (1 + 1e-7 * 1.3**s))))
    assert "It has grown slowly, as rounding does, and no step stands out." in report.answer


def test_what_comes_in_from_outside_stands_out_of_rounding() -> None:
    def change(step: int, name: str, number: float) -> float:
        outside = 0.05 if step >= 13 and name in ("net.fc2", "net.fc3", "loss") else 0.0
        return number * (1 + 1e-7 * 1.3**step + outside)

    found = parting(change)
    assert found.gap is not None and found.unequal is not None
    assert (found.gap.step, found.gap.name, found.last_equal) == (13, "net.fc2", "net.fc1")
    assert found.unequal.step == 1
    report = ComparisonReport(compared(training(), training(20, change)))
    assert "equal up to rounding" in report.answer


def test_updates_without_consequence_are_no_parting_and_are_told() -> None:
    report = ComparisonReport(
        compared(training(), training(20, lambda s, n, x: x * 1.01 if n == "update net.fc1.weight" and s < 19 else x))
    )
    assert report.comparison.parting.verdict == "rounding"
    assert "but in the update of net.fc1.weight at step 1" in report.answer
    assert "without a trace in what the model computes" in report.answer


def test_an_update_with_consequences_is_the_parting() -> None:
    def change(step: int, name: str, number: float) -> float:
        return number * 1.01 if (step >= 7 and name.startswith("update")) or step > 7 else number

    found = parting(change)
    assert found.gap is not None
    assert (found.gap.step, found.gap.phase, found.gap.name) == (7, "update", "net.fc1.weight")
    assert found.equal_phases == ("weights", "forward", "loss", "backward", "gradients", "rate")


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_number_that_is_finite_in_one_run_only_is_a_parting(bad: float) -> None:
    found = parting(lambda step, name, number: bad if (step, name) == (5, "loss") else number)
    assert found.gap is not None and found.gap.step == 5 and found.gap.size == math.inf


def test_nan_in_both_runs_is_equal() -> None:
    def broken(step: int, name: str, number: float) -> float:
        return math.nan if step > 5 else number

    assert compared(training(20, broken), training(20, broken)).parting.verdict == "same"


def test_steps_of_which_only_one_run_has_a_close_look_leave_a_gap_in_knowledge() -> None:
    def thinned(records: list[Record]) -> list[Record]:
        return [each for each in records if isinstance(each, type(fakes.scalars(1))) or getattr(each, "step", 0) <= 3]

    change: Change = lambda step, name, number: number * 1.5 if step >= 12 else number  # noqa: E731
    comparison = compared(training(), thinned(training(20, change)))
    assert comparison.parting.gap is not None
    assert (comparison.parting.gap.phase, comparison.parting.gap.step) == ("loss", 12)
    assert (comparison.parting.exact, comparison.parting.near_step) == (False, 3)
    assert comparison.advice == "torch-debugger run --deep-steps 12 train.py"
    text = " ".join(str(ComparisonReport(comparison)).split())
    assert (
        "Step 12 was not looked at closely in both runs (the last that was is step 3): it came in after what "
        "was seen of step 11, which is equal, and before this." in text
    )


def test_a_metric_alone_that_differs_is_a_matter_of_the_evaluation() -> None:
    second = [
        fakes.scalars(each.step, {**each.values, "eval/accuracy": 0.8})
        if hasattr(each, "values") and hasattr(each, "time")
        else each
        for each in training()
    ]
    report = ComparisonReport(compared(training(), second))
    assert report.answer.startswith("The runs part at step 1, first in eval/accuracy (0.9 -> 0.8)")
    assert "how it is evaluated (train or eval mode, the data, the metric)" in " ".join(str(report).split())


def test_one_sample_that_turns_over_is_no_parting_where_rounding_is() -> None:
    second = [
        fakes.scalars(each.step, {**each.values, "eval/accuracy": 0.902})
        if hasattr(each, "values") and hasattr(each, "time")
        else each
        for each in training(20, lambda step, name, number: number * (1 + 2e-7))
    ]
    assert compared(training(), second).parting.verdict == "rounding"


def test_modes_that_differ_are_the_cause() -> None:
    change: Change = lambda step, name, number: number * 1.5 if name == "net.fc2" else number  # noqa: E731
    comparison = compared(
        [PhaseFact("net", True, True, 1), *training()],
        [PhaseFact("net", False, True, 1), *training(20, change)],
    )
    assert comparison.cause is not None and comparison.cause.points[0].second == "eval"


def in_kind(records: list[Record], dtype: str) -> list[Record]:
    """The same run with weights of another kind."""
    return [
        dataclasses.replace(each, parameters=tuple(dataclasses.replace(one, dtype=dtype) for one in each.parameters))
        if isinstance(each, ModelFact)
        else each
        for each in records
    ]


def test_half_precision_rounds_more_but_not_the_first_weights() -> None:
    def scaled(share: float) -> Change:
        return lambda step, name, number: number * (1 + share) if name in ("net.fc2", "loss") else number

    def drawn(step: int, name: str, number: float) -> float:
        return number * 1.001 if name == "net.fc1.weight" else number

    half = in_kind(training(), "bfloat16")
    assert compared(half, in_kind(training(20, scaled(0.002)), "bfloat16")).parting.verdict == "rounding"
    assert compared(training(), training(20, scaled(0.002))).parting.verdict == "parted"
    gap = compared(half, in_kind(training(20, drawn), "bfloat16")).parting.gap
    assert gap is not None and (gap.phase, gap.step) == ("weights", 1)


def test_another_device_rounds_more() -> None:
    second = [
        fakes.run(device="cuda") if type(each).__name__ == "RunFact" else each
        for each in training(20, lambda step, name, number: number * 1.0005)
    ]
    found = compared(in_kind(training(), "float64"), second).parting
    assert found.verdict == "rounding"


def test_layers_that_only_one_run_has_are_named() -> None:
    shorter = [
        fakes.model({"net": "Net", "net.fc1": "Linear"}, {"net.fc1.weight": (8, 8)})
        if type(each).__name__ == "ModelFact"
        else each
        for each in training()
    ]
    comparison = compared(training(), shorter)
    assert ("net.fc3", "first") in comparison.unmatched
    assert "Only in the first run: net.fc2, net.fc3, net.fc2.weight, net.fc3.weight." in str(
        ComparisonReport(comparison)
    )
