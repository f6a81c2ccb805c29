"""The whole zoo is run once, in forks of one process; the tests look at the results."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.zoo.expectations import all_scripts
from tests.zoo.runner import result_name

ROOT = Path(__file__).parents[2]
Result = dict[str, Any]


@pytest.fixture(scope="session")
def zoo_folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of all scripts, or of those that the chosen tests ask for."""
    items = [item for item in request.session.items if isinstance(item, pytest.Function)]
    asked = {item.callspec.params["script"] for item in items if "zoo_result" in item.fixturenames}
    return _run_into(tmp_path_factory.mktemp("zoo"), [script for script in all_scripts() if script in asked])


@pytest.fixture(scope="session")
def zoo_result(zoo_folder: Path) -> Callable[[Path], Result]:
    return functools.partial(_result_in, zoo_folder)


@pytest.fixture
def zoo_result_alone(tmp_path: Path) -> Callable[[Path], Result]:
    """Of a run of the script by itself, now: what is judged by times can be hidden by a busy machine."""
    return lambda script: _result_in(_run_into(tmp_path, [script]), script)


def _run_into(folder: Path, scripts: list[Path]) -> Path:
    command = [sys.executable, "-m", "tests.zoo.runner", str(folder), *map(str, scripts)]
    subprocess.run(command, cwd=ROOT, env=os.environ | {"OMP_NUM_THREADS": "1"}, check=True)
    return folder


def _result_in(folder: Path, script: Path) -> Result:
    path = folder / f"{result_name(script)}.json"
    failed = path.with_suffix(".failed")
    assert path.exists(), failed.read_text() if failed.exists() else f"{script} left no result"
    found: Result = json.loads(path.read_text())
    return found
