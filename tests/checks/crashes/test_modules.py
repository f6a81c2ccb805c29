"""Crashes near those of modules, optimizers and schedulers built or called wrongly, and none of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checks.crashes.scripts import HEAD, claims, crash_of, judge
from torch_debugger.records.codec import from_plain, to_plain

OURS = {
    "super-init-missing", "forward-missing", "forward-arguments", "empty-parameter-list", "parameter-groups",
    "scheduler-call", "not-a-module", "class-not-object", "not-a-tensor",
}  # fmt: skip

NET = """
class Net(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.fc = nn.Linear(width, 2)

    def forward(self, x):
        return self.fc(x)

net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
"""

NEAR = {
    "the user's own words about __init__": """
raise AttributeError("cannot assign module before Module.__init__() call")
""",
    "an attribute that nobody makes": NET + "net.weights\n",
    "an attribute of a plain object": "class Config:\n    pass\n\nConfig().hidden\n",
    "an own __init__ that raises": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        raise TypeError("takes 1 positional argument but 2 were given")

Net()
""",
    "a conversion to int with arguments": """
class Money:
    def __int__(self):
        return 3

Money(4)
""",
    "a constructor of the user's with too few arguments": """
class Net(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.fc = nn.Linear(width, depth)

Net(4)
""",
    "an abstract method of the user's": """
class Base(nn.Module):
    def forward(self, x):
        raise NotImplementedError("write forward in the subclass")

Base()(torch.zeros(2))
""",
    "the words of a missing forward": """
raise NotImplementedError('Module [Net] is missing the required "forward" function')
""",
    "a function of the user's inside forward": """
def scale(x, factor):
    return x * factor

class Net(nn.Module):
    def forward(self, x):
        return scale(x)

Net()(torch.zeros(2))
""",
    "a TypeError of the user's inside forward": """
class Net(nn.Module):
    def forward(self, x):
        raise TypeError("forward() missing 1 required positional argument: 'mask'")

Net()(torch.zeros(2))
""",
    "a method with other arguments": NET + "net.load_state_dict()\n",
    "a hook with other arguments": NET + """
net.register_forward_hook(lambda module: None)
net(torch.zeros(1, 4))
""",
    "the words of an empty list": 'raise ValueError("optimizer got an empty parameter list")\n',
    "an empty list written out": "torch.optim.SGD([], lr=0.1)\n",
    "a list that the user emptied": "groups = []\ntorch.optim.SGD(groups, lr=0.1)\n",
    "the words of a learning rate": "raise ValueError('Invalid learning rate: -1')\n",
    "a number that is no iterable": "for item in 3:\n    pass\n",
    "two generators that are no parameters": "a = (i for i in range(3))\nb = (i for i in range(3))\na + b\n",
    "a key of the user's own dict": "config = {'lr': 0.1}\nconfig['params']\n",
    "an optimizer's state of another model": """
a, b = nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
saved = torch.optim.Adam(b.parameters()).state_dict()
torch.optim.Adam(a.parameters()).load_state_dict(saved)
""",
    "a closure that raises by itself": NET + """
def closure():
    raise TypeError("'Tensor' object is not callable")

optimizer.step(closure)
""",
    "a step of the user's own": """
class Schedule:
    def step(self, metrics):
        return metrics

scheduler = Schedule()
scheduler.step()
""",
    "a schedule's function that raises": NET + """
torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 1 / epoch)
""",
    "the words about steps": """
raise ValueError("Tried to step 4 times. The specified number of total steps is 3")
""",
    "a division by zero of the user's": "steps = 0\nprint(10 % steps)\n",
    "a taken name in a dict of the user's": "raise KeyError(\"attribute 'mean' already exists\")\n",
    "a list of modules that is indexed too far": "layers = nn.ModuleList([nn.Linear(2, 2)])\nlayers[3]\n",
    "a key that a ModuleDict lacks": "heads = nn.ModuleDict({'a': nn.Linear(2, 2)})\nheads['b']\n",
    "a property of the user's module that raises": """
class Net(nn.Module):
    @property
    def size(self):
        return self.missing + 1

Net().size
""",
    "a weighted loss and a comparison": """
weights = torch.tensor([1.0, 2.0])
criterion = nn.CrossEntropyLoss(weights)
if weights > 1:
    pass
""",
    "a truth value in a function of the user's": """
def pick(x):
    return 1 if x else 2

pick(torch.zeros(3))
""",
    "a module of the user's built from a tensor, with another fault inside": """
class Table(nn.Module):
    def __init__(self, values):
        super().__init__()
        self.values = values
        self.first = values.missing

Table(torch.zeros(3))
""",
    "a loss with class weights of the wrong number": """
criterion = nn.CrossEntropyLoss(torch.ones(2))
criterion(torch.zeros(4, 3), torch.zeros(4).long())
""",
    "None out of a dict": "stats = {}\nscale = stats.get('scale')\ntorch.zeros(3) * scale\n",
    "None that a function returns on purpose": """
def find(name):
    if name == "a":
        return torch.zeros(3)
    return None

found = find("b")
found.mean()
""",
    "a text where a number was meant": "name = 'abc'\nname.mean()\n",
    "a tuple of the user's own": "shape = (3, 4)\nshape['rows']\n",
    "a forward of the user's that takes a list": """
class Net(nn.Module):
    def forward(self, parts):
        return parts[0] + parts[5]

Net()([torch.zeros(2), torch.zeros(2)])
""",
    "a dataclass with another attribute": """
import dataclasses

@dataclasses.dataclass
class Batch:
    x: torch.Tensor

Batch(torch.zeros(2)).labels
""",
}  # fmt: skip


