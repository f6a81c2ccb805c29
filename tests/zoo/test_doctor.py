"""The pre-flight of scripts nobody prepared for it: what fails in broken ones, and that healthy ones pass."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.zoo.runner import result_name
from tests.zoo.selection import count_commits

ROOT = Path(__file__).parents[2]

OVERFIT, RATES, LOSS = "overfit one batch", "learning-rate range", "initial loss"
GRADIENTS, INPUT, BATCH = "every parameter gets a gradient", "input is used", "batch independence"

# A script, and the trials that fail in it: exactly these.
EXPECTED: dict[str, set[str]] = {
    "healthy/cnn.py": set(),  # a loader, SGD
    "healthy/transformer.py": set(),  # argparse main
    "healthy/vae.py": set(),  # a loss of two terms
    "healthy/lstm.py": set(),
    "healthy/gan.py": set(),  # two optimizers, the step's input drawn in the call
    "healthy/grad_scaler_loop.py": set(),
    "healthy/gradient_accumulation.py": set(),
    "numerics/clip-before-unscale/fixed.py": set(),  # a loss that is scaled
    "healthy/wgan.py": set(),  # a penalty on gradients
    "healthy/lbfgs_closure.py": set(),
    "healthy/contrastive.py": set(),  # each model called twice
    "setup/unused-parameters/broken.py": {GRADIENTS},
    "setup/graph-cut/broken.py": {GRADIENTS, OVERFIT},
    "setup/tensor-on-wrong-device/broken.py": {"GPU rehearsal"},
    "activations/dead-relu/broken.py": {GRADIENTS, INPUT, OVERFIT},
    "training/softmax-before-cross-entropy/broken.py": {OVERFIT},
    "training/softmax-wrong-dim/broken.py": {BATCH, OVERFIT},
    "training/lr-too-high/broken.py": {OVERFIT, RATES},
    "training/lr-too-low/broken.py": {OVERFIT, RATES},
    "training/regression-target-scale/broken.py": {LOSS, OVERFIT},
    "training/nll-on-raw-logits/broken.py": {OVERFIT},
    "training/loss-broadcast/broken.py": {"shuffled-label baseline"},
}

SIXTH = list(EXPECTED)[count_commits() % 6 :: 6]  # six commits in a row run all: 12 trials of a script take long


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    results = tmp_path_factory.mktemp("doctor")
    scripts = [str(ROOT / "zoo" / script) for script in SIXTH]
    command = [sys.executable, "-m", "tests.zoo.runner", str(results), "--preflight", *scripts]
    subprocess.run(command, cwd=ROOT, check=True)
    return results


def result(folder: Path, script: str) -> dict[str, Any]:
    path = folder / f"{result_name(ROOT / 'zoo' / script)}.json"
    failed = path.with_suffix(".failed")
    assert path.exists(), failed.read_text() if failed.exists() else f"{script} left no result"
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def test_what_fails_is_what_is_wrong(folder: Path) -> None:
    for script in SIXTH:
        found, expected = result(folder, script), EXPECTED[script]
        assert found["exit_code"] == 0 and len(found["trials"]) == 12, script
        failed = {trial["name"]: trial["message"] for trial in found["trials"] if trial["outcome"] == "failed"}
        assert failed.keys() == expected, (script, failed)


def test_every_trial_says_something(folder: Path) -> None:
    for script in SIXTH:
        for trial in result(folder, script)["trials"]:
            assert trial["message"].endswith(".") and "Error" not in trial["message"], (script, trial)
            assert bool(trial["advice"]) == (trial["outcome"] == "failed"), (script, trial)


def test_the_loss_of_these_scripts_is_computed_again(folder: Path) -> None:
    """By the scripts' own lines: without that, no trial that trains would be made."""
    for script in SIXTH:
        messages = {trial["name"]: trial["message"] for trial in result(folder, script)["trials"]}
        assert "do not give the same loss" not in messages[OVERFIT], script
