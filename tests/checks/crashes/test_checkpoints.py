"""Crashes near a checkpoint that are none of its own, and what only a live process can show."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import NamedTuple

import pytest
import torch

from tests.checks.crashes.scripts import HEAD, claims, crash_of, judge
from torch_debugger.crashes.checkpoints import form_of
from torch_debugger.records.codec import from_plain, to_plain

OURS = {
    "checkpoint-keys", "checkpoint-shapes", "checkpoint-refused", "checkpoint-device", "damaged-checkpoint",
}  # fmt: skip
LOOKALIKES = {
    "the user's own missing keys": """
raise RuntimeError("Error(s) in loading state_dict for Net: Missing key(s) in state_dict: 'module.fc'")
""",
    "the user's own load_state_dict": """
class Net(nn.Linear):
    def load_state_dict(self, state_dict, strict=True):
        raise RuntimeError('Missing key(s) in state_dict: "weight"')
Net(4, 2).load_state_dict({"module.weight": torch.zeros(2, 4)})
""",
    "a hook that raises while loading": """
model = nn.Linear(4, 2)
def check(module, state_dict, *others):
    raise RuntimeError('Missing key(s) in state_dict: "weight"')
model.register_load_state_dict_pre_hook(check)
model.load_state_dict({"module.weight": torch.zeros(2, 4)})
""",
    "a key that the checkpoint "
    "lacks": "checkpoint = {'model': {}}\nnn.Linear(4, 2).load_state_dict(checkpoint['net'])\n",
    "the user's own size mismatch": """
model, state = nn.Linear(4, 2), {"weight": torch.zeros(3, 4)}
for name, value in state.items():
    if model.state_dict()[name].shape != value.shape:
        raise RuntimeError(f"size mismatch for {name}: copying a param with shape {value.shape}")
""",
    "values copied by hand": "nn.Linear(4, 2).weight.data.copy_(torch.zeros(3, 4))\n",
    "a parameter replaced by one of another shape": """
model = nn.Linear(4, 2)
model.weight = torch.zeros(2, 4)
""",
    "an optimizer's own check": """
optimizer = torch.optim.SGD(nn.Linear(4, 2).parameters(), lr=0.1)
optimizer.add_param_group({"params": []})
optimizer.load_state_dict({"state": {}, "param_groups": "none"})
""",
    "the user's own unpickling error": """
import pickle
raise pickle.UnpicklingError("Weights only load failed. Unsupported global: GLOBAL numpy.dtype")
""",
    "pickle on a text": "import pickle\npickle.loads(b'hello')\n",
    "a class whose unpickling raises": """
import io
class Broken:
    def __reduce__(self):
        return fail, ()
def fail():
    raise ValueError("no such sample")
import sys, types
sys.modules["broken_home"] = home = types.ModuleType("broken_home")
home.fail = fail
fail.__module__ = "broken_home"
file = io.BytesIO()
torch.save(Broken(), file)
file.seek(0)
torch.load(file, weights_only=False)
""",
    "a map_location of the user's that raises": """
import io
file = io.BytesIO()
torch.save(torch.zeros(2), file)
file.seek(0)
def place(storage, location):
    raise RuntimeError("Attempting to deserialize object on a CUDA device but torch.cuda.is_available()")
torch.load(file, map_location=place)
""",
    "a file that open does not find": "open('no_such_folder/model.pt', 'rb')\n",
    "a numpy file that is not there": "import numpy\nnumpy.load('no_such_folder/data.npy')\n",
    "a sample whose file is missing": """
class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 2
    def __getitem__(self, index):
        return torch.load(f"sample_{index}.pt")
for batch in torch.utils.data.DataLoader(Data()):
    pass
""",
    "the user's own end of file": "raise EOFError('Ran out of input')\n",
    "torch.load of a number": "torch.load(3)\n",
    "torch.load of a tensor": "torch.load(torch.zeros(2))\n",
    "an object that cannot be pickled": "import tempfile\ntorch.save(lambda x: x, tempfile.mktemp())\n",
    "an empty buffer": "import io\ntorch.load(io.BytesIO())\n",
}  # fmt: skip


@pytest.mark.parametrize("name", LOOKALIKES)
def test_nothing_is_said(name: str, tmp_path: Path) -> None:
    assert not OURS & set(claims(crash_of(tmp_path / "net.py", HEAD + LOOKALIKES[name].lstrip("\n"))))


def test_a_disk_that_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Usage(NamedTuple):
        free: int

    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(4000))
    source = 'model = nn.Linear(300, 10)\ntorch.save(model.state_dict(), "/dev/full")\n'
    finding = judge(crash_of(tmp_path / "net.py", HEAD + source))[0]
    assert (finding.name, finding.confidence) == ("damaged-checkpoint", 0.95)
    assert "0 bytes of at least 12 kB; 4 kB are free there" in finding.message


def test_a_write_that_stops_though_there_is_room_is_told_with_doubt(tmp_path: Path) -> None:
    source = 'torch.save({"w": torch.zeros(3000)}, "/dev/full")\n'
    finding = judge(crash_of(tmp_path / "net.py", HEAD + source))[0]
    assert (finding.name, finding.confidence) == ("damaged-checkpoint", 0.8)
    assert "quota" in finding.why


def test_a_device_of_a_higher_number_than_there_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "_lazy_init", lambda: None)
    source = """