@pytest.mark.usefixtures("with_and_without_positions")
@pytest.mark.parametrize("name", NEAR)
def test_nothing_is_said(name: str, tmp_path: Path) -> None:
    assert not OURS & set(claims(crash_of(tmp_path / "net.py", HEAD + NEAR[name].lstrip("\n"))))


def test_the_evidence_survives_the_log(tmp_path: Path) -> None:
    source = NET.replace("super().__init__()", "pass")
    crash = crash_of(tmp_path / "net.py", HEAD + source)
    again = from_plain("CrashFact", to_plain(crash))
    assert again == crash
    assert [finding.name for finding in judge(crash)] == ["super-init-missing"]


def test_hooks_do_not_hide_a_wrong_call(tmp_path: Path) -> None:
    source = NET + "net.register_forward_hook(lambda *_: None)\nnet(torch.zeros(1, 4), 3)\n"
    assert claims(crash_of(tmp_path / "net.py", HEAD + source)) == ["forward-arguments"]


def test_a_wrong_base_class_two_levels_up(tmp_path: Path) -> None:
    source = """
class Base(nn.Module):
    def __init__(self, width):
        self.width = width

class Net(Base):
    def __init__(self):
        super().__init__(4)
        self.fc = nn.Linear(4, 2)

Net()
"""
    (finding,) = judge(crash_of(tmp_path / "net.py", HEAD + source))
    assert (finding.name, finding.where.code) == ("super-init-missing", "self.width = width")


def test_the_examiner_looks_and_touches_nothing(tmp_path: Path) -> None:
    source = NET + "parameters = net.parameters()\nlist(parameters)\ntorch.optim.Adam(parameters)\n"
    error_crash = crash_of(tmp_path / "net.py", HEAD + source)
    assert claims(error_crash) == ["empty-parameter-list"]


NORMALIZED = "net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8))\n"

NEAR_ONE_SAMPLE = {
    "the user's own words": 'raise ValueError("Expected more than 1 value per channel when training")\n',
    "no sample at all": NORMALIZED + "net(torch.randn(0, 5))\n",
    "other features": NORMALIZED + "net(torch.randn(1, 5))\n",
    "no batch dimension": NORMALIZED + "net.eval()\nnet(torch.randn(4))\n",
    "a layer for images": "net = nn.BatchNorm2d(3)\nnet(torch.randn(1, 3))\n",
    "groups that do not fit": "net = nn.GroupNorm(3, 6)\nnet(torch.randn(1, 4))\n",
    "a loss after one sample": NORMALIZED + "net.eval()\nF.mse_loss(net(torch.randn(1, 4)), torch.randn(3, 3))\n",
    "other channels in one sample": "net = nn.BatchNorm1d(8)\nnet(torch.randn(1, 5))\n",
    "a float64 sample": NORMALIZED + "net(torch.randn(1, 4).double())\n",
    "a function of the user's with torch's name": (
        "def _verify_batch_size(size):\n    raise ValueError(f'Expected more than 1 value {size}')\n\n"
        "_verify_batch_size([1, 8])\n"
    ),
    "one sample, and backward without a graph": (
        NORMALIZED + "net.eval()\nwith torch.no_grad():\n    loss = net(torch.randn(1, 4)).sum()\nloss.backward()\n"
    ),
}


@pytest.mark.parametrize("script", NEAR_ONE_SAMPLE.values(), ids=NEAR_ONE_SAMPLE)
def test_another_fault_is_no_batch_of_one(script: str, tmp_path: Path) -> None:
    assert "batch-of-one" not in [finding.name for finding in judge(crash_of(tmp_path / "net.py", HEAD + script))]


LOADER = """
from torch.utils.data import DataLoader, TensorDataset

net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8))
loader = DataLoader(TensorDataset(torch.randn(SAMPLES, 4)), batch_size=4)
for (x,) in loader:
    net(x[:1]).sum().backward()
"""


@pytest.mark.parametrize("samples", [12, 13])
def test_a_loader_is_left_in_peace_where_the_line_itself_takes_one_sample(samples: int, tmp_path: Path) -> None:
    script = HEAD + LOADER.replace("SAMPLES", str(samples))
    (finding,) = judge(crash_of(tmp_path / "net.py", script))
    assert finding.name == "batch-of-one"
    assert "drop_last" not in finding.fix
    assert finding.edit is None


def test_what_was_seen_survives_the_log(tmp_path: Path) -> None:
    script = HEAD + LOADER.replace("SAMPLES", "9").replace("x[:1]", "x")
    crash = crash_of(tmp_path / "net.py", script)
    assert judge(from_plain("CrashFact", to_plain(crash))) == judge(crash)
    assert crash.evidence.building is not None
    assert crash.evidence.building.single_value is not None
    assert crash.evidence.building.single_value.source is not None
