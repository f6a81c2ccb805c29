"""torch-debugger summary FILE.py:NAME --input SIZE: a model as a table, and every mistake as a sentence."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from torch_debugger.cli import main

NETS = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, classes=10, width=8):
        super().__init__()
        self.conv = nn.Conv2d(3, width, 3, padding=1)
        self.head = nn.Linear(width, classes)
    def forward(self, x):
        return self.head(self.conv(x).mean((2, 3)))

class Words(nn.Module):
    def __init__(self, words):
        super().__init__()
        self.embedding = nn.Embedding(words, 4)
    def forward(self, tokens):
        return self.embedding(tokens)

def make():
    return Net(classes=5)

def broken():
    raise ValueError("no weights here")

class Zoo:
    net = Net(classes=3)

LIMIT = 3
if __name__ == "__main__":
    raise SystemExit("was run")
"""

Told = Callable[..., tuple[int, str, str]]


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Told:
    """Runs the verb in a folder with nets.py: exit code, what it printed, what it complained of."""
    (tmp_path / "nets.py").write_text(NETS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> tuple[int, str, str]:
        code = main(["summary", *words])
        out, err = capsys.readouterr()
        return code, out, err.removeprefix("torch-debugger: ").rstrip("\n")

    return run


@pytest.mark.parametrize(("target", "params"), [("nets.py:Net", 314), ("nets.py:make", 269), ("nets.py:Zoo.net", 251)])
def test_a_class_a_factory_and_a_model_are_shown(told: Told, target: str, params: int) -> None:
    code, out, err = told(target, "--input", "2,3,8,8")
    assert (code, err) == (0, "")
    assert f"Total params: {params} " in out
    assert "[2, 8, 8, 8]" in out


def test_a_module_by_its_name_is_imported(told: Told) -> None:
    code, out, _ = told("torch.nn:Linear", "--args", "[3, 4]", "--input", "2x3")
    assert code == 0
    assert "Linear  [2, 4]      16    24" in out


def test_factories_take_arguments(told: Told) -> None:
    assert "Total params: 612 " in told("nets.py:Net", "--args", '{"classes": 4, "width": 19}', "--input", "1,3,8,8")[1]


def test_words_are_found_out_or_said(told: Told) -> None:
    found = told("nets.py:Words", "--args", "[20]", "--input", "2,7")
    assert "dtypes was not given: the model takes int64." in found[1]
    said = told("nets.py:Words", "--args", "[20]", "--input", "2,7", "--dtype", "long")
    assert "[2, 7, 4]" in said[1] and "dtypes" not in said[1]


def test_without_an_input_parameters_are_shown(told: Told) -> None:
    code, out, _ = told("nets.py:Net")
    assert code == 0
    assert "Output" not in out and "Total params: 314" in out


def test_columns_and_depth_are_chosen(told: Told) -> None:
    out = told("nets.py:Net", "--input", "1,3,8,8", "--columns", "kernel,params", "--depth", "0")[1]
    assert out.splitlines()[1].split() == ["Layer", "Kernel", "Params"]
    assert out.splitlines()[3].split() == ["Net", "--", "314"]


def test_on_meta_a_model_of_any_size_is_made(told: Told) -> None:
    out = told("nets.py:Net", "--meta", "--args", '{"width": 100000000}', "--input", "4,3,8,8")[1]
    assert "Total params: 3,800,000,010 (15.2 GB)" in out


def test_programs_get_json(told: Told, tmp_path: Path) -> None:
    code, out, _ = told("nets.py:Net", "--input", "1,3,8,8", "--json", "-")
    assert (code, json.loads(out)["totals"]["params"]) == (0, 314)
    code, out, _ = told("nets.py:Net", "--input", "1,3,8,8", "--json", "net.json")
    assert "Total params" in out
    assert json.loads((tmp_path / "net.json").read_text(encoding="utf-8"))["model"] == "Net"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["nets.py"], "'nets.py' names no object: write FILE.py:NAME or MODULE:NAME, such as models.py:Net."),
        (["nets.py:Nett"], "nets.py has no Nett. Did you mean Net?"),
        (["nets.py:Zoo.nett"], "nets.py has no nett. Did you mean net?"),
        (["no_such_package:Net"],
         "no_such_package cannot be imported: ModuleNotFoundError: No module named 'no_such_package'."),
        (["nets.py:LIMIT"], "nets.py:LIMIT is no model, and makes none: it gave int."),
        (["nets.py:Words", "--input", "2,7"],
         "nets.py:Words needs arguments (Words.__init__() missing 1 required positional argument: 'words'): "
         "give them with --args '{\"name\": value}'."),
        (["nets.py:Net", "--args", "{classes: 3}"],
         "--args is no JSON (Expecting property name enclosed in double quotes: line 1 column 2 (char 1)): "
         "write --args '{\"num_classes\": 10}'."),
        (["nets.py:Net", "--args", "3"], "--args takes an object or a list, not 3."),
        (["nets.py:Net", "--input", "1,3,a"], "--input takes a size such as 1,3,224,224, not '1,3,a'."),
        (["nets.py:Net", "--input", "1,3,8,8", "--dtype", "floaty"],
         "--dtype floaty is no kind of torch's: float, long, bool, float16, bfloat16 are."),
        (["nets.py:Net", "--input", "1,1,8,8"],
         "the model does not take [1, 1, 8, 8] float32: `conv` (Conv2d) was given [1, 1, 8, 8]: RuntimeError: "
         "Given groups=1, weight of size [8, 3, 3, 3], expected input[1, 1, 8, 8] to have 3 channels, but got "
         "1 channels instead."),
        (["nets.py:Net", "--json", "missing/net.json"],
         "missing/net.json cannot be written: No such file or directory."),
    ],
)  # fmt: skip
def test_mistakes_are_told_in_a_sentence(told: Told, words: list[str], sentence: str) -> None:
    code, _, err = told(*words)
    assert (code, err) == (2, sentence)


def test_a_factory_that_raises_is_told(told: Told) -> None:
    code, _, err = told("nets.py:broken")
    assert (code, err) == (1, "nets.py:broken raised ValueError: no weights here")


def test_a_file_that_is_not_there_is_told(told: Told, tmp_path: Path) -> None:
    assert told("missing.py:Net")[2] == f"There is no file missing.py (looked in {tmp_path})."
