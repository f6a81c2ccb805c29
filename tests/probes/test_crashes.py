"""A crash captured: what the frames tell, and that capturing neither fails nor leaves a trace."""

from __future__ import annotations

import builtins
import contextlib
import importlib
import os
import random
import sys
import types
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
from torch import nn

import torch_debugger
from torch_debugger.crashes import capture as crashes
from torch_debugger.crashes import frames as crash_frames
from torch_debugger.crashes import layers as crash_layer
from torch_debugger.crashes import replay as shape_flow
from torch_debugger.crashes.capture import capture_crash
from torch_debugger.crashes.frames import Running
from torch_debugger.records import CrashFact

NET = """
import torch
from torch import nn

class Block(nn.Module):
    def __init__(this):
        super().__init__()
        this.norm = nn.BatchNorm1d(8)
        this.fc = nn.Linear(6, 2)

    def forward(this, x):
        print("seen", torch.rand(1).item())
        this.calls = getattr(this, "calls", 0) + 1
        return this.fc(this.norm(x))

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = Block()

    def forward(self, batch):
        return self.block(batch["x"])

def train(net, batch):
    return net(batch)
"""


def load(file: Path, source: str) -> dict[str, Any]:
    file.write_text(source)
    names: dict[str, Any] = {"__name__": "script", "__file__": str(file)}
    exec(compile(source, str(file), "exec"), names)
    return names


def caught(act: Callable[[], Any]) -> BaseException:
    try:
        act()
    except BaseException as error:
        return error
    raise AssertionError("this was meant to crash")


@pytest.fixture
def script(tmp_path: Path) -> dict[str, Any]:
    return load(tmp_path / "net.py", NET)


def crash_in(script: dict[str, Any], net: nn.Module) -> BaseException:
    return caught(lambda: script["train"](net, {"x": torch.randn(4, 8)}))


def test_the_frames_name_modules_tensors_and_lines(script: dict[str, Any]) -> None:
    crash = capture_crash(crash_in(script, script["Net"]()), step=3)
    users = [frame for frame in crash.frames if frame.file == script["__file__"]]
    assert [(frame.function, frame.module, frame.kind) for frame in users] == [
        ("train", None, None),
        ("forward", "net", "Net"),
        ("forward", "net.block", "Block"),
    ]
    assert [tensor.name for tensor in users[0].tensors] == ["batch['x']"]
    assert users[2].tensors[0].shape == (4, 8)
    assert (crash.kind, crash.step, crash.place.module) == ("RuntimeError", 3, "net.block")
    assert crash.place.code == "return this.fc(this.norm(x))"


def test_the_layer_and_the_flow_before_it(script: dict[str, Any]) -> None:
    crash = capture_crash(crash_in(script, script["Net"]()), step=3)
    layer = crash.layer
    assert layer is not None
    assert (layer.path, layer.kind) == ("net.block.fc", "Linear")
    assert layer.settings == {"in_features": 6, "out_features": 2}
    assert layer.place.code == "this.fc = nn.Linear(6, 2)"
    assert [tensor.name for tensor in layer.parameters] == ["weight", "bias"]
    assert layer.inputs[0].shape == (4, 8)
    assert [(step.path, step.made) for step in crash.flow] == [("net.block.norm", ((4, 8),))]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python tells the failing expression from 3.11 on")
@pytest.mark.parametrize(
    ("line", "failing"),
    [
        ("c = (a * 2).sum() + a @ b", "a @ b"),
        ("a += b", "a += b"),
        ("c[:, 0] = b", "c[:, 0]"),
        ("c = torch.matmul(\n    a,\n    b,\n)", "torch.matmul(a, b)"),
    ],
)
def test_the_very_expression_that_raised(line: str, failing: str, tmp_path: Path) -> None:
    source = f"import torch\na, b, c = torch.ones(2, 3), torch.ones(4, 5), torch.ones(2, 2)\n\n{line}\n"
    crash = capture_crash(caught(lambda: load(tmp_path / "net.py", source)), 0)
    frame = next(frame for frame in crash.frames if frame.file.endswith("net.py"))
    assert (frame.failing, frame.code_line) == (failing, 4)
    assert frame.code == "\n".join(part.strip() for part in line.split("\n"))


