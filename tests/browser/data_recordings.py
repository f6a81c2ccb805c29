"""Runs of `data_scripts`, recorded by real training once for all workers, and a page that shows them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser import data_scripts
from tests.browser.recordings import made_once, record, serving
from tests.viewer.logged import raw_event, write

SCRIPTS = {
    "images": data_scripts.PICTURES,
    "tokens": data_scripts.TOKENS,
    "series": data_scripts.SERIES,
    "logged": data_scripts.LOGGED,
    "gaps": data_scripts.GAPS,
    "fallen": data_scripts.FALLEN,
}


@pytest.fixture(scope="session")
def data_served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(made_once(tmp_path_factory, "data", _make) / "runs") as address:
        yield address


def _make(folder: Path) -> None:
    (folder / "notes.md").write_text(data_scripts.NOTES)
    for name, script in SCRIPTS.items():
        record(folder, name, script, LOGGED_TO=f"runs/{name}", NOTES="notes.md")
    write(folder / "runs" / "hostile", raw_event(b"svg", 4, b"<svg onload='alert(1)'/>"), raw_event(b"noise", 6, b"?"))
