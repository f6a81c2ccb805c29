"""Crashes that look like an error of a shape, a dtype, a view or packed sequences, or happen near one."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.checks.crashes.scripts import HEAD, claims, crash_of, judge
from torch_debugger.checks.crashes.shapes_sequences import explain_packing
from torch_debugger.records import CrashEvidence, CrashFact, Place
from torch_debugger.records.codec import from_plain, to_plain
from torch_debugger.records.crash import PackingEvidence

PACK = "from torch.nn.utils.rnn import pack_padded_sequence, pack_sequence, pad_packed_sequence\n"
NEAR_MISSES = {
    "the user's own error about a view": """
x = torch.randn(3, 4).t()
if not x.is_contiguous():
    raise RuntimeError("view size is not compatible with input tensor's size and stride (at least one)")
""",
    "the user's own error behind a view that works": """
x = torch.randn(3, 4).t()
def refuse(flat):
    raise RuntimeError("view size is not compatible with input tensor's size and stride (at least one)")
refuse(x.contiguous().view(12))
""",
    "a view as another dtype": "x = torch.randn(3, 4).t()\nx.view(torch.int16)\n",
    "the user's own error about lengths": """
x, lengths = torch.randn(4, 9, 6), torch.tensor([3, 9, 5, 2])
def pack_padded_sequence(x, lengths):
    raise RuntimeError("Expected `len(lengths)` to be equal to batch_size, but got 4 (batch_size=9)")
pack_padded_sequence(x, lengths)
""",
    "a list of sequences that is not sorted": """
x, lengths = torch.randn(4, 9, 6), torch.tensor([3, 9, 5, 2])
good = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
pack_sequence([torch.randn(2, 6), torch.randn(5, 6)])
""",
    "lengths with a dimension too many": """
x, lengths = torch.randn(2, 9, 6), torch.tensor([[9], [5]])
pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
""",
    "lengths without values": """
x, lengths = torch.randn(2, 9, 6), torch.tensor([9, 5], device="meta")
pack_padded_sequence(x, lengths, batch_first=True)
""",
    "sequences packed elsewhere": """
def pack(x, lengths):
    return pack_padded_sequence(x, lengths, enforce_sorted=False)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(6, 8)
    def forward(self, packed):
        return self.gru(packed)
Net()(pack(torch.randn(4, 9, 6), torch.tensor([3, 9, 5, 2])))
""",
    "sequences packed by hand": """
gru = nn.GRU(6, 8)
x, lengths = torch.randn(4, 9, 6), torch.tensor([9, 5, 3, 2])
good = pack_padded_sequence(x, lengths, batch_first=True)
bad = torch.nn.utils.rnn.PackedSequence(torch.randn(5, 6), torch.tensor([4, 4]))
gru(bad)
""",
}


@pytest.mark.parametrize("source", NEAR_MISSES.values(), ids=NEAR_MISSES.keys())
def test_is_not_claimed(source: str, tmp_path: Path) -> None:
    assert "shape-mismatch" not in claims(crash_of(tmp_path / "net.py", HEAD + PACK + source))


def test_a_layer_of_another_size_is_not_blamed_on_the_packing(tmp_path: Path) -> None:
    source = """
