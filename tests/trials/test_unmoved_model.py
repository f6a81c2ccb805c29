"""A model that no line moves, while its batches are: what the source must say, and what keeps it silent."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from torch import nn

from torch_debugger.records import Rehearsal
from torch_debugger.source import files as sources
from torch_debugger.source.variables import VariablesAt
from torch_debugger.trials import unmoved_tensors as unmoved_model

SCRIPT = """
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = nn.Linear(3, 2)
for x in batches:
    x = x.to(DEVICE)
    loss = model(x).sum()
    loss.backward()
noise = torch.randn(4, 3).to(DEVICE)
"""


def look_at(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, others: Sequence[Path] = ()
) -> Rehearsal | None:
    script = tmp_path / "train.py"
    script.write_text(text)
    for module in (sources, unmoved_model):
        monkeypatch.setattr(module, "user_files", lambda: (str(script), *map(str, others)))
    model = nn.Linear(3, 2)
    line = text.splitlines().index("    loss.backward()") + 1
    moment = VariablesAt(str(script), line, "<module>", {"model": model, "x": torch.zeros(1, 3)}, {})
    return unmoved_model.unmoved_model([("model", model)], [moment], step=1)


def test_the_batches_are_moved_and_the_model_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = look_at(SCRIPT, tmp_path, monkeypatch)
    assert found is not None
    assert (found.root, found.origin.line, found.place.line, found.device_text) == ("model", 3, 5, "DEVICE")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("for x in batches:", "if torch.cuda.is_available():\n    model.cuda()\nfor x in batches:"),
        ("for x in batches:", "accelerator.prepare(model)\nfor x in batches:"),
        ("for x in batches:", "move(model)\nfor x in batches:\n    criterion.to(DEVICE)"),
        ("nn.Linear(3, 2)", "nn.Linear(3, 2, device=DEVICE)"),
        ("for x in batches:", "torch.set_default_device(DEVICE)\nfor x in batches:"),
        ("    x = x.to(DEVICE)\n", ""),
        ('torch.device("cuda" if torch.cuda.is_available() else "cpu")', 'torch.device("cpu")'),
    ],
)
def test_whatever_may_move_it_keeps_silent(
    before: str, after: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert before in SCRIPT
    assert look_at(SCRIPT.replace(before, after), tmp_path, monkeypatch) is None


def test_a_move_in_a_file_of_the_users_beside_the_scripts_folder_keeps_silent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "scripts"
    folder.mkdir()
    other = tmp_path / "placing.py"
    other.write_text("def place(net):\n    if torch.cuda.is_available():\n        net.cuda()\n")
    assert look_at(SCRIPT, folder, monkeypatch) is not None
    assert look_at(SCRIPT, folder, monkeypatch, [other]) is not None  # of another program
    importing = tmp_path / "importing"
    importing.mkdir()
    assert look_at(f"from project import placing{SCRIPT}", importing, monkeypatch, [other]) is None
