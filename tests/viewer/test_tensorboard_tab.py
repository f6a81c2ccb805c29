"""The tab in a real TensorBoard: started as users start it, asked over HTTP as its page asks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import preloaded
from tests.viewer.real_tensorboard import REPOSITORY, TensorBoard, environment_with_tab
from torch_debugger.viewer.questions import question_names

BROKEN = """
import torch
torch.manual_seed(0)
LR = 0.1
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=LR)
x, y = torch.randn(16, 4), torch.randint(0, 3, (16,))
for _ in range(25):
    loss = torch.nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TensorBoard]:
    folder = tmp_path_factory.mktemp("tab")
    (folder / "train.py").write_text(BROKEN)
    here = environment_with_tab(folder)
    command = [sys.executable, "-m", "torch_debugger", "run", "--quiet", "--log-dir", "runs/first", "train.py"]
    preloaded.run(command, cwd=folder, env=here, capture_output=True, timeout=600, check=True)
    server = TensorBoard(folder, here, "--logdir", "runs")
    yield server
    server.end()


def test_the_tab_is_there_because_a_run_of_ours_is(server: TensorBoard) -> None:
    listing = json.loads(server.get("plugins_listing")[1])["torch_debugger"]
    assert listing["enabled"] is True and listing["tab_name"] == "Debugger"
    assert listing["loading_mechanism"]["module_path"] == "/data/plugin/torch_debugger/page.js"


def test_the_page_comes_from_the_server_alone(server: TensorBoard) -> None:
    status, text, _ = server.get("plugin_entry.html?name=torch_debugger")
    assert status == 200 and "import(" in text and "./page.js" in text
    for name, kind in (("page.js", "text/javascript"), ("page.css", "text/css")):
        status, text, headers = server.get(f"plugin/torch_debugger/{name}")
        assert status == 200 and headers["Content-Type"].startswith(kind)
        assert headers["X-Content-Type-Options"] == "nosniff"


def test_every_question_of_the_page_has_its_way(server: TensorBoard) -> None:
    for name in question_names():
        answer = server.ask(f"ask/{name}", run="first")
        assert "There is no question" not in answer.get("error", ""), name
        assert answer.get("status") != 500, answer


def test_what_is_asked_is_answered(server: TensorBoard) -> None:
    assert server.ask("ask/names")["runs"] == ["first"]
    about = server.ask("ask/about", run="first")
    assert about["status"] == "finished" and about["steps"] == 25


def test_nothing_can_be_edited(server: TensorBoard) -> None:
    assert server.ask("ask/session")["edit_token"] == ""
    assert server.post("plugin/torch_debugger/ask/names") == 405


def test_what_is_not_there_is_said(server: TensorBoard) -> None:
    told = server.ask("ask/about", run="../first")
    assert told["status"] == 404 and "There is no run '../first'" in told["error"]
    assert server.ask("ask/about")["status"] == 404
    assert server.ask("ask/nothing")["status"] == 404
    assert server.ask("ask/../../etc/passwd")["status"] == 404


def test_other_tabs_still_read_the_run(server: TensorBoard) -> None:
    for _ in range(1000):
        tags = json.loads(server.get("plugin/scalars/tags")[1])
        if "loss" in tags.get("first", {}):
            return
        time.sleep(0.2)
    raise AssertionError(f"TensorBoard shows no loss: {tags}")


def test_without_a_run_of_ours_the_tab_stays_away(tmp_path: Path) -> None:
    from tensorboard.plugins import base_plugin

    from torch_debugger.viewer.tensorboard_tab import DebuggerTabLoader

    (tmp_path / "events.out.tfevents.1.host").write_bytes(b"")
    tab = DebuggerTabLoader().load(base_plugin.TBContext(logdir=str(tmp_path)))
    assert tab is not None and not tab.is_active()
    nowhere = DebuggerTabLoader().load(base_plugin.TBContext())
    assert nowhere is not None and not nowhere.is_active()


def test_a_tensorboard_that_has_changed_keeps_its_other_tabs() -> None:
    from torch_debugger.viewer.tensorboard_tab import DebuggerTabLoader

    class Odd:
        def __getattribute__(self, name: str) -> Any:
            raise RuntimeError("another TensorBoard")

    assert DebuggerTabLoader().load(Odd()) is None


def test_starting_tensorboard_loads_nothing_heavy_of_ours() -> None:
    code = (
        "import sys, torch_debugger.viewer.tensorboard_tab as tab;"
        "tab.DebuggerTabLoader().load(None).get_plugin_apps();"
        "print([name for name in sys.modules if name.startswith('torch_debugger.log') or name in "
        "('torch', 'numpy', 'rich', 'matplotlib', 'torch_debugger.checks')])"
    )
    here = os.environ | {"PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=here)
    assert done.stdout.strip() == "[]"


def test_a_page_that_is_not_built_says_how_to_build_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from tensorboard.plugins import base_plugin
    from werkzeug.test import Client

    from torch_debugger.viewer import questions as bundle
    from torch_debugger.viewer.tensorboard_tab import DebuggerTabLoader

    monkeypatch.setattr(bundle, "page_file", lambda name: None)
    tab = DebuggerTabLoader().load(base_plugin.TBContext())
    assert tab is not None
    answer = Client(tab.get_plugin_apps()["/page.js"]).get("/data/plugin/torch_debugger/page.js")
    assert answer.status_code == 200 and answer.content_type.startswith("text/javascript")
    assert "export const render" in answer.text and "npm run build" in answer.text