def test_lines_of_an_archive_are_shown_where_python_shows_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with zipfile.ZipFile(tmp_path / "app.zip", "w") as archive:
        archive.writestr("in_an_archive.py", "def divide():\n    return 1 / 0\n")
    monkeypatch.syspath_prepend(tmp_path / "app.zip")
    error = caught(importlib.import_module("in_an_archive").divide)
    sys.__excepthook__(type(error), error, error.__traceback__)
    assert capture_crash(error, 0).traceback == capsys.readouterr().err


MADE = """
import torch
from torch import nn

def block(c_in, c_out):
    return nn.Sequential(
        nn.Linear(
            c_in,
            c_out,
        ),
    )

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = block(4, 8)
        self.second = block(6, 2)

    def forward(self, x):
        return self.second(self.first(x))

net = Net()
"""


def test_how_a_layer_is_built_up_to_the_model(tmp_path: Path) -> None:
    script = load(tmp_path / "net.py", MADE)
    net = script["net"]
    crash = capture_crash(caught(lambda: net(torch.randn(3, 4))), 0, Running({"net": net}))
    assert crash.layer is not None
    layer, owner, *_ = crash.layer.constructions
    assert (layer.maker, layer.place.line) == ("block", 7)
    assert layer.place.code == "nn.Linear(\nc_in,\nc_out,\n),"
    assert layer.scope.startswith("def block(c_in, c_out):")
    assert (owner.maker, owner.place.code) == ("Net", "self.second = block(6, 2)")
    assert owner.place.module == "net.second"


def test_a_head_that_was_replaced_is_found_where_it_is_replaced(tmp_path: Path) -> None:
    source = NET + "\nnet = Net()\nnet.block.fc = nn.Linear(7, 3)\n"
    script = load(tmp_path / "net.py", source)
    crash = capture_crash(caught(lambda: script["net"]({"x": torch.randn(4, 8)})), 0)
    assert crash.layer is not None
    assert crash.layer.place.code == "net.block.fc = nn.Linear(7, 3)"


def test_a_state_in_a_tuple_is_an_input(tmp_path: Path) -> None:
    source = (
        "import torch\nfrom torch import nn\nrnn = nn.LSTM(4, 8)\n"
        "rnn(torch.zeros(5, 2, 4), (torch.zeros(1, 3, 8), torch.zeros(1, 2, 8)))\n"
    )
    crash = capture_crash(caught(lambda: load(tmp_path / "net.py", source)), 0)
    assert crash.layer is not None
    assert [(item.name, item.shape[1]) for item in crash.layer.inputs] == [
        ("input", 2),
        ("hx[0]", 3),
        ("hx[1]", 2),
    ]


def test_what_follows_a_first_argument_that_is_no_tensor_is_not_taken_for_it(tmp_path: Path) -> None:
    source = "import torch\nfrom torch import nn\nrnn = nn.GRU(4, 8)\nrnn([torch.zeros(5, 4)], torch.zeros(1, 3, 8))\n"
    crash = capture_crash(caught(lambda: load(tmp_path / "net.py", source)), 0)
    assert crash.layer is not None
    assert crash.layer.inputs == ()


def test_a_view_that_mixed_the_samples_is_read_from_the_graph(tmp_path: Path) -> None:
    source = (
        "import torch\nfrom torch import nn\nfc = nn.Linear(5, 3)\nx = torch.zeros(4, 2, 5)\n"
        "scores = fc(x * fc.weight[0, 0]).view(-1, 12)\n"
        "nn.functional.cross_entropy(scores, torch.zeros(4).long())\n"
    )
    crash = capture_crash(caught(lambda: load(tmp_path / "net.py", source)), 0)
    assert [(step.kind, step.given, step.made) for step in crash.flow if step.made[0] == (2, 12)] == [
        ("view", ((4, 2, 3),), ((2, 12),))
    ]


