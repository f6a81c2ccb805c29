"""Names that do not exist, but are none of torch's; and the table of those that are, held against torch."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed
import torch.utils.cpp_extension
import torch.utils.data

from tests.checks.crashes.scripts import HEAD, claims, crash_of, judge
from torch_debugger.checks.crashes.names_of_torch import IMPORTS, INVENTED_KEYWORDS, KNOWN, SYNONYMS
from torch_debugger.crashes import names
from torch_debugger.crashes.names_of_torch import nearest

LOOKALIKES = {
    "the user's own AttributeError": "raise AttributeError(\"module 'torch' has no attribute 'symeig'\")\n",
    "the user's own "
    "TypeError": "raise TypeError(\"Linear.__init__() got an unexpected keyword argument 'in_feature'\")\n",
    "the user's own "
    "ImportError": "raise ImportError(\"cannot import name 'Watchdog' from 'torch.distributed'\")\n",
    "the user's own NameError": "raise NameError(\"name 'F' is not defined\")\n",
    "the user's own removed "
    "function": "raise RuntimeError('This function was deprecated and is now removed')\n",
    "an attribute of None": "grad = torch.ones(2, requires_grad=True).grad\ngrad.norm()\n",
    "an attribute of a plain object": "class Settings:\n    lr = 0.1\nSettings().learning_rate\n",
    "an attribute of a list": "batches = [torch.ones(2)]\nbatches.shape\n",
    "an attribute of numpy": "import numpy\nnumpy.flaot32\n",
    "an attribute of a module of Python's": "import math\nmath.squareroot(2)\n",
    "an attribute of a dataset of one's own": """
class Data(torch.utils.data.Dataset):
    def __getitem__(self, index):
        return self.samples[index]
Data()[0]
""",
    "a property that fails inside": """
class Net(nn.Module):
    @property
    def width(self):
        return self.settings["width"].size
    settings = {"width": 4}
Net().width
""",
    "super().__init__() that was not called": """
class Net(nn.Module):
    def __init__(self):
        self.fc = nn.Linear(4, 2)
Net()
""",
    "a keyword of one's own "
    "function": "def build(in_features):\n    return nn.Linear(in_features, 2)\nbuild(in_feature=4)\n",
    "a keyword of one's own class": """
class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
Block(widht=4)
""",
    "a keyword of a forward": """
class Net(nn.Module):
    def forward(self, x):
        return x
Net()(torch.ones(2), mask=None)
""",
    "a keyword handed on inside one's own function": """
def norm(values, **options):
    return sum(values, **options)
norm([1, 2], dim=0)
""",
    "a call with wrong positions": "torch.zeros(2, 3).view('a', 'b')\n",
    "too many arguments": "nn.Linear(1, 2, 3, 4, 5, 6, 7)\n",
    "a missing argument of one's own": "def f(dim):\n    return dim\nf()\n",
    "a missing argument of a layer": "nn.Linear(4)\n",
    "a function of one's own that is no function": "shape = (2, 3)\nshape()\n",
    "a list that is called": "sizes = [1, 2]\nsizes(0)\n",
    "a function that is indexed": "def f():\n    pass\nf[0]\n",
    "a module of one's own that is not there": "import my_helpers_of_long_ago\n",
    "a name that one's own module lacks": """
import sys, types
sys.modules["layers"] = types.ModuleType("layers")
from layers import Linear
""",
    "syntax that never was": "exec('x = = 3')\n",
    "an index out of range": "x = torch.ones(3)\nx[5]\n",
    "a number that is indexed twice": "x = torch.ones(())\nx[0, 1]\n",
    "a wrong number of values": "a, b = torch.ones(3)\n",
    "something deeper inside torch": "torch.optim.SGD(['a'], lr=0.1)\n",
}  # fmt: skip


@pytest.mark.parametrize("name", LOOKALIKES)
def test_nothing_is_said(name: str, tmp_path: Path) -> None:
    told = claims(crash_of(tmp_path / "net.py", HEAD + LOOKALIKES[name].lstrip("\n")))
    assert "name-does-not-exist" not in told


def test_old_syntax_is_told_where_it_stands(tmp_path: Path) -> None:
    file = tmp_path / "old.py"
    file.write_text("import torch\nx = torch.ones(2)\ny = x.cuda(async=True)\n")
    finding = judge(crash_of(tmp_path / "net.py", f"import runpy\nrunpy.run_path({str(file)!r})\n"))[0]
    assert (finding.name, finding.where.file, finding.where.line) == ("name-does-not-exist", str(file), 3)
    assert finding.edit is not None and finding.edit.after == "y = x.cuda(non_blocking=True)"


def test_ours_are_offered_when_they_exist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = HEAD + "from torch.distributed import Watchdog\n"
    monkeypatch.setattr(names, "our_names", lambda: ("Debugger",))
    assert "torch_debugger" not in judge(crash_of(tmp_path / "net.py", source))[0].fix
    monkeypatch.setattr(names, "our_names", lambda: ("Debugger", "Watchdog"))
    assert "`torch_debugger.Watchdog`" in judge(crash_of(tmp_path / "net.py", source))[0].fix


def test_a_name_of_ours_that_is_misspelled(tmp_path: Path) -> None:
    finding = judge(crash_of(tmp_path / "net.py", HEAD + "from torch_debugger import Debuger\n"))[0]
    assert (finding.name, finding.edit and finding.edit.after) == (
        "name-does-not-exist",
        "from torch_debugger import Debugger",
    )


def resolves(name: str) -> bool:
    try:
        functools.reduce(getattr, name.split(".")[1:], torch)
    except AttributeError:
        return False
    return True


def test_the_table_of_names_holds_against_torch() -> None:
    # what takes the place of a name exists
    everything = [*KNOWN.items(), *INVENTED_KEYWORDS.items()]
    assert len(everything) > 50
    assert not [name for name, known in everything if not exists(name, known)]
    # no keyword stands for itself
    assert not [word for word, real in SYNONYMS.items() if word in real and len(real) == 1]
    lines = [line for name, line in IMPORTS.items() if name != "SummaryWriter"]
    assert lines and not [line for line in lines if len(names_made_by(line)) != 1], "the imports that are offered work"


def exists(name: str, known: Any) -> bool:
    owner = name.rpartition(".")[0]
    works = not known.drop_in or resolves(known.drop_in)
    renamed = not known.rename or resolves(f"{owner}.{known.rename.removesuffix('()')}")
    return bool(works and renamed and ("`" in known.instead or known.instead[0].isalpha()))


def names_made_by(line: str) -> set[str]:
    scope: dict[str, object] = {}
    exec(line, scope)
    return set(scope) - {"__builtins__"}


@pytest.mark.parametrize(
    ("asked", "pool", "near"),
    [
        ("fc_1", ["fc1", "fc2"], ("fc1",)),
        ("conv3", ["conv1", "conv2"], ()),
        ("encoder", ["decoder"], ()),
        ("norm_q", ["norm_k"], ()),
        ("classifer", ["classifier", "body"], ("classifier",)),
        ("Relu", ["ReLU", "relu", "RReLU"], ("ReLU",)),
        ("norm", ["form", "dropout"], ()),
    ],
)
def test_what_is_near(asked: str, pool: list[str], near: tuple[str, ...]) -> None:
    assert nearest(asked, pool) == near
