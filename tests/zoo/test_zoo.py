"""Every broken script yields its check as the verdict; everything else is met with silence."""

from __future__ import annotations

import json
import os
import subprocess
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import absurd_allocations
from tests.zoo.conftest import Result
from tests.zoo.expectations import (
    Expected,
    all_scripts,
    broken_scripts,
    expected_of,
    launch_of,
    name_of,
    other_crash,
    silent_scripts,
)
from tests.zoo.launching import command_of, run_to_its_end

ResultOf = Callable[[Path], Result]


@pytest.mark.parametrize("script", broken_scripts(), ids=name_of)
def test_broken_script_gets_its_check_as_the_verdict(
    script: Path, zoo_result: ResultOf, zoo_result_alone: ResultOf
) -> None:
    try:
        assert_verdict(script, zoo_result(script))
    except AssertionError as missed:
        warnings.warn(f"missed beside other scripts, and run again alone: {missed}", stacklevel=1)
        assert_verdict(script, zoo_result_alone(script))


@pytest.mark.promise
@pytest.mark.parametrize("script", silent_scripts(), ids=name_of)
def test_everything_else_is_met_with_silence(script: Path, zoo_result: ResultOf) -> None:
    assert_silence(script, zoo_result(script))


@pytest.mark.parametrize("script", all_scripts(), ids=name_of)
def test_no_probe_failed(script: Path, zoo_result: ResultOf) -> None:
    assert zoo_result(script)["cost"]["probes_removed"] == []


def _not_launched(scripts: list[Path]) -> list[Path]:
    """Ranks have been run by the real command already."""
    return [script for script in scripts if not launch_of(script)]


@pytest.mark.parametrize(
    "script", [*_not_launched(broken_scripts())[::40], *_not_launched(silent_scripts())[5::40]], ids=name_of
)
def test_one_in_forty_through_the_real_command(script: Path, tmp_path: Path) -> None:
    environment = os.environ | {"OMP_NUM_THREADS": "1"}

    def result() -> Result:
        with absurd_allocations.refused():
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            run_to_its_end(command_of(script), 180, cwd=tmp_path, env=environment, **quiet)
        found: Result = json.loads((tmp_path / "out.json").read_text())
        return found

    if script not in broken_scripts():
        assert_silence(script, result())
        return
    try:
        assert_verdict(script, result())
    except AssertionError as missed:
        warnings.warn(f"missed, and run a second time: {missed}", stacklevel=1)
        assert_verdict(script, result())


def assert_verdict(script: Path, result: Result) -> None:
    expected = expected_of(script)
    if expected.is_note:
        assert_note(script, expected, result)
        return
    assert result["verdict"] is not None, f"nothing was found; wanted {expected.check}"
    verdict = result["findings"][result["verdict"]]
    assert verdict["name"] == expected.check, verdict["message"]
    assert_fits(verdict, script, expected)
    others = [finding for finding in result["findings"] if finding["name"] != expected.check]
    loud = [
        finding["name"] for finding in others if finding["severity"] != "note" and finding["symptom_of"] is None
    ]
    assert loud == [], f"symptoms must be folded under the verdict: {loud}"


def assert_note(script: Path, expected: Expected, result: Result) -> None:
    loud = [finding for finding in result["findings"] if finding["severity"] != "note"]
    assert {finding["name"] for finding in loud} <= set(expected.beside), loud
    assert len(result["findings"]) - len(loud) <= 2
    notes = [finding for finding in result["findings"] if finding["name"] == expected.check]
    assert len(notes) == 1, f"wanted one note, {expected.check}; got {result['findings']}"
    assert_fits(notes[0], script, expected)


def assert_fits(finding: Result, script: Path, expected: Expected) -> None:
    assert Path(finding["where"]["file"]).name == script.name
    assert finding["where"]["line"] in expected.lines, finding["message"]
    assert finding["first_step"] <= max(1, expected.by_step)
    assert any(word in finding["fix"].lower() for word in expected.mentions), finding["fix"]
    if expected.ops:
        assert finding["evidence"]["op"] in expected.ops, finding["message"]


def assert_silence(script: Path, result: Result) -> None:
    loud = [finding["message"] for finding in result["findings"] if finding["severity"] != "note"]
    claimant = other_crash(script)
    if claimant is not None:
        assert [finding["name"] for finding in result["findings"]] == [claimant], loud
        return
    assert loud == []
    assert len(result["findings"]) <= 2