import io
file = io.BytesIO()
torch.save(torch.zeros(2), file)
file.seek(0)
torch.load(file, map_location="cuda:5")
"""
    finding = judge(crash_of(tmp_path / "net.py", HEAD + source))[0]
    assert finding.name == "checkpoint-device"
    assert "there are only `cuda:0` to `cuda:1` here" in finding.message
    assert finding.edit is not None
    assert 'map_location="cuda:0"' in finding.edit.after


def test_a_file_that_is_gone_by_now_is_not_called_missing(tmp_path: Path) -> None:
    source = """
import os, tempfile
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "last.pt")
    torch.save(torch.zeros(60000), path)
    os.truncate(path, 150000)
    torch.load(path)
"""
    finding = judge(crash_of(tmp_path / "net.py", HEAD + source))[0]
    assert (finding.name, finding.confidence) == ("damaged-checkpoint", 0.85)
    assert "was cut short when torch.load read it" in finding.message


def test_a_whole_model_names_all_its_classes(tmp_path: Path) -> None:
    source = """
import __main__, os, tempfile
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 2), nn.ReLU())
__main__.Net = Net
path = os.path.join(tempfile.mkdtemp(), "net.pt")
torch.save(Net(), path)
net = torch.load(path)
"""
    finding = judge(crash_of(tmp_path / "net.py", HEAD + source))[0]
    assert finding.message.startswith("torch.load refused a whole model")
    assert finding.edit is not None
    assert all(name in finding.edit.after for name in ("[Net", "nn.Linear", "nn.Sequential", "nn.ReLU"))
    assert "state_dict()" in finding.fix


def test_nothing_in_a_refused_file_is_run(tmp_path: Path) -> None:
    touched = tmp_path / "touched"
    source = f"""
import os, tempfile
class Evil:
    def __reduce__(self):
        return os.mkdir, ({str(touched)!r},)
path = os.path.join(tempfile.mkdtemp(), "evil.pt")
torch.save(Evil(), path)
torch.load(path)
"""
    assert claims(crash_of(tmp_path / "net.py", HEAD + source)) == ["checkpoint-refused"]
    assert not touched.exists()


def test_thousands_of_names_are_compared_in_a_moment(tmp_path: Path) -> None:
    source = """
model = nn.Sequential(*[nn.Linear(1, 1) for _ in range(1400)])
model.load_state_dict({f"module.{name}": value for name, value in model.state_dict().items()})
"""
    crash = crash_of(tmp_path / "net.py", HEAD + source)
    assert from_plain("CrashFact", to_plain(crash)) == crash
    assert "2800 tensors" in judge(crash)[0].message


@pytest.mark.parametrize(
    ("head", "form"),
    [
        (b"", "empty"),
        (b"\0" * 256, "zeros"),
        (b"PK\x03\x04" + b"x" * 100, "cut-zip"),
        (b"\x93NUMPY\x01\x00", "numpy"),
        (b"  <html><body>404", "html"),
        (b'{"epoch": 3}', "json"),
        (b"hello there", "text"),
        (b"\xffabc\x00\x01", "unknown"),
        (b"\x80\x04\x95abc", "pickle"),
        (b"\x10\0\0\0\0\0\0\0{" + b" " * 20, "safetensors"),
        (b"\x40\0\0\0\0\0\0\0{" + b" " * 20, "cut-safetensors"),
    ],
)
def test_what_a_file_is(head: bytes, form: str) -> None:
    assert form_of(head, head[-512:], len(head)) == form


def test_files_that_torch_writes_are_known(tmp_path: Path) -> None:
    torch.save(torch.zeros(2), tmp_path / "new.pt")
    torch.save(torch.zeros(2), tmp_path / "old.pt", _use_new_zipfile_serialization=False)
    forms = []
    for name in ("new.pt", "old.pt"):
        content = (tmp_path / name).read_bytes()
        forms.append(form_of(content[:256], content[-512:], len(content)))
    assert forms == ["zip", "old-torch"]
