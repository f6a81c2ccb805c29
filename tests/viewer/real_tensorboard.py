"""A real TensorBoard, started as users start it, which finds our tab as an installed package's."""

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
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parents[2]


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


def environment_with_tab(folder: Path) -> dict[str, str]:
    return os.environ | {"PYTHONPATH": os.pathsep.join([str(REPOSITORY), str(entry_point(folder))])}


class TensorBoard:
    def __init__(self, folder: Path, environment: dict[str, str], *words: str) -> None:
        self.said = folder / "tensorboard.txt"
        command = [sys.executable, "-m", "tensorboard.main", "--port", "0", "--host", "127.0.0.1", *words]
        with self.said.open("w") as file:
            self.process = subprocess.Popen(command, stdout=file, stderr=file, cwd=folder, env=environment)
        self.address = self._wait()

    def _wait(self) -> str:
        for _ in range(3000):
            found = re.search(r"http://127\.0\.0\.1:\d+", self.said.read_text())
            if found:
                return found[0]
            assert self.process.poll() is None, self.said.read_text()
            time.sleep(0.1)
        raise AssertionError(f"TensorBoard does not start: {self.said.read_text()}")

    def get(self, path: str) -> tuple[int, str, Any]:
        try:
            with urllib.request.urlopen(f"{self.address}/data/{path}", timeout=300) as answer:
                return answer.status, answer.read().decode(), answer.headers
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode(), error.headers

    def ask(self, route: str, **parameters: str) -> Any:
        status, text, _ = self.get(f"plugin/torch_debugger/{route}?{urllib.parse.urlencode(parameters)}")
        return json.loads(text) | ({} if status == 200 else {"status": status})

    def post(self, path: str) -> int:
        request = urllib.request.Request(f"{self.address}/data/{path}", data=b"{}", method="POST")
        try:
            with urllib.request.urlopen(request, timeout=300) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            return error.code

    def end(self) -> None:
        self.process.terminate()
        self.process.wait(300)
