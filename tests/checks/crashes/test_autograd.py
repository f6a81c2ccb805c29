"""Crashes near those of autograd that are something else, and what its explanations must leave alone."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.checks.crashes.scripts import HEAD, claims, crash_of, judge, run_script
from torch_debugger.crashes.capture import capture_crash

OURS = {
    "modified-in-place", "backward-twice", "loss-without-graph", "leaf-modified-in-place",
    "tensor-needs-detach", "custom-function-gradients", "loss-not-scalar",
}  # fmt: skip
TRAIN = "model = nn.Linear(4, 1)\nx, y = torch.randn(8, 4), torch.randn(8, 1)\n"
FUNCTION = """
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, grad_output):
        {}
x = torch.randn(4, requires_grad=True)
Double.apply(x).sum().backward()
"""
LOOKALIKES = {
    "the user's own words about a write": TRAIN
    + """
loss = (model(x) - y).pow(2).mean()
raise RuntimeError(
    "one of the variables needed for gradient computation has been modified by an inplace operation: "
    "[torch.FloatTensor [1, 4]] is at version 2; expected version 1 instead."
)
""",
    "the user's own words in a hook": TRAIN
    + """
def hook(grad):
    raise RuntimeError("Trying to backward through the graph a second time")
out = model(x)
out.register_hook(hook)
loss = out.mean()
loss.backward()
""",
    "the user's own words about a graph": TRAIN
    + """
loss = model(x).detach().mean()
if not loss.requires_grad:
    raise RuntimeError("element 0 of tensors does not require grad and does not have a grad_fn")
""",
    "the user's own words about a leaf": """
w = torch.zeros(3, requires_grad=True)
def add(w):
    raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
w = add(w)
""",
    "the user's own words about numpy": TRAIN
    + """
out = model(x)
def to_numpy(tensor):
    raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
to_numpy(out)
""",
    "the user's own words about gradients": FUNCTION.format(
        'raise RuntimeError("function DoubleBackward returned an incorrect number of gradients (expected 1, got 2)")'
    ),
    "the user's own words about scalars": TRAIN
    + """
loss = (model(x) - y) ** 2
if loss.dim():
    raise RuntimeError("grad can be implicitly created only for scalar outputs")
""",
    "an error inside a custom backward": FUNCTION.format("return grad_output * missing"),
    "a list too short in a custom backward": FUNCTION.format("a, b = [grad_output]"),
    "an attribute of something else in a custom backward": FUNCTION.format("return grad_output.scaled"),
    "shapes that do not fit in a custom backward": FUNCTION.format("return grad_output + torch.zeros(3)"),
    "a write of the wrong shape": "h = torch.zeros(4, 3)\nh[:, 0] = torch.zeros(5)\n",
    "a write with the wrong dtype": "h = torch.zeros(4, dtype=torch.long)\nh += 0.5\n",
    "a write to an expanded tensor": "h = torch.zeros(1, 4).expand(3, 4)\nh += 1\n",
    "a leaf changed in size": "w = torch.zeros(4, requires_grad=True)\nw.resize_(8)\n",
    "the user's own words about an input of autograd.grad": """
a, b = torch.ones(3, requires_grad=True), torch.ones(3)
if not b.requires_grad:
    raise RuntimeError("One of the differentiated Tensors does not require grad")
""",
    "a gradient asked before the first backward": """
w = torch.zeros(3, requires_grad=True)
for step in range(3):
    w.grad.zero_()
    (w * 2).sum().backward()
    with torch.no_grad():
        w = w - 0.1 * w.grad
""",
    "a weight that was no leaf from the start": """
w = torch.randn(3, requires_grad=True) * 0.1
for step in range(3):
    (w * 2).sum().backward()
    w = w - 0.1 * w.grad
""",
    "another None beside weights that were left behind": """
w, names = torch.zeros(3, requires_grad=True), {}
(w * 2).sum().backward()
with torch.no_grad():
    w = w - 0.1 * w.grad
names.get("w").lower()
""",
    "another None beside weights that are made anew to be trained": """
w, names = torch.zeros(3, requires_grad=True), {}
for step in range(3):
    (w * 2).sum().backward()
    w = (w - 0.1 * w.grad).detach().requires_grad_()
    print(w.grad.sum())
