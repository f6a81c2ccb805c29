"""`torch-debugger demo`: the whole of it once, for real, and what stops it."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

import numpy
import pytest
from PIL import Image

from tests import preloaded
from torch_debugger.cli import demo
from torch_debugger.cli.demo import PICTURES, VERSIONS, Played, Version
from torch_debugger.system.errors import DebuggerError, UsageError
from torch_debugger.viewer.questions import page_file


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    folder = tmp_path_factory.mktemp("demo")
    command = [sys.executable, "-m", "torch_debugger", "demo", "--output", "out"]
    return folder / "out", preloaded.run(command, cwd=folder, capture_output=True, text=True, timeout=600)


def test_finds_each_bug_in_turn_and_ends_healthy(played) -> None:
    _, process = played
    assert process.returncode == 0, process.stderr
    shown = [line for line in process.stdout.splitlines() if line.startswith(("error:", "Nothing wrong"))]
    assert shown == [
        "error: shape-mismatch  TD901",
        "error: wrong-reparameterization  TD582",
        "error: missing-zero-grad  TD101",
        "error: tensor-on-wrong-device  TD104",
        "Nothing wrong found in 640 steps.",
    ]


def test_shows_the_edits_the_curves_and_the_log(played) -> None:
    _, process = played
    assert "-     epsilon = torch.randn(mean.shape)\n" in process.stdout
    assert "+     epsilon = torch.randn(mean.shape, device=mean.device)\n" in process.stdout
    first, last = _ends_of_curve(process.stdout, "before (missing-zero-grad)")
    learned_from, learned_to = _ends_of_curve(process.stdout, "after (nothing wrong)")
    assert learned_from == first and learned_to < 0.5 * first and learned_to < 0.8 * last
    assert "out/runs/v5_healthy (any TensorBoard reads it too)" in process.stdout
    verb = "view" if page_file("page.js") is not None else "runs"
    assert f"torch-debugger {verb} out/runs" in " ".join(process.stdout.split())


def _ends_of_curve(shown: str, which: str) -> tuple[float, float]:
    found = re.search(re.escape(f"loss {which}: ") + r"(\S+) -> (\S+) in 640 steps", shown)
    assert found is not None
    return float(found[1]), float(found[2])


def test_the_healthy_version_draws_digits_that_resemble_the_originals(played) -> None:
    folder, _ = played
    originals, redrawn, drawn = (numpy.asarray(Image.open(folder / name), float) for name in PICTURES)
    assert originals.shape == redrawn.shape == drawn.shape
    likeness = numpy.corrcoef(originals.ravel(), redrawn.ravel())[0, 1]
    assert likeness > 0.9
    assert drawn.std() > 0.6 * originals.std()  # strokes, not a grey mist


def test_does_not_overwrite_a_script_of_the_users(tmp_path: Path) -> None:
    (tmp_path / "vae.py").write_text("print('mine')\n")
    with pytest.raises(UsageError, match=r"vae\.py is not the demo's own and would be overwritten"):
        demo.run(argparse.Namespace(output=str(tmp_path)))
    assert (tmp_path / "vae.py").read_text() == "print('mine')\n"


def test_says_so_when_a_version_tells_another_story(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing_found(version: Version, folder: Path, on_step) -> Played:
        on_step(3, 0.5)
        return Played(version, {"verdict": None, "findings": [], "steps": 3}, (0.5,), folder / "runs")

    monkeypatch.setattr(demo, "play", nothing_found)
    with pytest.raises(DebuggerError, match=f"should give {VERSIONS[0].verdict}, not none"):
        demo.run(argparse.Namespace(output=str(tmp_path / "new")))
