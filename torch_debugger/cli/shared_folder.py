"""The one log folder of several ranks: each finds it by itself, from what all of them know."""

from __future__ import annotations

import hashlib
import itertools
import os
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from torch_debugger.cli.log_folder import holds_another_run, make_writable, name_of_script
from torch_debugger.cli.rank_launch import RankLaunch
from torch_debugger.errors import UsageError
from torch_debugger.runlog.stores import is_url

MARK = "ranks.txt"  # says whose folder it is, so that the ranks of another run do not join


@contextmanager
def open_shared_folder(launch: RankLaunch, chosen: str | None, script: str, *, keep: bool) -> Iterator[str]:
    """The absolute path of a folder that exists and can be written; not kept, the first rank removes it."""
    if keep and chosen is not None and is_url(chosen):
        raise UsageError(
            f"The ranks of one run share a folder, and {chosen} is none. "
            "Name one that all machines can reach with --log-dir, or leave it out."
        )
    if keep:
        yield str(
            _joined(launch, [Path(chosen).absolute()]) if chosen else _joined(launch, _names(launch, script))
        )
        return
    folder = _joined(launch, [_passing_folder(launch)])
    try:
        yield str(folder)
    finally:
        if launch.is_first:
            shutil.rmtree(folder, ignore_errors=True)


def _names(launch: RankLaunch, script: str) -> Iterator[Path]:
    """runs/train-20260131-174502 by the start of torchrun on this machine; on several, by its run id. When
    torchrun starts the ranks anew that is a run of its own, with -restart1 at its end."""
    began = time.strftime("%Y%m%d-%H%M%S", time.localtime(launch.started))
    spread = launch.run_id or launch.address.replace(":", "-")
    moment = began if launch.is_on_one_machine else spread
    again = f"-restart{launch.restart}" if launch.restart else ""
    first = Path("runs", f"{name_of_script(script)}-{moment}{again}").absolute()
    yield first
    yield from (first.with_name(f"{first.name}-{number}") for number in itertools.count(2))


def _passing_folder(launch: RankLaunch) -> Path:
    name = hashlib.sha256(f"{os.getuid()} {launch.identity}".encode()).hexdigest()[:16]
    return Path(tempfile.gettempdir(), f"torch-debugger-{name}")


def _joined(launch: RankLaunch, folders: Iterable[Path]) -> Path:
    """The first of these that is ours: because we are the first in it, or one of our fellows was."""
    for folder in folders:
        make_writable(folder)
        if _is_ours(folder, launch):
            return folder
    raise holds_another_run(str(folder))


def _is_ours(folder: Path, launch: RankLaunch) -> bool:
    mark = folder / MARK
    if not mark.exists() and not any(folder.glob("*tfevents*")):
        _put(mark, launch.identity)
    try:
        return mark.read_text(encoding="utf-8") == launch.identity and not _is_over(folder, launch)
    except OSError:
        return False


def _is_over(folder: Path, launch: RankLaunch) -> bool:
    """A torchrun of its own or a run id tell two runs apart; an address or a shell that starts many do not."""
    is_apart = launch.by_torchrun and (launch.is_on_one_machine or launch.run_id)
    return not is_apart and (folder / "result.json").exists()


def _put(mark: Path, identity: str) -> None:
    """Whole, and only where there is none: of several who try, one succeeds and the others read what it put."""
    draft = mark.with_name(f".{mark.name}.{os.getpid()}")
    draft.write_text(identity, encoding="utf-8")
    with suppress(FileExistsError):
        try:
            os.link(draft, mark)
        except PermissionError:  # a file system without links
            with mark.open("x", encoding="utf-8") as file:
                file.write(identity)
    draft.unlink()
