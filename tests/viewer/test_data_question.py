"""What the page is told of a run's data: samples, labels, ranges, loaders, findings."""

from __future__ import annotations

import base64
import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.viewer.asking import ask, shown_runs_of
from tests.viewer.logged import sample, write
from torch_debugger.records import BatchFact, BatchLook, InputLook, LoaderFact, Place, Record, TargetLook, TensorLook
from torch_debugger.viewer.data import sample_to_json


def answered(folder: Path, question: str, *records: Record, **given: str) -> Any:
    write(folder / "run", *records)
    return ask(shown_runs_of(folder), question, run="run", **given)


def labels(step: int, counts: dict[str, int]) -> TargetLook:
    return TargetLook("loss", "NllLoss", (8,), "int64", counts, (), step)


def loader(**changes: Any) -> LoaderFact:
    given = {"dataset": "Cats", "length": 4, "batch_size": 8, "workers": 0, "shuffle": True, "place": Place()}
    return LoaderFact(**(given | {"step": 1, "number": 1} | changes))  # type: ignore[arg-type]


def test_steps_are_listed_and_one_is_given_in_full(tmp_path: Path) -> None:
    pixels = np.arange(12, dtype=np.uint8).reshape(1, 3, 2, 2)
    records = [
        sample(np.array([1.0, 2.0], np.float32), role="target", kind="values", step=4),
        sample(pixels, kind="image", step=4),
        sample(pixels, kind="image", step=1),
    ]
    listed = answered(tmp_path, "samples", *records)
    assert listed["steps"] == [1, 4] and "pixels" not in listed["tensors"][0]

    batch = answered(tmp_path / "again", "samples", *records, step="4")
    assert [each["role"] for each in batch["tensors"]] == ["input", "target"]
    assert base64.b64decode(batch["tensors"][0]["pixels"]) == pixels.tobytes()
    assert batch["tensors"][1]["numbers"] == [1, 2]


def test_numbers_are_short_and_odd_ones_are_words() -> None:
    values = np.array([1 / 3, np.nan, np.inf, -np.inf], np.float32)

    assert sample_to_json(sample(values))["numbers"] == [0.33333, "nan", "inf", "-inf"]


@pytest.mark.parametrize(
    "changes",
    [
        {"data": "no base64"},
        {"data": base64.b64encode(b"no zlib").decode()},
        {"kept": (3, 3)},
        {"kept": (10**9, 10**9)},
        {"kept": (-1, -2)},
    ],
)
def test_damaged_samples_are_told(changes: dict[str, Any]) -> None:
    made = sample_to_json(sample(np.zeros((1, 2), np.float32), **changes))

    assert "numbers" not in made and made["problem"].endswith(".")


def test_what_unpacks_to_very_much_is_not_unpacked() -> None:
    made = sample_to_json(sample(np.zeros(4_000_000, np.float32), kept=(10,)))

    assert "problem" in made


def test_labels_are_counted_over_the_batches_and_have_names(tmp_path: Path) -> None:
    made = answered(
        tmp_path,
        "data",
        loader(classes=("cat", "dog")),
        labels(1, {"0": 5, "1": 3}),
        labels(2, {"0": 2, "10": 6}),
    )

    (told_labels,) = made["labels"]
    assert (told_labels["batches"], told_labels["targets"], told_labels["classes"]) == (2, 16, 3)
    assert told_labels["counts"] == [
        {"label": "0", "name": "cat", "count": 7},
        {"label": "1", "name": "dog", "count": 3},
        {"label": "10", "name": None, "count": 6},
    ]


def test_ranges_are_kept_step_by_step(tmp_path: Path) -> None:
    facts = [BatchFact("batch[0]", (8, 4), "float32", -step, step, 0.0, 1.0, 0, step) for step in (1, 2)]
    target = sample(np.zeros(2, np.float32), role="target", name="MseLoss", high=float("inf"))
    made = answered(tmp_path, "data", *facts, target)["ranges"]

    assert [(each["where"], each["name"]) for each in made] == [
        ("from a loader", "batch[0]"),
        ("target of the loss", "MseLoss"),
    ]
    assert [(look["step"], look["low"], look["high"]) for look in made[0]["looks"]] == [(1, -1, 1), (2, -2, 2)]
    assert made[1]["looks"][0]["high"] == "inf"


