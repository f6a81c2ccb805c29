"""What differs besides the steps: settings, code, environment, data, models; and how far seeds go."""

from __future__ import annotations

import math

import pytest

from tests import fakes
from torch_debugger.log.compare import compare_means, compare_runs
from torch_debugger.log.compare_records import Matching, RunEvidence, phase_of
from torch_debugger.records import BatchLook, HparamsFact, LoaderFact, Place, Record, SeedFact, Surroundings, TensorLook
from torch_debugger.records.findings import Difference, RunsComparison, Topic
from torch_debugger.report.comparison import ComparisonReport


def compared(first: list[Record], second: list[Record]) -> RunsComparison:
    steps: list[Record] = [*fakes.losses([2.0, 1.0])]
    return compare_runs(RunEvidence("a", [*first, *steps]), RunEvidence("b", [*second, *steps]))


def topic(comparison: RunsComparison, name: str) -> Topic:
    return next(each for each in comparison.topics if each.name == name)


def surroundings(source: str, **others: object) -> Surroundings:
    facts: dict[str, object] = {
        "command": ("train.py",),
        "script": "train.py",
        "script_hash": source,
        "source": source,
    }
    return Surroundings(**{**facts, **others})  # type: ignore[arg-type]


def test_arguments_hyperparameters_and_seeds() -> None:
    first = [fakes.run(), HparamsFact({"depth": 4, "lr": 0.1}, "args", 1), SeedFact({"torch": 0}, 1)]
    second = [
        fakes.run(arguments=("--fast",)),
        HparamsFact({"depth": 5, "lr": 0.1, "warm": True}, "args", 1),
        SeedFact({"torch": 1}, 1),
    ]
    assert topic(compared(first, second), "settings").differences == (
        Difference("arguments", "", "--fast"),
        Difference("depth", "4", "5"),
        Difference("seed of torch", "0", "1"),
        Difference("warm", "", "True"),
    )


def test_the_code_is_shown_as_a_diff() -> None:
    comparison = compared(
        [fakes.run(), surroundings("import torch\nx = 1\n", git_commit="a" * 40)],
        [fakes.run(), surroundings("import torch\nx = 2\n", git_commit="b" * 40, git_dirty=True)],
    )
    code = topic(comparison, "code")
    assert code.lines == (
        "--- train.py",
        "+++ train.py",
        "@@ -1,2 +1,2 @@",
        " import torch",
        "-x = 1",
        "+x = 2",
    )
    assert Difference("commit", "a" * 12, "b" * 12) in code.differences
    assert Difference("uncommitted changes", "no", "yes") in code.differences
    text = str(ComparisonReport(comparison))
    assert "What differs in the code" in text and "  +x = 2" in text


def test_a_log_without_source_says_so() -> None:
    text = str(ComparisonReport(compared([fakes.run()], [fakes.run()])))
    assert "Not compared in the code: the log of a does not hold the script's source." in text


def test_packages_hardware_and_variables() -> None:
    comparison = compared(
        [
            fakes.run(),
            surroundings("", packages={"numpy": "1.26", "torch": "2.6"}, environment={"OMP_NUM_THREADS": "1"}),
        ],
        [
            fakes.run(torch="2.13.1"),
            surroundings("", packages={"numpy": "2.0", "torch": "2.7"}, hardware={"gpu": "H200"}),
        ],
    )
    assert topic(comparison, "environment").differences == (
        Difference("torch", "2.13.0", "2.13.1"),
        Difference("numpy", "1.26", "2.0"),
        Difference("gpu", "", "H200"),
        Difference("OMP_NUM_THREADS", "1", ""),
    )


def test_loaders() -> None:
    def loader(batch_size: int, shuffle: bool) -> LoaderFact:
        return LoaderFact("TensorDataset", 8, batch_size, 0, shuffle, Place(), 1, number=1, samples=64)

    found = topic(compared([loader(8, True)], [loader(16, False)]), "data").differences
    assert found == (
        Difference("loader 1: batch size", "8", "16"),
        Difference("loader 1: shuffled", "True", "False"),
    )


def delivered(batches: dict[int, tuple[int, ...]]) -> list[Record]:
    """A loader, and the samples of those of its batches that were looked at, by their place."""
    looks = [
        BatchLook(1, 1, place, True, (TensorLook("batch[0]", (len(samples),), "float32", samples),), place + 1)
        for place, samples in batches.items()
    ]
    return [LoaderFact("TensorDataset", 8, 4, 0, True, Place(), 1, number=1), *looks]


@pytest.mark.parametrize(
    ("second", "told"),
    [
        ((1, 2, 4, 3), "4, the same ones in another order"),
        ((1, 2, 9, 8), "4, 2 of them in both runs"),
    ],
)
def test_samples_that_came_in_another_order_or_are_others(second: tuple[int, ...], told: str) -> None:
    comparison = compared(delivered({0: (1, 2, 3, 4)}), delivered({0: second}))
    assert topic(comparison, "data").differences == (Difference("samples that were looked at", "4", told),)


