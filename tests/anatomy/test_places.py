"""The line that constructs a module, for the ways people write models."""

from __future__ import annotations

import linecache
import re
import textwrap
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import torch_debugger
from torch_debugger.source.constructors import class_place, constructor_places, find_call, forward_place
from torch_debugger.source.files import is_user_file

HEAD = "import torch\nfrom torch import nn\nfrom collections import OrderedDict\n"

# Each line marked `#@ path` is where that module is constructed; several paths may share a line.
MODELS = {
    "attributes": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv = nn.Conv2d(1, 6, 5)  #@ model.conv
                self.fc1 = nn.Linear(100, 10)  #@ model.fc1
                self.build()
            def build(self):
                self.a, self.b = nn.ReLU(), nn.Tanh()  #@ model.a model.b
        model = Net()  #@ model
        """,
    "sequential": """
        model = nn.Sequential(  #@ model
            nn.Linear(4, 8),  #@ model.0
            nn.ReLU(),  #@ model.1
            nn.Sequential(  #@ model.2
                nn.Linear(8, 8),  #@ model.2.0
                nn.Linear(8, 2)),  #@ model.2.1
        )
        """,
    "named sequential": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Sequential(OrderedDict([  #@ model.body
                    ("first", nn.Linear(4, 8)),  #@ model.body.first
                    ("second", nn.Linear(8, 2)),  #@ model.body.second
                ]))
                self.heads = nn.ModuleDict({  #@ model.heads
                    "a": nn.Linear(8, 1),  #@ model.heads.a
                    "b": nn.Linear(8, 2),  #@ model.heads.b
                })
        model = Net()  #@ model
        """,
    "loops": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                for i in range(2):
                    self.add_module(f"layer{i}", nn.Linear(4, 4))  #@ model.layer0 model.layer1
                    setattr(self, "act" + str(i), nn.ReLU())
                self.many = nn.ModuleList([  #@ model.many
                    nn.Linear(4, 4) for _ in range(2)])  #@ model.many.0 model.many.1
                self.more = nn.ModuleList()  #@ model.more
                self.more.append(nn.Linear(4, 5))  #@ model.more.0
                self.more.append(nn.Linear(5, 6))  #@ model.more.1
                layers = []
                for width in (3, 3):
                    layers.append(nn.Conv2d(3, width, 1))  #@ model.net.0 model.net.2
                    layers += [nn.ReLU()]  #@ model.net.1 model.net.3
                self.net = nn.Sequential(*layers)  #@ model.net
        model = Net()  #@ model
        """,
    "methods and functions": """
        def head(width):
            return nn.Sequential(nn.Linear(width, width),  #@ model.head.0
                                 nn.ReLU())  #@ model.head.1
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.stage = self._stage(3)  #@ model.stage
                self.head = head(4)  #@ model.head
                tail = nn.Linear(4, 2)  #@ model.tail
                self.tail = tail
                self.maybe = nn.Linear(4, 4) if True else nn.Identity()  #@ model.maybe
            def _stage(self, width):
                layers = [nn.Conv2d(width, width, 1)]  #@ model.stage.0
                layers.append(nn.BatchNorm2d(width))  #@ model.stage.1
                return nn.Sequential(*layers)
        def main():
            model = Net()  #@ model
            return model
        model = main()
        """,
    "inherited": """
        class Base(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(4, 4)  #@ model.fc
        class Net(Base):
            def __init__(self):
                super().__init__()
                self.out = nn.Linear(4, 2)  #@ model.out
        class Block(nn.Sequential):
            def __init__(self):
                super().__init__(
                    nn.Linear(2, 3),  #@ model.block.0
                    nn.ReLU(),  #@ model.block.1
                )
        model = Net()  #@ model
        model.block = Block()
        """,
    "branches": """
        class Net(nn.Module):
            def __init__(self, wide):
                super().__init__()
                if not wide:
                    self.fc = nn.Linear(8, 2)
                else:
                    self.fc = nn.Linear(16, 2)  #@ model.fc
        model = Net(True)  #@ model
        """,
    "replaced from outside": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(8, 1000)
                self.top = nn.Sequential(nn.Linear(8, 8))
                self.kept = nn.Linear(8, 4)  #@ model.kept
        def build(classes):
            model = Net()  #@ model
            model.fc = nn.Linear(16, classes)  #@ model.fc
            model.top = nn.Sequential(  #@ model.top
                nn.Dropout(),  #@ model.top.0
                nn.Linear(16, classes),  #@ model.top.1
            )
            return model
        model = build(3)
        """,
    "first, then a loop": """
        class Block(nn.Module):
            pass
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.stage = self._stage(3)  #@ model.stage
            def _stage(self, n):
                blocks = [Block()]  #@ model.stage.0
                for _ in range(n - 1):
                    blocks.append(Block())  #@ model.stage.1 model.stage.2
                return nn.Sequential(*blocks)
        model = Net()  #@ model
        """,
    "inside torch": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.enc = nn.TransformerEncoderLayer(8, 2, 16)  #@ model.enc model.enc.linear1
        model = Net()  #@ model
        """,
}  # fmt: skip


def run_file(path: Path, text: str) -> dict[str, Any]:
    path.write_text(HEAD + textwrap.dedent(text))
    names: dict[str, Any] = {"__name__": path.stem}
    exec(compile(path.read_text(), str(path), "exec"), names)
    return names


@pytest.mark.parametrize("name", MODELS)
def test_finds_the_line_of_every_marked_module(name: str, tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    model = run_file(file, MODELS[name])["model"]
    wanted = {}
    for number, line in enumerate(file.read_text().splitlines(), 1):
        for path in re.findall(r"\S+", line.partition("#@")[2]):
            wanted[path] = number
    places = constructor_places(model, "model", [str(file)])
    assert {path: places[path].line for path in wanted if path in places} == wanted
    assert all(place.file == str(file) and place.module == path for path, place in places.items())


def test_a_root_named_as_an_argument_is_found_by_its_only_construction(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    model = run_file(file, "model = nn.Sequential(\n    nn.Linear(2, 2),\n)\ndef train(net): pass\n")["model"]
    places = constructor_places(model, "net", [str(file)])
    assert (places["net"].line, places["net.0"].line) == (4, 5)
    assert places["net.0"].code == "nn.Linear(2, 2),"


def test_no_source_gives_no_places_and_no_error() -> None:
    names: dict[str, Any] = {"__name__": "gone"}
    source = "class Net(nn.Module):\n    def __init__(s):\n        super().__init__(); s.a = nn.ReLU()\nm = Net()"
    exec(compile(HEAD + source, "gone/away.py", "exec"), names)
    assert constructor_places(names["m"], "m", ["gone/away.py"]) == {}
    assert not class_place(names["Net"])
    assert not class_place(nn.Linear)


def test_class_forward_and_calls_are_placed(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    text = "class Net(nn.Module):\n    def forward(self, x):\n        x = 1\n        torch.softmax(x, 1)\n"
    net = run_file(file, text)["Net"]
    assert class_place(net).code == "class Net(nn.Module):"
    assert forward_place(net()).line == 5
    assert not forward_place(nn.Linear(1, 1))
    found = find_call(str(file), 5, 7, ("softmax",))
    assert found is not None and found.code == "torch.softmax(x, 1)"
    assert find_call(str(file), 5, 6, ("softmax",)) is None


def test_who_a_file_belongs_to(tmp_path: Path) -> None:
    assert is_user_file(str(tmp_path / "train.py"))
    assert is_user_file("train.py")
    assert not is_user_file(torch.__file__)
    assert not is_user_file(re.__file__)
    assert not is_user_file(torch_debugger.__file__)
    assert not is_user_file("<frozen runpy>")
    assert not is_user_file("<string>")
    linecache.cache["<ipython-input-7>"] = (3, None, ["x=1"], "<ipython-input-7>")
    assert is_user_file("<ipython-input-7>")


def test_a_module_without_super_init_is_no_trouble() -> None:
    class Broken(nn.Module):
        def __init__(self) -> None:
            pass

    assert "b.x" not in constructor_places(Broken(), "b")
