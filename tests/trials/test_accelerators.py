"""Which scripts choose an accelerator, read from their source."""

from __future__ import annotations

from pathlib import Path

import pytest

from torch_debugger.source.device_placement import names_accelerator


def named(folder: Path, *argv: str, script: str = "train.py") -> bool:
    return names_accelerator(script, argv, str(folder))


@pytest.mark.parametrize(
    "line",
    [
        'DEVICE = "cuda" if available() else "cpu"',
        "model = model.cuda()",
        'x = x.to("cuda:1")',
        "ready = torch.cuda.is_available()",
        "device = torch.accelerator.current_accelerator()",
        "ready = torch.backends.mps.is_available()",
        'parser.add_argument("--device", default="mps")',
        'device = torch.device("xpu", 0)',
    ],
)
def test_a_choice_in_the_script_counts(tmp_path: Path, line: str) -> None:
    (tmp_path / "train.py").write_text(f"import torch\n{line}\n")
    assert named(tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        "x = torch.arange(3)  # not on cuda",
        '"""Runs on cuda, too."""',
        'def f():\n    "cuda"\n    return 1',
        'print("no cuda here")',
        'device = torch.device("cpu")',
        "barracuda = 1",
        "this is no Python",
    ],
)
def test_comments_docstrings_and_other_words_do_not(tmp_path: Path, text: str) -> None:
    (tmp_path / "train.py").write_text(text + "\n")
    assert not named(tmp_path)


@pytest.mark.parametrize("argv", [["--device", "cuda"], ["--device=cuda:0"], ["device=gpu"]])
def test_the_command_line_counts(tmp_path: Path, argv: list[str]) -> None:
    (tmp_path / "train.py").write_text("import sys\n")
    assert named(tmp_path, *argv)
    assert not named(tmp_path, "--device", "cpu", "--data", "cuda-images")


def test_modules_of_the_scripts_own_folder_count(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("from lib.settings import DEVICE\nimport json\n")
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "settings.py").write_text('import train\nDEVICE = "cuda"\n')
    assert named(tmp_path)


def test_an_import_circle_ends(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import other\n")
    (tmp_path / "other.py").write_text("import train\n")
    assert not named(tmp_path)


def test_a_script_that_is_not_there_names_nothing(tmp_path: Path) -> None:
    assert not named(tmp_path, script="missing.py")