def test_ranges_tell_on_what_part_they_were_measured(tmp_path: Path) -> None:
    fact = BatchFact("batch[1]", (32,), "int64", 0, 3, 1.125, 1.0, 0, 1)
    target = sample(np.zeros(8, np.float32), role="target", name="NllLoss", shape=(32,))
    given = InputLook("net.conv1", "Conv2d", (32, 3, 24, 24), "float32", (), *(0.0,) * 4, -1, 0.0, (), Place(), 1)
    counted = dataclasses.replace(given, layer="net.conv2", measured=7904, not_finite=3)
    made = answered(tmp_path, "data", fact, target, given, counted)["ranges"]

    found = {each["name"]: (each["looks"][0]["measured"], each["looks"][0]["not_finite"]) for each in made}
    expected = {"batch[1]": (32, 0), "NllLoss": (8, 0), "net.conv1": (None, None), "net.conv2": (7904, 3)}
    assert found == expected


def test_equal_samples_of_a_loader_are_counted_in_its_first_pass(tmp_path: Path) -> None:
    def look(iteration: int, digests: tuple[int, ...], varied: bool = True) -> BatchLook:
        tensor = TensorLook("batch[0]", (8, 4), "float32", digests, varied=varied)
        return BatchLook(1, iteration, 0, True, (tensor,), 1)

    made = answered(
        tmp_path, "data", loader(), look(1, (1, 2, 3)), look(1, (3, 4, 3)), look(2, (1, 2)), look(1, (1,), False)
    )

    assert (made["loaders"][0]["looked_at"], made["loaders"][0]["repeated"]) == (6, 2)


def test_a_loader_that_is_made_anew_each_epoch_is_told_once(tmp_path: Path) -> None:
    made = answered(tmp_path, "data", *(loader(number=number) for number in (1, 2, 3)))

    assert [each["count"] for each in made["loaders"]] == [3]


def test_only_findings_of_the_data_are_told(tmp_path: Path) -> None:
    finding = {
        "severity": "warning", "status": "stable", "confidence": 1.0, "message": "m", "why": "w", "fix": "f",
        "where": {"module": None, "file": None, "line": None}, "first_step": 1, "last_step": 1, "evidence": {},
    }  # fmt: skip
    (tmp_path / "run").mkdir()
    findings = [
        {**finding, "check": "TD205", "name": "a"},
        {**finding, "check": "TD501", "name": "b"},
        {**finding, "check": "TD601", "name": "loss-not-finite", "evidence": {"phase": "input"}},
        {**finding, "check": "TD601", "name": "c", "evidence": {"phase": "forward"}},
    ]
    (tmp_path / "run" / "result.json").write_text(json.dumps({"outcome": "finished", "findings": findings}))

    assert [each["name"] for each in answered(tmp_path, "data", loader())["findings"]] == ["a", "loss-not-finite"]


def test_a_nan_is_of_the_data_where_the_data_had_one_before(tmp_path: Path) -> None:
    def names(folder: Path, odd_at: int) -> list[str]:
        finding = {
            "check": "TD601", "name": "loss-not-finite", "severity": "error", "status": "stable",
            "confidence": 1.0, "message": "m", "why": "w", "fix": "f", "first_step": 5, "last_step": 5,
            "where": {"module": None, "file": None, "line": None}, "evidence": {"phase": "loss"},
        }  # fmt: skip
        (folder / "run").mkdir(parents=True)
        (folder / "run" / "result.json").write_text(json.dumps({"outcome": "x", "findings": [finding]}))
        fact = BatchFact("batch[0]", (8, 4), "float32", 0.0, 1.0, 0.5, 1.0, 3, odd_at)
        return [each["name"] for each in answered(folder, "data", fact)["findings"]]

    assert names(tmp_path / "before", 5) == ["loss-not-finite"]
    assert names(tmp_path / "after", 6) == []


def test_a_run_without_data_has_empty_answers(tmp_path: Path) -> None:
    assert answered(tmp_path, "samples")["steps"] == []
    empty = answered(tmp_path, "data")
    assert not any(empty.values())
