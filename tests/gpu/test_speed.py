"""What advice on speed was worth on a real GPU: the kept results of benchmarks/advice.py.

python -m benchmarks.advice --write tests/gpu/golden/speed.json
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.zoo.scripts import ZOO, expected_of, needs

GOLDEN = Path(__file__).parent / "golden" / "speed.json"
RESULTS: dict[str, dict[str, Any]] = json.loads(GOLDEN.read_text()) if GOLDEN.exists() else {}
SCRIPTS = sorted(script for script in (ZOO / "speed").rglob("broken*.py") if needs(script) == "cuda")
KEPT = [script for script in SCRIPTS if f"{script.parent.name}/{script.stem}" in RESULTS]


def result_of(script: Path) -> dict[str, Any]:
    return RESULTS[f"{script.parent.name}/{script.stem}"]


@pytest.mark.skipif(not RESULTS, reason="no results of a GPU are kept yet")
def test_every_script_was_run() -> None:
    assert SCRIPTS == KEPT


@pytest.mark.parametrize("script", KEPT, ids=lambda script: script.parent.name)
def test_the_finding_came_each_time_and_named_the_line(script: Path) -> None:
    expected, result = expected_of(script), result_of(script)
    assert result["found"] == result["rounds"]
    [finding] = [each for each in result["scripts"]["broken"]["findings"] if each["name"] == expected.check]
    assert finding["line"] in expected.lines
    assert any(word in finding["fix"].lower() for word in expected.mentions)
    loud = [each["name"] for each in result["scripts"]["broken"]["findings"] if each["severity"] != "note"]
    assert loud == ([] if expected.is_note else [expected.check])


@pytest.mark.parametrize("script", KEPT, ids=lambda script: script.parent.name)
def test_fixed_and_lookalike_are_met_with_silence(script: Path) -> None:
    others = {name: ran for name, ran in result_of(script)["scripts"].items() if name != "broken"}
    for name, ran in others.items():
        loud = [each["name"] for each in ran["findings"] if each["severity"] != "note"]
        assert (ran["outcome"], loud) == ("finished", []), name
        assert len(ran["findings"]) <= 2, name


@pytest.mark.parametrize("script", KEPT, ids=lambda script: script.parent.name)
def test_the_claimed_kind_of_time_and_the_step_became_less(script: Path) -> None:
    result = result_of(script)
    assert result["claimed_ratio"] > 1.1
    assert result["step_ratio"] > 1.05
