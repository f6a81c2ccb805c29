"""Crashes near a device mismatch that are something else, and mismatches that only a GPU has."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.checks.crashes.scripts import HEAD, claims, crash_of, judge, tell
from torch_debugger.records import CrashFact, LocalTensor, Place
from torch_debugger.records.crash import CrashEvidence, DeviceEvidence, MetTensor

LOOKALIKES = {
    "the user's own RuntimeError": """
x, y = torch.randn(2), torch.randn(2, device="meta")
if x.device != y.device:
    raise RuntimeError("Expected all tensors to be on the same device")
""",
    "the user's own assertion": """
x, y = torch.randn(2), torch.randn(2, device="meta")
assert x.device == y.device, "Torch not compiled with CUDA enabled"
""",
    "a shape error on one device": "torch.randn(2, 3, device='meta') + torch.randn(4, device='meta')\n",
    "a shape error beside another device": """
other = torch.randn(3, device="meta")
x = torch.randn(2, 3) + torch.randn(4)
""",
    "a value of a meta tensor": "x = torch.ones(2, device='meta').sum()\nprint(float(x))\n",
    "a compiler that cannot follow a branch": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)
    def forward(self, x):
        y = self.fc(x)
        return y if y.mean() > 0 else -y
net = torch.compile(Net(), backend="eager", fullgraph=True)
x = torch.randn(3, 4)
out = net(x)
""",
    "a misspelt attribute": "torch.ones(2).devce\n",
    "a dtype error on one device": "torch.ones(2, 2).long() @ torch.ones(2, 2)\n",
    "an error of the user's device class": """
class Device:
    def connect(self):
        raise ConnectionError("device not found")
Device().connect()
""",
    "numpy of a tensor in training": "x = torch.ones(2, requires_grad=True)\nx.numpy()\n",
    "a TypeError about numpy": 'raise TypeError("can\'t convert cuda:0 device type tensor to numpy")\n',
    "a word that is no device": "torch.device('fast')\n",
}


@pytest.mark.parametrize("name", LOOKALIKES)
def test_it_is_not_called_a_device_mismatch(name: str, tmp_path: Path) -> None:
    assert "device-mismatch" not in claims(crash_of(tmp_path / "net.py", HEAD + LOOKALIKES[name].lstrip("\n")))


def on(device: str, name: str, role: str = "variable", **others: object) -> MetTensor:
    return MetTensor(LocalTensor(name, (4,), "float32", device, False), role, **others)  # type: ignore[arg-type]


def crash(message: str, code: str, evidence: DeviceEvidence, tmp_path: Path, kind: str = "RuntimeError") -> CrashFact:
    """A crash of a real script, in the words and on the devices of a machine with a GPU."""
    real = crash_of(tmp_path / "net.py", f"x = [1]\n{code}\n")
    return replace(real, kind=kind, message=message, evidence=CrashEvidence(devices=evidence))


def test_an_optimizer_whose_state_stayed_behind(tmp_path: Path) -> None:
    met = (on("cuda:0", "parameter", "weights"), on("cpu", "exp_avg", "state"))
    fact = crash("Expected all tensors to be on the same device", "x.step()", DeviceEvidence(met, "cuda:0"), tmp_path)
    assert tell(judge(fact)[0]).splitlines()[1] == (
        "The optimizer's `exp_avg` is on cpu, but the parameter is on cuda:0 at net.py:2."
    )


def test_a_tensor_of_the_gpu_given_to_numpy(tmp_path: Path) -> None:
    tensor = LocalTensor("scores", (4,), "float32", "cuda:0", True)
    met = (MetTensor(tensor, "variable"),)
    message = "can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor first."
    fact = crash(message, "scores = x.numpy()", DeviceEvidence(met, "cuda:0"), tmp_path, "TypeError")
    finding = judge(fact)[0]
    assert finding.name == "device-mismatch"
    assert finding.edit is not None and finding.edit.after == "scores = x.detach().cpu().numpy()"


def test_a_number_that_no_gpu_has(tmp_path: Path) -> None:
    asked = Place(str(tmp_path / "net.py"), 2, None, 'device = x.device("cuda:3")')
    evidence = DeviceEvidence(asked="cuda:3", asked_at=asked, usable=("cuda:0", "cuda:1"))
    fact = crash("CUDA error: invalid device ordinal", 'device = x.device("cuda:3")', evidence, tmp_path)
    finding = judge(fact)[0]
    assert finding.message == ("net.py:2 asks for cuda:3, but this process sees 2 CUDA devices: cuda:0, cuda:1.")
    assert finding.edit is not None and finding.edit.after == 'device = x.device("cuda:1")'


def test_a_device_that_is_there_is_not_called_absent(tmp_path: Path) -> None:
    asked = Place(str(tmp_path / "net.py"), 2, None, 'x.to("cuda:0")')
    evidence = DeviceEvidence(asked="cuda:0", asked_at=asked, usable=("cuda:0",))
    fact = crash("CUDA error: invalid device ordinal", 'x.to("cuda:0")', evidence, tmp_path)
    assert claims(fact) == []


def test_numbers_without_dimensions_may_meet_any_device(tmp_path: Path) -> None:
    scalar = MetTensor(LocalTensor("eps", (), "float32", "cpu", False), "variable")
    evidence = DeviceEvidence((scalar, on("cuda:0", "x")), "cuda:0")
    assert claims(crash("device", "x.add(1)", evidence, tmp_path)) == []