""",
    "a weight that asked for a gradient and was frozen elsewhere": """
def settle(tensor):
    setattr(tensor, "requires_" + "grad", False)
w = torch.zeros(3, requires_grad=True)
settle(w)
loss = (w * 2).sum()
loss.backward()
print(w.grad)
""",
    "an input of autograd.grad without grad": """
a, b = torch.ones(3, requires_grad=True), torch.ones(3)
torch.autograd.grad((a * 2).sum(), b)
""",
    "None instead of a loss": TRAIN + "def compute(x):\n    model(x).mean()\nloss = compute(x)\nloss.backward()\n",
    "a list instead of a loss": TRAIN + "losses = [model(x).mean()]\nlosses.backward()\n",
    "a float asked for something else": TRAIN + "loss = model(x).mean().item()\nloss.item()\n",
    "a number as gradient": "w = torch.randn(3, requires_grad=True)\n(w * 2).backward(gradient=1.0)\n",
    "a whole number that should require grad": "torch.zeros(3, dtype=torch.long, requires_grad=True)\n",
    "a computed tensor whose flag is changed": TRAIN + "out = model(x)\nout.requires_grad = False\n",
    "an array of unequal rows": """
import numpy as np
np.stack([torch.zeros(3).numpy(), torch.zeros(4).numpy()])
""",
    "a lock that cannot be copied": "import copy, threading\ncopy.deepcopy(threading.Lock())\n",
    "numpy asked of a sparse tensor": "torch.zeros(3, 3).to_sparse().numpy()\n",
    "an out argument": """
w = torch.zeros(3, requires_grad=True)
out = torch.zeros(3)
torch.add(w, w, out=out)
""",
}


@pytest.mark.usefixtures("with_and_without_positions")
@pytest.mark.parametrize("name", LOOKALIKES)
def test_another_fault_is_not_claimed(name: str, tmp_path: Path) -> None:
    assert not OURS & set(claims(crash_of(tmp_path / "net.py", HEAD + LOOKALIKES[name].lstrip("\n"))))


GATED = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8)
        self.norm = nn.BatchNorm1d(8)
        self.drop = nn.Dropout(0.5)
        self.calls = []
    def forward(self, x):
        self.calls.append(x.shape)
        gate = torch.sigmoid(self.norm(self.fc(x)))
        gate *= 2
        return self.drop(gate) * x
torch.manual_seed(0)
net = Net()
x = torch.randn(4, 8)
loss = net(x).sum()
loss.backward()
"""


def test_the_replay_leaves_no_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    error = run_script(tmp_path / "net.py", HEAD + GATED)
    assert error is not None and error.__traceback__ is not None
    names = error.__traceback__.tb_next.tb_frame.f_globals  # type: ignore[union-attr]
    net, random = names["net"], torch.get_rng_state()
    before = {name: (value.clone(), value._version) for name, value in net.state_dict(keep_vars=True).items()}
    crash = capture_crash(error, 1)
    assert [finding.name for finding in judge(crash)] == ["modified-in-place"]
    assert torch.equal(torch.get_rng_state(), random)
    assert len(net.calls) == 1 and all(parameter.grad is None for parameter in net.parameters())
    for name, value in net.state_dict(keep_vars=True).items():
        assert torch.equal(value, before[name][0]) and value._version == before[name][1]
    assert capsys.readouterr().out == ""


def test_a_forward_that_writes_its_own_weights_is_not_run_into_them(tmp_path: Path) -> None:
    source = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(10, 4, max_norm=0.5)
    def forward(self, tokens):
        scale = self.embed.weight.pow(2).sum()
        return self.embed(tokens).sum() * scale
net = Net()
tokens = torch.arange(10)
loss = net(tokens)
with torch.no_grad():
    net.embed.weight.mul_(10)
loss.backward()
"""
    error = run_script(tmp_path / "net.py", HEAD + source)
    assert error is not None and error.__traceback__ is not None
    weight = error.__traceback__.tb_next.tb_frame.f_globals["net"].embed.weight  # type: ignore[union-attr]
    kept, version = weight.detach().clone(), weight._version
    capture_crash(error, 1)
    assert torch.equal(weight, kept) and weight._version == version
