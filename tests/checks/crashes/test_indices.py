"""Crashes near an index out of range that are none, and what the examiner must leave alone."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.checks.crashes.scripts import HEAD, claims, crash_of, judge
from torch_debugger.records.codec import from_plain, to_plain

NEAR_MISSES = {
    "a list that is too short": "words = ['a', 'b']\nx = torch.zeros(2)\nwords[2]\n",
    "a list of tensors that is too short": "parts = [torch.zeros(2), torch.zeros(2)]\nparts[2]\n",
    "a deque that is empty": "import collections\ncollections.deque().pop()\n",
    "the user's own IndexError": """
emb = nn.Embedding(4, 2)
x = torch.tensor([1, 9])
raise IndexError("index out of range in self")
""",
    "the user's own error about a label": """
y = torch.tensor([0, 5])
def check(labels):
    if labels.max() > 3:
        raise RuntimeError("Class values must be smaller than num_classes.")
F.one_hot(y, 6), check(y)
""",
    "a numpy index": "import numpy\na = numpy.zeros(3)\nx = torch.zeros(3)\na[5]\n",
    "a tensor's dimension": "x = torch.zeros(3, 4)\nx.sum(dim=5)\n",
    "too few values for topk": "x = torch.zeros(4)\nx.topk(9)\n",
    "a mask of another length": "x = torch.zeros(3, 4)\nx[torch.ones(4, dtype=torch.bool)]\n",
    "float indices": "emb = nn.Embedding(4, 2)\nemb(torch.tensor([1.0, 9.0]))\n",
    "labels of another shape": "F.cross_entropy(torch.randn(4, 3), torch.tensor([0, 1]))\n",
    "a probability out of range": "nn.BCELoss()(torch.full((4,), 2.0), torch.ones(4))\n",
    "a module list that is too short": "layers = nn.ModuleList([nn.Linear(2, 2)])\nlayers[3]\n",
    "a dataset's own list": """
class Data(torch.utils.data.Dataset):
    rows = [1.0, 2.0]
    def __len__(self):
        return 3
    def __getitem__(self, index):
        return torch.tensor(self.rows[index])
for batch in torch.utils.data.DataLoader(Data()):
    pass
""",
}  # fmt: skip


@pytest.mark.parametrize("name", NEAR_MISSES)
def test_nothing_is_said(name: str, tmp_path: Path) -> None:
    assert "index-out-of-range" not in claims(crash_of(tmp_path / "net.py", HEAD + NEAR_MISSES[name].lstrip("\n")))


LABELS = """
model = nn.Linear(5, 3)
y = torch.tensor([[0, 7], [1, 2]])
scores = model(torch.randn(2, 2, 5)).transpose(1, 2)
loss = F.cross_entropy(scores, y)
"""


def test_the_evidence_survives_the_log(tmp_path: Path) -> None:
    crash = crash_of(tmp_path / "net.py", HEAD + LABELS)
    found = crash.evidence.indices
    assert found is not None and found.scores_from is not None
    assert (found.values, found.positions, found.size, found.scores_from.path) == ((7,), ((0, 1),), 3, "model")
    assert from_plain("CrashFact", to_plain(crash)) == crash


def test_what_is_ignored_is_not_counted(tmp_path: Path) -> None:
    source = "loss = F.cross_entropy(torch.randn(4, 3), torch.tensor([-100, 0, 5, -100]))\n"
    found = crash_of(tmp_path / "net.py", HEAD + source).evidence.indices
    assert found is not None
    assert (found.count, found.total, found.lowest, found.ignored) == (1, 2, 0, -100)


def test_looking_at_the_values_draws_no_random_numbers_and_changes_none(tmp_path: Path) -> None:
    torch.manual_seed(0)
    expected = torch.rand(3)
    torch.manual_seed(0)
    crash = crash_of(tmp_path / "net.py", HEAD + "x = torch.arange(6)\ny = x.view(2, 3)[:, 1:]\nx[y + 3]\n")
    assert crash.evidence.indices is not None
    assert crash.evidence.indices.values == (7, 8)
    assert torch.equal(torch.rand(3), expected)


def test_no_method_of_the_users_is_called(tmp_path: Path) -> None:
    source = """
called = []
class Box:
    def get(self):
        called.append(1)
        return torch.tensor([9])
box, x = Box(), torch.zeros(3)
x[box.get()]
"""
    crash = crash_of(tmp_path / "net.py", HEAD + source.replace("x[box", "try:\n    x[box") + (
        "except IndexError:\n    called_before = len(called)\n    raise\n"
    ))  # fmt: skip
    assert crash.evidence.indices is None
    assert "index-out-of-range" not in claims(crash)


def test_a_layer_of_the_same_size_that_made_no_scores_is_not_blamed(tmp_path: Path) -> None:
    source = """
table = torch.randn(4, 3)
model = nn.Linear(5, 3)
columns = torch.tensor([[3], [0], [1], [2]])
picked = table.gather(1, columns)
"""
    finding = judge(crash_of(tmp_path / "net.py", HEAD + source))[0]
    assert (finding.name, finding.where.line) == ("index-out-of-range", 9)
