"""Told when a module has been imported: now, later, in any thread, with its loader left as it was."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from torch_debugger.system.imports import when_imported


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on sys.path with modules of a name no other test has; nothing of it stays loaded."""
    monkeypatch.syspath_prepend(str(tmp_path))
    before, finders = set(sys.modules), list(sys.meta_path)
    (tmp_path / "later.py").write_text("value = 1\n")
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("from package.part import value\n")
    (package / "part.py").write_text("value = 2\n")
    (package / "other.py").write_text("value = 3\n")
    importlib.invalidate_caches()
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]
    assert sys.meta_path == finders


class Told(list[ModuleType]):
    """The modules we were told of, and the values they had by then."""

    def __init__(self) -> None:
        super().__init__()
        self.values: list[object] = []

    def __call__(self, module: ModuleType) -> None:
        self.append(module)
        self.values.append(getattr(module, "value", None))


def test_now_if_it_is_imported() -> None:
    told = Told()
    stop = when_imported("sys", told)
    assert told == [sys]
    stop()


def test_later_when_its_code_has_run() -> None:
    told = Told()
    when_imported("later", told)
    assert told == []
    import later  # type: ignore[import-not-found]

    assert told == [later]
    assert told.values == [1]


def test_once_only() -> None:
    told = Told()
    when_imported("later", told)
    module = importlib.import_module("later")
    importlib.reload(module)
    importlib.import_module("later")
    assert told == [module]


def test_a_package_when_all_of_its_init_has_run() -> None:
    told = Told()
    when_imported("package", told)
    importlib.import_module("package.other")
    assert [module.__name__ for module in told] == ["package"]
    assert told.values == [2]


def test_a_submodule_imported_by_its_package() -> None:
    told = Told()
    when_imported("package.part", told)
    importlib.import_module("package")
    assert [module.__name__ for module in told] == ["package.part"]


def test_a_submodule_later() -> None:
    told = Told()
    when_imported("package.other", told)
    importlib.import_module("package")
    assert told == []
    importlib.import_module("package.other")
    assert told.values == [3]


def test_several_who_wait_for_the_same_module() -> None:
    first, second = Told(), Told()
    when_imported("later", first)
    when_imported("later", second)
    importlib.import_module("later")
    assert (first.values, second.values) == ([1], [1])


def test_called_off() -> None:
    told = Told()
    stop = when_imported("later", told)
    stop()
    stop()
    importlib.import_module("later")
    assert told == []


def test_an_import_that_fails_and_then_succeeds(folder: Path) -> None:
    (folder / "broken.py").write_text("raise RuntimeError('not today')\n")
    told = Told()
    when_imported("broken", told)
    with pytest.raises(RuntimeError, match="not today"):
        importlib.import_module("broken")
    assert told == []
    assert "broken" not in sys.modules
    (folder / "broken.py").write_text("value = 'repaired and longer'\n")
    importlib.invalidate_caches()
    importlib.import_module("broken")
    assert told.values == ["repaired and longer"]


def test_a_module_that_does_not_exist() -> None:
    told = Told()
    stop = when_imported("no_such_module", told)
    with pytest.raises(ModuleNotFoundError, match="No module named 'no_such_module'"):
        importlib.import_module("no_such_module")
    stop()
    assert told == []


def test_asking_whether_it_exists_does_not_count() -> None:
    """Scripts look with find_spec whether a library is there."""
    told = Told()
    stop = when_imported("later", told)
    assert importlib.util.find_spec("later") is not None
    assert importlib.util.find_spec("no_such_module") is None
    assert told == []
    importlib.import_module("later")
    assert told.values == [1]
    stop()


def test_the_loader_is_left_as_it_was() -> None:
    plain = importlib.import_module("later")
    before = type(plain.__loader__), sorted(vars(plain.__loader__ or object))
    del sys.modules["later"]
    when_imported("later", Told())
    watched = importlib.import_module("later")
    assert (type(watched.__loader__), sorted(vars(watched.__loader__ or object))) == before
    assert watched.__spec__ is not None
    assert plain.__spec__ is not None
    assert watched.__spec__.origin == plain.__spec__.origin
    assert watched.__file__ == plain.__file__


def test_in_another_thread() -> None:
    told = Told()
    when_imported("later", told)
    thread = threading.Thread(target=importlib.import_module, args=("later",))
    thread.start()
    thread.join()
    assert told.values == [1]


def test_many_threads_at_once(folder: Path) -> None:
    (folder / "slow.py").write_text("import time\ntime.sleep(0.2)\nvalue = 4\n")
    importlib.invalidate_caches()
    told = Told()
    when_imported("slow", told)
    start, got = threading.Barrier(8), []

    def load() -> None:
        start.wait()
        got.append(importlib.import_module("slow").value)

    threads = [threading.Thread(target=load) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == 8 * [4]
    assert told.values == [4]


def test_asked_from_inside_the_import_it_is_too_late(folder: Path) -> None:
    """The module is there but not done, and its loader is past the point where we could listen."""
    told, stops = Told(), []
    asking = ModuleType("asking")
    asking.ask = lambda: stops.append(when_imported("early", told))  # type: ignore[attr-defined]
    sys.modules["asking"] = asking
    (folder / "early.py").write_text("import asking\nasking.ask()\nvalue = 5\n")
    assert importlib.import_module("early").value == 5
    assert told == []
    stops[0]()
