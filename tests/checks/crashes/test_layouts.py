"""Crashes near a view of a reordered tensor, or near packed sequences, whose cause is another one."""

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
    assert blame.edit is not None
    assert blame.edit.after == "packed = pack_padded_sequence(x, lengths.cpu(), batch_first=True)"