def test_a_function_that_takes_a_module_is_not_its_method(tmp_path: Path) -> None:
    source = "def train(model, x):\n    return x @ x\n"
    names = load(tmp_path / "train.py", source)
    crash = capture_crash(caught(lambda: names["train"](nn.Linear(2, 2), torch.randn(2, 3))), 0)
    assert (crash.layer, crash.frames[-1].module) == (None, None)


def test_a_decorated_forward_is_still_a_method(tmp_path: Path) -> None:
    source = NET.replace("    def forward(this", "    @torch.no_grad()\n    def forward(this")
    script = load(tmp_path / "net.py", source)
    crash = capture_crash(crash_in(script, script["Net"]()), 0)
    assert crash.place.module == "net.block"


def test_known_roots_keep_their_names(script: dict[str, Any]) -> None:
    net = script["Net"]()
    crash = capture_crash(crash_in(script, net), 0, Running({"netG": net}))
    assert crash.layer is not None
    assert crash.layer.path == "netG.block.fc"


def test_nothing_is_left_behind(script: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    net = script["Net"]()
    error = crash_in(script, net)
    capsys.readouterr()
    before = {name: value.clone() for name, value in net.state_dict().items()}
    buffers = {name: (id(value), value._version) for name, value in net.named_buffers()}
    states = torch.get_rng_state(), random.getstate(), numpy.random.get_state()[1].tolist()
    hooks = len(torch.nn.modules.module._global_forward_hooks)
    assert capture_crash(error, 0).flow
    assert torch.equal(torch.get_rng_state(), states[0])
    assert (random.getstate(), numpy.random.get_state()[1].tolist()) == states[1:]
    assert all(torch.equal(value, before[name]) for name, value in net.state_dict().items())
    assert {name: (id(value), value._version) for name, value in net.named_buffers()} == buffers
    assert net.block.calls == 1
    assert len(torch.nn.modules.module._global_forward_hooks) == hooks
    assert capsys.readouterr() == ("", "")


def test_probes_do_not_see_the_replay(script: dict[str, Any]) -> None:
    error = crash_in(script, script["Net"]())
    seen: list[str] = []
    before = torch.nn.modules.module.register_module_forward_pre_hook(lambda module, _: seen.append("in"))
    after = torch.nn.modules.module.register_module_forward_hook(lambda module, _, __: seen.append("out"))
    try:
        assert capture_crash(error, 0).flow
        assert seen == []
        nn.Identity()(torch.zeros(1))
        assert seen == ["in", "out"]
    finally:
        before.remove()
        after.remove()


def test_the_batch_is_not_changed_by_the_replay(tmp_path: Path) -> None:
    source = "import torch\nfrom torch import nn\nmodel = nn.Sequential(nn.ReLU(inplace=True), nn.Linear(3, 3))\n"
    model = load(tmp_path / "net.py", source)["model"]
    given = torch.randn(2, 4)
    error = caught(lambda: model(given))
    given.fill_(-1.0)
    assert capture_crash(error, 0).flow
    assert given.tolist() == [[-1.0] * 4] * 2


def test_a_replay_that_does_not_fail_the_same_way_tells_nothing(tmp_path: Path) -> None:
    source = (
        "from torch import nn\nimport torch\nclass Net(nn.Module):\n"
        "    def __init__(self):\n        super().__init__()\n        self.fc = nn.Linear(2, 2)\n"
        "    def forward(self, x, state=[]):\n        self.fc(x)\n        state.append(1)\n"
        "        if len(state) == 1:\n            raise ValueError('once')\n        return x\nmodel = Net()\n"
    )
    model = load(tmp_path / "net.py", source)["model"]
    crash = capture_crash(caught(lambda: model(torch.randn(2, 2))), 0)
    assert (crash.kind, crash.flow) == ("ValueError", ())


def test_a_replay_gives_up_when_it_takes_long(script: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    error = crash_in(script, script["Net"]())
    monkeypatch.setattr(shape_flow, "TIME_LIMIT_S", -1.0)
    assert capture_crash(error, 0).flow == ()


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, torch.OutOfMemoryError, KeyError])
def test_other_errors_are_not_replayed(kind: type[BaseException], tmp_path: Path) -> None:
    source = (
        "from torch import nn\nclass Net(nn.Module):\n    calls = 0\n"
        "    def forward(self, kind):\n        Net.calls += 1\n        raise kind('stop')\nmodel = Net()\n"
    )
    names = load(tmp_path / "net.py", source)
    crash = capture_crash(caught(lambda: names["model"](kind)), 0)
    assert (crash.kind, names["Net"].calls) == (kind.__name__, 1)


