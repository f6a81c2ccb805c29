"""Runs in a folder, and a real server that shows them."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch_debugger.log.writer import LogWriter
from torch_debugger.records import RunFact, Scalars
from torch_debugger.viewer.server import make_page_server


def make_run(folder: Path, loss: float = 1.0, step: int = 1) -> Path:
    writer = LogWriter(folder, on_fault=print)
    writer.add(RunFact("train.py", (), "", 1, 0.0, "3", "2", "cpu", "0", 0.02, False))
    writer.add(Scalars(step, 0.0, {"loss": loss}))
    writer.close()
    return folder


def end_run(folder: Path) -> Path:
    """As `torch-debugger run` leaves it."""
    (folder / "result.json").write_text('{"outcome": "finished", "findings": []}')
    (folder / "report.md").write_text("# fine")
    return folder


@dataclass
class Reply:
    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Client:
    """One connection, used again and again, that says what it wants to."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> Reply:
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        text = json.dumps(body) if body is not None and not isinstance(body, bytes) else body
        if isinstance(text, str):
            given.setdefault("Content-Type", "application/json")
        self.connection.request(method, path, text, given)
        answer = self.connection.getresponse()
        return Reply(answer.status, answer.headers, answer.read())

    def get(self, path: str, **headers: str) -> Reply:
        return self.send("GET", path, **headers)

    def edit(self, body: Any) -> Reply:
        token = self.get("/ask/session").json["edit_token"]
        return self.send("POST", "/ask/edits", body, X_Edit_Token=token)


@contextmanager
def serving(folder: Path | dict[str, str], **how: Any) -> Iterator[Client]:
    folders = folder if isinstance(folder, dict) else {"": str(folder)}
    server = make_page_server(folders, **how)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)  # seconds until it ends
    thread.start()
    client = Client(server.server_port)
    try:
        yield client
    finally:
        client.connection.close()
        server.shutdown()
        server.server_close()
        thread.join()