gru = nn.GRU(5, 8, batch_first=True)
packed = pack_padded_sequence(torch.randn(4, 9, 6), torch.tensor([9, 5, 3, 2]), batch_first=True)
gru(packed)
"""
    crash = crash_of(tmp_path / "net.py", HEAD + PACK + source)
    assert crash.evidence.packing is None
    assert all("pack_padded_sequence" not in finding.message for finding in judge(crash))


def test_a_view_with_too_many_elements_is_not_blamed_on_the_order(tmp_path: Path) -> None:
    crash = crash_of(tmp_path / "net.py", f"{HEAD}x = torch.randn(3, 4).t()\nx.view(13)\n")
    assert crash.evidence.view is None
    assert "not contiguous" not in judge(crash)[0].message


def test_a_view_inside_the_arguments_stays_a_view(tmp_path: Path) -> None:
    source = "x, y = torch.randn(3, 4).t(), torch.ones(12)\nz = x.view(y.view(-1).shape)\n"
    edit = judge(crash_of(tmp_path / "net.py", HEAD + source))[0].edit
    assert edit is not None and edit.after == "z = x.reshape(y.view(-1).shape)"


def test_where_python_does_not_tell_the_expression(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch_debugger.crashes.frames.failing_expression", lambda *_: "")
    source = "x = torch.randn(3, 4)\ny = x.view(12).sum() + x.t().view(12).sum() + x.view(2, 6).sum()\n"
    view = crash_of(tmp_path / "net.py", HEAD + source).evidence.view
    assert view is not None and view.expression == "x.t().view(12)"


def test_the_crash_leaves_the_tensor_as_it_was(tmp_path: Path) -> None:
    state = torch.get_rng_state()
    crash = crash_of(tmp_path / "net.py", f"{HEAD}x = torch.ones(3, 4).swapaxes(0, 1)\nx.view(12)\n")
    assert crash.evidence.view is not None and crash.evidence.view.shape == (4, 3)
    assert torch.equal(state, torch.get_rng_state())


@pytest.mark.parametrize("source", ["x = torch.ones(3, 4).t()\nx.view(12)\n", "x = torch.ones(4, 9, 2)\n"
                                    "pack_padded_sequence(x, torch.tensor([9, 4, 3, 2]))\n"])  # fmt: skip
def test_read_back_from_the_log_it_is_explained_the_same(source: str, tmp_path: Path) -> None:
    crash = crash_of(tmp_path / "net.py", HEAD + PACK + source)
    again = from_plain("CrashFact", to_plain(crash))
    assert isinstance(again, CrashFact)
    assert judge(again) == judge(crash)
    assert claims(again) == ["shape-mismatch"]


def test_lengths_on_a_gpu() -> None:
    code = "packed = pack_padded_sequence(x, lengths, batch_first=True)"
    place = Place("net.py", 7, None, code)
    fact = PackingEvidence(place, code.removeprefix("packed = "), (4, 9, 6), True, True, 4, "cuda:0")
    evidence = CrashEvidence(packing=fact)
    blame = explain_packing(CrashFact("RuntimeError", "", (), place, None, "", 1, evidence=evidence))
    assert blame is not None and "got its lengths on cuda:0" in blame.message
    assert blame.edit and blame.edit.after == "packed = pack_padded_sequence(x, lengths.cpu(), batch_first=True)"


WRONG = {"shape-mismatch", "dtype-mismatch"}
LOOKALIKES = {
    "the user's own ValueError": "raise ValueError('mat1 and mat2 shapes cannot be multiplied')\n",
    "the user's own RuntimeError": """
x = torch.randn(2, 3)
y = torch.randn(4, 5)
if x.shape != y.shape:
    raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied: {x.shape} @ {y.shape}")