def test_memory_that_was_refused_is_not_asked_for_again(tmp_path: Path) -> None:
    """The second time it may be granted, and be filled for minutes."""
    source = (
        "from torch import nn\nclass Net(nn.Module):\n    calls = 0\n"
        "    def forward(self, x):\n        Net.calls += 1\n        raise RuntimeError(x)\nmodel = Net()\n"
    )
    names = load(tmp_path / "net.py", source)
    said = "DefaultCPUAllocator: not enough memory: you tried to allocate 36000000000000 bytes."
    crash = capture_crash(caught(lambda: names["model"](said)), 0)
    assert (crash.message, names["Net"].calls) == (said, 1)


def through_our_launcher(act: Callable[[], Any]) -> BaseException:
    """As `torch-debugger run` does it: a frame of our package, then runpy, then the script."""
    ours = os.path.join(os.path.dirname(torch_debugger.__file__), "cli", "child.py")
    launcher = "def launch(act):\n    return act()\n"
    names: dict[str, Any] = {}
    for file in ("<frozen runpy>", ours):
        exec(compile(launcher, file, "exec"), names)
        names["act" if file == ours else "runpy"] = names["launch"]
    return caught(lambda: names["act"](lambda: names["runpy"](act)))


def test_our_own_frames_are_not_shown(script: dict[str, Any]) -> None:
    net = script["Net"]()
    crash = capture_crash(through_our_launcher(lambda: script["train"](net, {"x": torch.randn(4, 8)})), 0)
    shown = {os.path.basename(frame.file) for frame in crash.frames}
    assert "child.py" not in shown and "child.py" not in crash.traceback
    assert crash.traceback.startswith("Traceback (most recent call last):\n")
    assert "linear.py" in crash.traceback
    assert crash.traceback.rstrip().endswith("mat1 and mat2 shapes cannot be multiplied (4x8 and 6x2)")


class BadStr(RuntimeError):
    def __str__(self) -> str:
        raise KeyboardInterrupt


class BadTensor(torch.Tensor):
    @classmethod
    def __torch_function__(cls, *_: Any, **__: Any) -> Any:
        raise RuntimeError("do not touch me")

    def __repr__(self) -> str:  # type: ignore[override]
        raise RuntimeError("do not print me")


class Proxy:
    @property
    def __class__(self) -> Any:  # type: ignore[override]
        raise AssertionError("asked for its class")

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"asked for {name}")


class NoInit(nn.Module):
    def __init__(self) -> None:
        pass

    def forward(self) -> None:
        raise RuntimeError("no init")


def raise_with(error: BaseException, **names: Any) -> BaseException:
    def act(held: Any = names) -> None:
        strange = torch.randn(2).as_subclass(BadTensor)  # noqa: F841
        proxy = Proxy()  # noqa: F841
        big = list(range(100_000))  # noqa: F841
        cycle: list[Any] = []
        cycle.append(cycle)
        raise error

    return caught(act)


def cyclic_chain() -> BaseException:
    first, second = ValueError("a"), ValueError("b")
    first.__cause__, second.__cause__ = second, first
    return raise_with(first)


def group() -> BaseException:
    kind = getattr(builtins, "ExceptionGroup", None)
    if kind is None:
        return RuntimeError("this Python has no exception groups")
    inner = raise_with(RuntimeError("inner"))
    return raise_with(kind("outer", [kind("middle", [inner])]))


def from_nowhere() -> BaseException:
    names: dict[str, Any] = {}
    exec(compile("def f(self, x):\n    raise RuntimeError('gone')", "/no/such/file.py", "exec"), names)
    return caught(lambda: names["f"](None, torch.randn(2)))


