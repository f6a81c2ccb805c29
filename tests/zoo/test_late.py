"""Numbers that come from a device steps later lead to the same verdicts as those that are there at once."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.zoo.judging import wrong_verdict
from tests.zoo.runner import result_name
from tests.zoo.scripts import ZOO
from tests.zoo.selection import count_commits

# Checks whose evidence is read from tensors, by different probes.
HOMES = (
    "activations/constant-init-symmetry", "activations/dead-relu", "activations/dropout-on-output",
    "data/image-range-0-255", "data/labels-constant", "data/target-leakage", "data/validation-scale-differs",
    "setup/buffer-not-registered", "setup/clip-always-active", "setup/ema-never-updated",
    "setup/gradient-through-target-network", "setup/missing-zero-grad", "setup/optimizer-step-missing",
    "setup/parameter-not-registered", "setup/weight-tying-broken", "training/initial-loss-unexpected",
    "training/lr-too-high", "training/nan-steps-skipped", "training/posterior-collapse",
    "training/regression-target-scale",
)  # fmt: skip


def test_the_verdicts_are_the_same(tmp_path: Path) -> None:
    homes = HOMES[count_commits() % 4 :: 4]  # four commits in a row run all
    scripts = [ZOO / home / "broken.py" for home in homes]
    command = [sys.executable, "-m", "tests.zoo.late", str(tmp_path), *map(str, scripts)]
    subprocess.run(command, check=True, cwd=ZOO.parent)
    results = {script: json.loads((tmp_path / f"{result_name(script)}.json").read_text()) for script in scripts}
    complaints = {script.parent.name: wrong_verdict(script, result) for script, result in results.items()}
    assert {home: complaint for home, complaint in complaints.items() if complaint} == {}
