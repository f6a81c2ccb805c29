"""Which zoo scripts to run: all, a sample, a shard, those that match a pattern or that a change may concern."""

from __future__ import annotations

import functools
import inspect
import subprocess
from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatch
from pathlib import Path

from tests.house.rooms import PACKAGE, REPOSITORY, imported_files, imports, room_of
from tests.zoo.scripts import ZOO, all_scripts, is_paced, name_of
from torch_debugger.checks.catalog import catalog

RECORDS = PACKAGE / "records"
HUB = 50  # a file that imports and is imported by more of ours than this concerns everything
READERS = {"cli", "pictures", "report", "viewer"}  # change no verdict
PARTS = 10  # of what is not always in the sample: each commit runs one, ten in a row run all


def sample(scripts: list[Path], commits: int) -> list[Path]:
    """The first broken script and the first lookalike of every home, zoo/healthy, and a tenth of the rest; none
    that the pace of the machine decides."""
    always = ("broken.py", "lookalike.py")
    rest = [script for script in scripts if script.parent.name != "healthy" and script.name not in always]
    left_out = {script for index, script in enumerate(rest) if (index + commits) % PARTS}
    return [script for script in scripts if script not in left_out and not is_paced(script)]


def count_commits() -> int:
    """0 outside of a checkout."""
    told = _git("rev-list", "--count", "HEAD")
    return int(told[0]) if told else 0


def shard(scripts: list[Path], which: str) -> list[Path]:
    """2/5: the second of five parts, every home spread over all of them."""
    part, parts = map(int, which.split("/"))
    if not 1 <= part <= parts:
        raise ValueError(f"a shard is k/n with k from 1 to n, not {which}")
    return scripts[part - 1 :: parts]


def matching(scripts: list[Path], pattern: str) -> list[Path]:
    """setup/graph-cut/broken.py, setup/*, graph-cut, *dead*: a pattern for the path or for the home."""
    return [each for each in scripts if fnmatch(name_of(each), pattern) or fnmatch(each.parent.name, pattern)]


def changed_files(base: str) -> list[str]:
    """What the working tree changes against the commit where it left base, new files too."""
    start = (_git("merge-base", base, "HEAD") or ["HEAD"])[0]
    return [*_git("diff", "--name-only", start), *_git("ls-files", "--others", "--exclude-standard")]


def concerned(scripts: list[Path], files: Iterable[str]) -> list[Path]:
    """The homes among the files, and those of the checks that the files may concern."""
    changed = {REPOSITORY / file for file in files}
    homes = {file.parent for file in changed if ZOO in file.parents}
    names = checks_behind({file for file in changed if PACKAGE in file.parents and file.suffix == ".py"})
    healthy = ZOO / "healthy" if names else None
    return [script for script in scripts if script.parent in homes | {healthy} or script.parent.name in names]


def checks_behind(changed: set[Path]) -> set[str]:
    """Checks that import a changed file, by however many steps, and those that read a record which a changed
    maker (or the nearest file that uses it and makes records) makes: both meet in the records alone."""
    graph = _imports_of_all_files()
    if any(_connections(path, graph) > HUB for path in changed if room_of(path) not in READERS):
        return {check.name for check in catalog()}
    touched = _users_of(changed, graph, lambda path: False)
    records = {
        name
        for path in _users_of(changed, graph, lambda path: bool(_records_in(path)))
        for name in _records_in(path)
        if room_of(path) not in READERS | {"checks"}
    }
    return {
        check.name
        for check in catalog()
        if Path(inspect.getfile(check)) in touched or records & {record.__name__ for record in check.reads}
    }


def _connections(path: Path, graph: dict[Path, set[Path]]) -> int:
    return len(graph.get(path, ())) + sum(path in imported for imported in graph.values())


def _users_of(changed: set[Path], graph: dict[Path, set[Path]], far_enough: Callable[[Path], bool]) -> set[Path]:
    """The files themselves and all that import them, but none beyond a file that is far enough."""
    touched: set[Path] = set()
    new = changed & graph.keys()
    while new:
        touched |= new
        followed = {path for path in new if not far_enough(path)}
        new = {path for path, imported in graph.items() if imported & followed} - touched
    return touched


@functools.cache
def _imports_of_all_files() -> dict[Path, set[Path]]:
    return {path: set(_imported_files(path)) for path in PACKAGE.rglob("*.py")}


@functools.cache
def _record_files() -> dict[str, Path]:
    """The records by name, and where each is written down."""
    names = [name.split(".") for name in imports(RECORDS / "__init__.py")]
    return {name[-1]: RECORDS / f"{name[2]}.py" for name in names if name[:2] == ["torch_debugger", "records"]}


def _records_in(path: Path) -> set[str]:
    """Those that a file imports, or holds itself."""
    if path.parent == RECORDS:
        return {name for name, file in _record_files().items() if file == path}
    return {name.rpartition(".")[2] for name in imports(path)} & _record_files().keys()


def _imported_files(path: Path) -> Iterator[Path]:
    if path == RECORDS / "__init__.py":  # all import it, for one record each
        return
    for file in imported_files(path):
        if file != RECORDS / "__init__.py":
            yield file
    for name in imports(path):
        parts = name.split(".")
        if parts[:2] == ["torch_debugger", "records"] and parts[-1] in _record_files():
            yield _record_files()[parts[-1]]


def _git(*words: str) -> list[str]:
    asked = subprocess.run(["git", *words], cwd=REPOSITORY, capture_output=True, text=True)
    return asked.stdout.splitlines() if asked.returncode == 0 else []


def choose(only: str = "", which: str = "", changed_since: str = "", sampled: bool = False) -> list[Path]:
    scripts = all_scripts()
    if changed_since:
        scripts = concerned(scripts, changed_files(changed_since))
    if only:
        scripts = matching(scripts, only)
    if sampled:
        scripts = sample(scripts, count_commits())
    return shard(scripts, which) if which else scripts