def deep() -> BaseException:
    def down(n: int) -> int:
        return down(n + 1)

    return caught(lambda: down(0))


def no_arguments() -> BaseException:
    return caught(lambda: NoInit().forward())


def many_locals() -> BaseException:
    names = {f"t{index}": torch.zeros(1) for index in range(3000)}
    code = compile("raise RuntimeError('many')", "many.py", "exec")
    return caught(lambda: exec(code, names))


HOSTILE: dict[str, Callable[[], BaseException]] = {
    "broken str": lambda: raise_with(BadStr()),
    "no traceback": lambda: RuntimeError("never raised"),
    "cyclic chain": cyclic_chain,
    "group": group,
    "deleted file": from_nowhere,
    "recursion": deep,
    "module without init": no_arguments,
    "many locals": many_locals,
    "bare syntax error": lambda: caught(lambda: compile("a b", "x", "exec")),
    "odd arguments": lambda: raise_with(RuntimeError(b"\xff", {"a": object()})),
    "surrogates": lambda: raise_with(RuntimeError("\udcff")),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_capturing_never_fails(name: str) -> None:
    crash = capture_crash(HOSTILE[name](), 1)
    assert isinstance(crash, CrashFact)
    assert len(crash.frames) <= 80
    assert all(len(frame.tensors) <= 40 for frame in crash.frames)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="exception groups came with Python 3.11")
def test_a_group_is_told_by_its_first_exception() -> None:
    crash = capture_crash(group(), 0)
    assert (crash.kind, crash.message) == ("RuntimeError", "inner")
    assert "outer" in crash.traceback and "middle" in crash.traceback


def test_a_broken_str_is_said() -> None:
    crash = capture_crash(raise_with(BadStr()), 0)
    assert crash.message == "<the exception's text could not be made: its __str__ fails>"


PARTS = [
    (crashes, name) for name in ("_first_leaf", "walk_traceback", "module_paths", "_frame", "_user_place", "find_layer")
]
PARTS += [(crashes, name) for name in ("_traceback_text", "replay_shapes", "views_before")]
PARTS += [(crash_frames, "failing_expression"), (crash_layer, "constructor_places"), (crash_layer, "constructions_of")]


@pytest.mark.parametrize(("room", "part"), PARTS, ids=lambda value: getattr(value, "__name__", value))
def test_a_part_that_fails_leaves_the_rest(
    room: types.ModuleType, part: str, script: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    error = crash_in(script, script["Net"]())

    def fail(*_: Any) -> Any:
        raise ZeroDivisionError(part)

    monkeypatch.setattr(room, part, fail)
    crash = capture_crash(error, 5)
    assert (crash.kind, crash.step) == ("RuntimeError", 5)
    assert "mat1 and mat2" in crash.message and "mat1 and mat2" in crash.traceback


def test_tensors_of_every_kind_are_described_or_left_out() -> None:
    def act() -> None:
        nested = torch.nested.nested_tensor([torch.zeros(2), torch.zeros(3)])  # noqa: F841
        sparse = torch.eye(3).to_sparse()  # noqa: F841
        empty, meta = torch.zeros(0), torch.zeros(2, device="meta")  # noqa: F841
        pair = (torch.zeros(1), [torch.zeros(2)])  # noqa: F841
        raise RuntimeError("look")

    with contextlib.redirect_stderr(None):
        crash = capture_crash(caught(act), 0)
    held = {tensor.name: tensor for tensor in crash.frames[-1].tensors}
    assert {"sparse", "empty", "meta", "pair[0]"} <= set(held)
    assert (held["meta"].device, held["empty"].shape) == ("meta", (0,))


def test_an_examiner_that_fails_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    from torch_debugger.checks.judge import Judge
    from torch_debugger.crashes import evidence as examiners

    monkeypatch.setitem(examiners._EXAMINERS, "names", lambda scene: 1 / 0)
    judge = Judge()
    judge.see(capture_crash(caught(lambda: [][1]), 3))
    (fault,) = judge.faults
    assert fault.probe == "evidence of the crash (names)"
    assert fault.error == "ZeroDivisionError: division by zero"
