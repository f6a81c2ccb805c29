"""A real TensorBoard serves what we wrote, tab by tab, with its Python loader and with its fast one."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tensorboard_data_server
import torch
from torch import nn

from torch_debugger import SummaryWriter

_WAIT_S = 300.0  # only a TensorBoard that is broken takes as long


def write_everything(folder: Path) -> None:
    with SummaryWriter(folder / "run") as writer:
        for step in range(3):
            writer.add_scalar("loss", 1.0 / (step + 1), step)
            writer.add_histogram("weights", torch.arange(10.0), step)
            writer.add_image("picture", torch.rand(3, 8, 8), step)
            writer.add_audio("sound", torch.zeros(800), step, sample_rate=8000)
            writer.add_text("note", f"step **{step}**", step)
            writer.add_pr_curve("pr", torch.tensor([0, 1, 1]), torch.tensor([0.2, 0.9, 0.6]), step)
            writer.add_mesh("mesh", torch.rand(1, 4, 3), global_step=step)
        writer.add_custom_scalars({"losses": {"all": ["Multiline", ["loss"]]}})
        writer.add_graph(nn.Sequential(nn.Linear(3, 4), nn.ReLU()), torch.rand(2, 3))
        writer.add_embedding(torch.eye(5), metadata=list("abcde"))
        writer.add_hparams({"lr": 0.1, "nesterov": True}, {"hparam/accuracy": 0.75}, run_name="hp")


class Server:
    def __init__(self, folder: Path, fast: str) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._address = f"http://127.0.0.1:{free.getsockname()[1]}"
        port = self._address.rpartition(":")[2]
        options = ["--logdir", str(folder), "--host", "127.0.0.1", "--port", port, f"--load_fast={fast}"]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tensorboard.main", *options],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._wait_for(lambda: "run/hp" in self.get("/data/runs") and "run" in self.get("/data/runs"))

    def get(self, path: str, **query: Any) -> Any:
        with urllib.request.urlopen(self._url(path, query), timeout=_WAIT_S) as answer:
            body = answer.read()
        return json.loads(body) if "json" in answer.headers["Content-Type"] else body

    def post(self, path: str, body: Any) -> Any:
        request = urllib.request.Request(
            self._url(path, {}), json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=_WAIT_S) as answer:
            return json.loads(answer.read())

    def _url(self, path: str, query: dict[str, Any]) -> str:
        return f"{self._address}{path}?{urllib.parse.urlencode(query)}" if query else self._address + path

    def _wait_for(self, ready: Any) -> None:
        end = time.monotonic() + _WAIT_S
        while time.monotonic() < end:
            try:
                if ready():
                    return
            except (OSError, urllib.error.URLError):
                pass
            time.sleep(0.2)
        raise AssertionError(f"TensorBoard did not show the runs within {_WAIT_S:.0f} s")


NO_FAST_LOADER = pytest.mark.skipif(
    tensorboard_data_server.server_binary() is None, reason="TensorBoard has no fast loader for this processor"
)


@pytest.fixture(scope="module", params=["false", pytest.param("true", marks=NO_FAST_LOADER)])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("served")
    write_everything(folder)
    running = Server(folder, request.param)
    yield running
    running.process.terminate()
    running.process.wait(_WAIT_S)


def test_every_tab_shows_what_was_written(server: Server) -> None:
    of_loss = {"run": "run", "tag": "loss"}
    assert [point[1:] for point in server.get("/data/plugin/scalars/scalars", **of_loss)] == [
        [0, 1.0], [1, 0.5], [2, pytest.approx(1 / 3)],
    ]  # fmt: skip
    histograms = server.get("/data/plugin/histograms/histograms", run="run", tag="weights")
    assert [point[1] for point in histograms] == [0, 1, 2]
    assert sum(bucket[2] for bucket in histograms[0][2]) == 10
    assert len(server.get("/data/plugin/distributions/distributions", run="run", tag="weights")) == 3

    pictures = server.get("/data/plugin/images/images", run="run", tag="picture", sample=0)
    assert [one["step"] for one in pictures] == [0, 1, 2]
    assert server.get(f"/data/plugin/images/individualImage?{pictures[0]['query']}").startswith(b"\x89PNG")

    sounds = server.get("/data/plugin/audio/audio", run="run", tag="sound", sample=0)
    assert [one["step"] for one in sounds] == [0, 1, 2]
    assert server.get(f"/data/plugin/audio/individualAudio?{sounds[0]['query']}").startswith(b"RIFF")

    texts = server.get("/data/plugin/text/text", run="run", tag="note/text_summary")
    assert "<strong>2</strong>" in texts[2]["text"]

    curves = server.get("/data/plugin/pr_curves/pr_curves", run="run", tag="pr")["run"]
    assert [one["step"] for one in curves] == [0, 1, 2]
    assert curves[0]["recall"][0] == 1.0

    (mesh,) = {one["content_type"] for one in server.get("/data/plugin/mesh/meshes", run="run", tag="mesh")}
    assert mesh == 1

    layout = server.get("/data/plugin/custom_scalars/layout")
    assert layout["category"][0]["chart"][0]["multiline"]["tag"] == ["loss"]

    graph = server.get("/data/plugin/graphs/graph", run="run").decode()
    assert "Linear" in graph
    assert "node {" in graph

    embeddings = server.get("/data/plugin/projector/info", run="run")["embeddings"]
    assert embeddings[0]["tensorShape"] == [5, 5]


def test_hyperparameters_can_be_compared(server: Server) -> None:
    experiment = server.post("/data/plugin/hparams/experiment", {"experimentName": ""})
    assert {info["name"]: info["type"] for info in experiment["hparamInfos"]} == {
        "lr": "DATA_TYPE_FLOAT64",
        "nesterov": "DATA_TYPE_BOOL",
    }
    columns = {"name": {"group": "", "tag": "hparam/accuracy"}}
    answer = server.post(
        "/data/plugin/hparams/session_groups",
        {
            "experimentName": "",
            "allowedStatuses": ["STATUS_SUCCESS", "STATUS_UNKNOWN"],
            "colParams": [{"metric": columns["name"], "order": "ORDER_UNSPECIFIED"}],
            "startIndex": 0,
            "sliceSize": 10,
        },
    )
    (group,) = answer["sessionGroups"]

    assert group["hparams"] == {"lr": 0.1, "nesterov": True}
    assert group["metricValues"][0]["value"] == 0.75
