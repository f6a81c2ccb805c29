"""The tab in a real TensorBoard: started as users start it, asked over HTTP as its page asks."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).parents[2]
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


def entry_point(folder: Path) -> Path:
    """What installing the package leaves for TensorBoard to find, as pyproject.toml says it; under its own
    name, so that the first of the two is taken where the package is installed indeed."""
    told = re.search(
        r"\[project.entry-points.tensorboard_plugins\]\n(.+) = \"(.+)\"\n",
        (REPOSITORY / "pyproject.toml").read_text(),
    )
    assert told is not None
    information = folder / "site" / "torch_debugger-0.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: torch-debugger\nVersion: 0\n")
    (information / "entry_points.txt").write_text(f"[tensorboard_plugins]\n{told[1]} = {told[2]}\n")
    return information.parent


class Server:
    def __init__(self, folder: Path, environment: dict[str, str], *words: str) -> None:
        self.said = folder / "tensorboard.txt"
        command = [sys.executable, "-m", "tensorboard.main", "--port", "0", "--host", "127.0.0.1", *words]
        with self.said.open("w") as file:
            self.process = subprocess.Popen(command, stdout=file, stderr=file, cwd=folder, env=environment)
        self.address = self._wait()

    def _wait(self) -> str:
        for _ in range(600):
            found = re.search(r"http://127\.0\.0\.1:\d+", self.said.read_text())
            if found:
                return found[0]
            assert self.process.poll() is None, self.said.read_text()
            time.sleep(0.1)
        raise AssertionError(f"TensorBoard does not start: {self.said.read_text()}")

    def get(self, path: str) -> tuple[int, str, Any]:
        try:
            with urllib.request.urlopen(f"{self.address}/data/{path}", timeout=60) as answer:
                return answer.status, answer.read().decode(), answer.headers
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode(), error.headers

    def ask(self, route: str, **parameters: str) -> Any:
        status, text, _ = self.get(f"plugin/torch_debugger/{route}?{urllib.parse.urlencode(parameters)}")
        return json.loads(text) | ({} if status == 200 else {"status": status})

    def end(self) -> None:
        self.process.terminate()
        self.process.wait(30)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("tab")
    (folder / "train.py").write_text(BROKEN)
    here = os.environ | {"PYTHONPATH": os.pathsep.join([str(REPOSITORY), str(entry_point(folder))])}
    command = [sys.executable, "-m", "torch_debugger", "run", "--quiet", "--log-dir", "runs/first", "train.py"]
    subprocess.run(command, cwd=folder, env=here, capture_output=True, timeout=180, check=True)
    server = Server(folder, here, "--logdir", "runs")
    yield server
    server.end()


def test_the_tab_is_there_because_a_run_of_ours_is(server: Server) -> None:
    listing = json.loads(server.get("plugins_listing")[1])["torch_debugger"]
    assert listing["enabled"] is True and listing["tab_name"] == "Debugger"
    assert listing["loading_mechanism"]["module_path"] == "/data/plugin/torch_debugger/page.js"


def test_the_page_comes_from_the_server_alone(server: Server) -> None:
    status, text, _ = server.get("plugin_entry.html?name=torch_debugger")
    assert status == 200 and "import(" in text and "./page.js" in text
    for name, kind in (("page.js", "text/javascript"), ("page.css", "text/css")):
        status, text, headers = server.get(f"plugin/torch_debugger/{name}")
        assert status == 200 and headers["Content-Type"].startswith(kind)
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert "http:" not in text and "https:" not in text


def test_the_findings_are_told_verdict_first(server: Server) -> None:
    assert server.ask("runs") == {"runs": ["first"]}
    told = server.ask("findings", run="first")
    assert told["status"] == "finished" and told["steps"] == 25 and told["script"] == "train.py"
    verdict = told["findings"][told["verdict"]]
    assert verdict["name"] == "missing-zero-grad" and verdict["severity"] == "error"
    assert verdict["where"] == {"module": None, "file": "train.py", "line": 10}
    assert verdict["fix"] and verdict["evidence"] and verdict["edit"]["after"]
    assert told["hparams"]["LR"] == 0.1 and told["seeds"] == {"torch": 0}


def test_the_layers_are_told_at_every_step_that_was_measured(server: Server) -> None:
    tables = {table["kind"]: table for table in server.ask("layers", run="first")["tables"]}
    assert {"activation", "output_gradient", "parameter", "update"} <= set(tables)
    assert tables["parameter"]["steps"] > 10, "as many as TensorBoard itself would keep"
    for kind, table in tables.items():
        for column in table["columns"]:
            grid = server.ask("layers", run="first", kind=kind, root=table["root"], column=column)
            assert len(grid["names"]) == table["layers"] and len(grid["steps"]) == table["steps"]
            assert {len(row) for row in grid["values"]} == {len(grid["steps"])}
    grid = server.ask("layers", run="first", kind="activation", root="model", column="zeros")
    assert grid["names"] == ["model.0", "model.1", "model.2"]


def test_the_curves_are_told(server: Server) -> None:
    assert "loss" in server.ask("scalars", run="first")["tags"]
    curve = server.ask("scalars", run="first", tag="loss")
    assert curve["steps"] == list(range(1, 26)) and curve["all_points"] == 25


def test_what_is_not_there_is_said(server: Server) -> None:
    assert server.ask("findings", run="../first") == {
        "error": "There is no run '../first' of torch-debugger in the folder that is shown.", "status": 404
    }  # fmt: skip
    assert server.ask("scalars", run="first", tag="<b>")["status"] == 404
    assert server.ask("layers", run="first", kind="none", column="x")["names"] == []
    assert server.ask("findings")["status"] == 404


def test_other_tabs_still_read_the_run(server: Server) -> None:
    for _ in range(100):
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
        "print([name for name in sys.modules if name.startswith('torch_debugger.archive') or name in "
        "('torch', 'numpy', 'rich', 'matplotlib', 'torch_debugger.checks')])"
    )
    here = os.environ | {"PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=here)
    assert done.stdout.strip() == "[]"


def test_the_page_sets_text_and_never_html() -> None:
    text = (files("torch_debugger.viewer") / "plain" / "page.js").read_text("utf-8")
    assert "textContent" in text
    for risky in (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "new Function",
        "on=",
    ):
        assert risky not in text