@pytest.mark.parametrize(
    "second",
    [{0: (1, 2, 3, 4), 9: (7, 8, 5, 6)}, {9: (4, 3, 2, 1)}, {0: (5, 1)}],
    ids=["another later batch", "no batch in common", "another size"],
)
def test_batches_that_only_one_run_looked_at_say_nothing_of_the_order(
    second: dict[int, tuple[int, ...]],
) -> None:
    first = delivered({0: (1, 2, 3, 4), 5: (5, 6, 7, 8)})
    assert topic(compared(first, delivered(second)), "data").differences == ()


def test_optimizers_are_matched_by_order_where_names_differ() -> None:
    comparison = compared(
        [fakes.optimizer("SGD", 0.1, name="opt", momentum=0.9)],
        [fakes.optimizer("SGD", 0.1, name="trainer", momentum=0.0)],
    )
    assert topic(comparison, "optimizer").differences == (Difference("trainer: momentum", "0.9", "0"),)


def test_ports_are_matched_by_order_and_shape() -> None:
    ours = fakes.model(
        {"net": "Net", "net.fc1": "Linear", "net.drop": "Dropout", "net.fc2": "Linear"},
        {"net.fc1.weight": (8, 4), "net.fc1.bias": (8,), "net.fc2.weight": (2, 8)},
    )
    theirs = fakes.model(
        {
            "m": "Port",
            "m.layers": "Sequential",
            "m.layers.0": "Linear",
            "m.layers.1": "Dropout",
            "m.layers.2": "Linear",
        },
        {"m.layers.0.weight": (8, 4), "m.layers.0.bias": (8,), "m.layers.2.weight": (2, 8)},
        root="m",
    )
    matching = Matching(RunEvidence("a", [ours]), RunEvidence("b", [theirs]))
    assert matching.names == {
        "net": "m",
        "net.fc1": "m.layers.0",
        "net.drop": "m.layers.1",
        "net.fc2": "m.layers.2",
        "net.fc1.weight": "m.layers.0.weight",
        "net.fc1.bias": "m.layers.0.bias",
        "net.fc2.weight": "m.layers.2.weight",
    }
    assert matching.unmatched_first == [] and matching.unmatched_second == ["m.layers"]


def test_names_win_over_order() -> None:
    ours = fakes.model({"net": "Net", "net.a": "Linear", "net.b": "Linear"})
    theirs = fakes.model({"net": "Net", "net.b": "Linear", "net.a": "Linear"})
    matching = Matching(RunEvidence("a", [ours]), RunEvidence("b", [theirs]))
    assert matching.names == {"net": "net", "net.a": "net.a", "net.b": "net.b"}


@pytest.mark.parametrize(
    ("tag", "phase"),
    [
        ("loss", "loss"), ("loss/loss_g", "loss"), ("train/loss", "loss"), ("lr/0", "rate"),
        ("lr-AdamW", "rate"), ("train/learning_rate", "rate"), ("val_loss", "evaluation"),
        ("eval/accuracy", "evaluation"), ("grad_norm/od", "gradients"), ("weight_norm", "weights"),
        ("time/step_s", ""), ("gpu/memory", ""),
        ("train/samples_per_second", ""), ("epoch", "evaluation"),
    ],
)  # fmt: skip
def test_what_a_tag_tells(tag: str, phase: str) -> None:
    assert phase_of(tag) == phase


@pytest.mark.parametrize(
    ("statistic", "freedom", "chance"), [(12.706, 1, 0.05), (2.776, 4, 0.05), (3.169, 10, 0.01), (0.0, 3, 1.0)]
)
def test_student_s_table(statistic: float, freedom: int, chance: float) -> None:
    first = [float(place) for place in range(freedom + 1)]
    mean = sum(first) / len(first)
    variance = sum((value - mean) ** 2 for value in first) / freedom
    second = [mean + statistic * math.sqrt(variance * (1 + 1 / len(first)))]
    assert compare_means(first, second)[2] == pytest.approx(chance, rel=2e-3)


def test_without_replicates_nothing_is_claimed_about_seeds() -> None:
    difference, spread, chance = compare_means([1.0], [2.0])
    assert difference == 1.0 and math.isnan(spread) and math.isnan(chance)


def test_replicates_that_do_not_differ_at_all() -> None:
    assert compare_means([1.0, 1.0], [2.0, 2.0]) == (1.0, 0.0, 0.0)
    assert compare_means([1.0, 1.0], [1.0, 1.0]) == (0.0, 0.0, 1.0)


def test_hostile_names_cannot_steer_a_terminal_or_a_page() -> None:
    records: list[Record] = [HparamsFact({"\x1b[31m<script>": "\u202ex"}, "args", 1), fakes.run()]
    report = ComparisonReport(compared(records, [fakes.run(), HparamsFact({"a": 1}, "args", 1)]))
    assert "\x1b" not in str(report) and "\u202e" not in str(report)
    assert "<script>" not in report._repr_html_() and "&lt;script&gt;" in report._repr_html_()
