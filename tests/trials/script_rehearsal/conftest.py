"""The script that a test module writes out as its SOURCE, as the only file of the user's."""

from __future__ import annotations

from pathlib import Path

import pytest

from torch_debugger.source import files as sources


@pytest.fixture
def script(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    file = tmp_path / "train.py"
    file.write_text(request.module.SOURCE)
    monkeypatch.setattr(sources, "user_files", lambda: [str(file)])
    return str(file)
