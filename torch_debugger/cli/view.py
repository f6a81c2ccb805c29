"""torch-debugger view: the page, for runs that have ended or go on."""

from __future__ import annotations

import argparse
import os
import secrets
import sys
from collections.abc import Sequence
from typing import Any

from torch_debugger.log.object_stores import is_url, named_places
from torch_debugger.system.errors import UsageError

_PATH_HELP = (
    "a folder of runs, one run, a trace of torch.profiler, or a .prof file of cProfile (default: runs)."
    " Folders and runs take names: base:runs/a tuned:runs/b, or base:runs/a,tuned:runs/b"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("paths", nargs="*", metavar="PATH", help=_PATH_HELP)
    add("--port", metavar="N", help="serve at this port (default: one that is free)")
    add("--host", metavar="H", default="127.0.0.1", help="serve to other machines too, who then need a token")
    add("--token", metavar="T", help="ask for this token; without it one is made up where it is needed")
    add("--no-open", action="store_true", help="do not open the browser")


def run(arguments: argparse.Namespace) -> int:
    from torch_debugger.cli.page_beside_run import open_browser
    from torch_debugger.cli.traces import TraceRuns
    from torch_debugger.settings import parse_port
    from torch_debugger.viewer.server import address, is_loopback, make_page_server

    profiles = read_profiles(arguments.paths)
    places = named_places([] if profiles else _without_snapshots(arguments.paths or ["runs"]))
    traces = TraceRuns([place for _, place in places])
    shown = [each for each in places if each[1] in traces.others]
    folders = traces.folders | (read_folders(shown) if shown else {})
    token = arguments.token or ("" if is_loopback(arguments.host) else secrets.token_urlsafe(24))
    port = parse_port("--port", arguments.port) if arguments.port is not None else 0
    server = make_page_server(folders, arguments.host, port, token, call_profiles=profiles, traces=traces.book)
    place = address(arguments.host, server.server_port, token) + ("#/profile" if traces.are_all else "")
    sys.stdout.write(f"The page is at {place} until you press Ctrl-C.\n")
    sys.stdout.flush()
    try:
        if not arguments.no_open:
            open_browser(place)
        server.serve_forever()
    except KeyboardInterrupt:  # how one leaves
        sys.stdout.write("\n")
    finally:
        server.server_close()
        traces.close()
    return 0


def read_profiles(paths: Sequence[str]) -> dict[str, dict[str, Any]]:
    """By the names of the files; empty where folders of runs are shown. A page has the one or the other."""
    from torch_debugger.viewer.traces import is_call_profile, read_call_profile

    files = [path for path in dict.fromkeys(paths) if is_call_profile(path)]
    if not files:
        return {}
    if others := [path for path in paths if path not in files]:
        raise UsageError(
            f"{files[0]} is a profile of Python's and {others[0]} is none: a page shows profiles or runs. "
            "Open them with one command each."
        )
    names = [os.path.basename(path) for path in files]
    return {
        name if names.count(name) == 1 else path: read_call_profile(path)
        for name, path in zip(names, files, strict=True)
    }


def _without_snapshots(paths: Sequence[str]) -> Sequence[str]:
    """A memory snapshot is a table, and no run."""
    for path in paths:
        if path.endswith((".pickle", ".pkl")) and os.path.isfile(path):
            raise UsageError(
                f"{path} is no run. If it is a memory snapshot, show it with `torch-debugger memory {path}`."
            )
    return paths


def read_folders(places: Sequence[tuple[str | None, str]]) -> dict[str, str]:
    """Prefix -> folder: what the page calls the runs below it. One folder of runs needs no prefix unless it was
    given one."""
    folders = list(dict.fromkeys((name, _existing(path)) for name, path in places))
    if len(folders) == 1:
        ((name, folder),) = folders
        return {name or (_name(folder) if _is_run(folder) else ""): folder}
    named: dict[str, str] = {}
    for name, folder in folders:
        if name in named and named[name] != folder:
            raise UsageError(f"Two folders are to be called {name}: {named[name]} and {folder}.")
        own = name or _name(folder)
        named[folder if own in named else own] = folder
    return named


def _existing(path: str) -> str:
    from torch_debugger.log.event_files import MARK

    if is_url(path) or os.path.isdir(path):
        return path.rstrip("/") or "/"
    if os.path.isfile(path) and MARK in os.path.basename(path):
        return os.path.dirname(path) or "."
    if os.path.exists(path):
        raise UsageError(
            f"{path} is no folder of runs, and no profile of cProfile. Name the folder that was given "
            "as --log-dir, or one above it."
        )
    hint = " `torch-debugger run train.py` makes it." if path == "runs" else ""
    raise UsageError(f"There is no folder {path} to look for runs in (looked in {os.getcwd()}).{hint}")


def _is_run(folder: str) -> bool:
    from torch_debugger.log.folders import event_files

    return not is_url(folder) and bool(event_files(folder))


def _name(folder: str) -> str:
    return folder if is_url(folder) else os.path.basename(os.path.abspath(folder)) or folder