""",
    "a RuntimeError inside forward": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)
    def forward(self, x):
        out = self.fc(x)
        raise RuntimeError("expected dtype Long")
Net()(torch.randn(3, 4))
""",
    "a key that is not there": "batch = {'x': torch.randn(2)}\nbatch['y'] @ batch['x']\n",
    "an attribute that is not there": "nn.Linear(4, 2).wieght @ torch.randn(3)\n",
    "an embedding index out of range": "emb = nn.Embedding(10, 4)\nemb(torch.tensor([3, 10]))\n",
    "a class number out of range": "F.cross_entropy(torch.randn(4, 3), torch.tensor([0, 1, 2, 3]))\n",
    "an index out of range": "x = torch.randn(3)\nx[5]\n",
    "tensors on two devices": "a = torch.randn(2, 3)\nb = torch.randn(2, 3, device='meta')\na + b\n",
    "a model on another device": "net = nn.Linear(4, 2, device='meta')\nnet(torch.randn(3, 4))\n",
    "backward twice": "x = torch.ones(2, requires_grad=True)\ny = (x * x).sum()\ny.backward()\ny.backward()\n",
    "no graph": "x = torch.ones(2)\nx.sum().backward()\n",
    "batch norm of one value": "nn.BatchNorm1d(4)(torch.randn(1, 4))\n",
    "a wrong number of arguments": "nn.Linear(4, 2)(torch.randn(3, 4), torch.randn(3, 4))\n",
    "an error in a hook": """
net = nn.Linear(4, 2)
def hook(module, given, made):
    raise RuntimeError("wrong type of scalar")
net.register_forward_hook(hook)
net(torch.randn(3, 4))
""",
    "an in-place write to a leaf": "w = torch.ones(3, requires_grad=True)\nw += 1\n",
    "a model given to an optimizer": "torch.optim.Adam(nn.Linear(3, 2), lr=1e-3)\n",
    "a loss called as its constructor": "nn.CrossEntropyLoss(torch.randn(8, 4), torch.zeros(8))\n",
    "a probability out of range": "nn.BCELoss()(torch.full((8, 1), 9.0), torch.ones(8, 1))\n",
    "the user's own assertion about a shape": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)
    def forward(self, x):
        assert x.shape[1] == 4, f"expected 4 features, got {x.shape[1]}"
        return self.fc(x)
Net()(torch.randn(3, 5))
""",
    "backward of many numbers": "nn.Linear(3, 2)(torch.randn(4, 3)).backward()\n",
    "a tuple into a layer": "lstm, fc = nn.LSTM(4, 8), nn.Linear(6, 2)\nfc(lstm(torch.randn(2, 5, 4)))\n",
    "a truth value of many numbers": "x, y = torch.ones(4), torch.ones(3)\nif x > 0:\n    x + y\n",
    "a dimension of numpy's": "import numpy\nx = torch.ones(3, 4)\nnumpy.ones((3, 4)).sum(axis=5)\n",
    "a list taken apart": "x = torch.ones(3, 4)\na, b, c = [x, x]\n",
    "a user's own error about dimensions": """
x = torch.ones(3, 4)
if x.dim() != 3:
    raise IndexError("Dimension out of range (expected to be in range of [-2, 1], but got 2)")
""",
    "numpy's own shape error": """
import numpy
a, b = numpy.zeros((3, 4)), numpy.zeros((5, 6))
x, y = torch.zeros(3, 4), torch.zeros(5, 6)
c = a @ b
""",
    "the user's own error in a dataset": """
class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 4
    def __getitem__(self, index):
        a, b = torch.zeros(3), torch.zeros(4)
        message = "stack expects each tensor to be equal size, but got [3] at entry 0 and [4] at entry 1"
        raise RuntimeError(message)
for batch in torch.utils.data.DataLoader(Data(), batch_size=2):
    pass
""",
    "a broadcasting loss on two devices": "F.mse_loss(torch.randn(8, 1), torch.randn(8, device='meta'))\n",
    "a gradient of the wrong shape": "x = torch.ones(3, requires_grad=True)\n(x * 2).backward(torch.ones(4))\n",
}  # fmt: skip


@pytest.mark.usefixtures("with_and_without_positions")
@pytest.mark.parametrize("name", LOOKALIKES)
def test_nothing_is_said(name: str, tmp_path: Path) -> None:
    assert not WRONG & set(claims(crash_of(tmp_path / "net.py", HEAD + LOOKALIKES[name].lstrip("\n"))))


def test_a_shape_error_under_autocast_is_not_called_a_dtype_error(tmp_path: Path) -> None:
    source = """
model = nn.Sequential(
    nn.Linear(4, 8),
    nn.Linear(6, 2),
)
with torch.autocast("cpu", dtype=torch.bfloat16):
    model(torch.randn(3, 4))
"""
    findings = judge(crash_of(tmp_path / "net.py", HEAD + source))
    assert [finding.name for finding in findings] == ["shape-mismatch"]
