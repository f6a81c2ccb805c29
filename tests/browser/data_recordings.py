"""Runs of `data_scripts`, recorded by real training once a process, and a page that shows them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest

from tests.browser import data_scripts
from tests.browser.recordings import record
from tests.viewer.logged import raw_event, write
from torch_debugger.viewer.serving import make_page_server

SCRIPTS = {
    "images": data_scripts.PICTURES,
    "tokens": data_scripts.TOKENS,
    "series": data_scripts.SERIES,
    "logged": data_scripts.LOGGED,
}


@pytest.fixture(scope="session")
def data_served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("data")
    (folder / "notes.md").write_text(data_scripts.NOTES)
    for name, script in SCRIPTS.items():
        (folder / f"{name}.py").write_text(script)
        places = {"LOGGED_TO": str(folder / "runs" / name), "NOTES": str(folder / "notes.md")}
        with mock.patch.dict("os.environ", places):
            record(folder / f"{name}.py", folder / "runs" / name)
    write(
        folder / "runs" / "hostile",
        raw_event(b"svg", 4, b"<svg onload='alert(1)'/>"),
        raw_event(b"noise", 6, b"?"),
    )
    yield from _served(folder / "runs")


def _served(folder: Path) -> Iterator[str]:
    server = make_page_server({"": str(folder)})
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    thread.join()
