"""torch-debugger view: the page, for runs that have ended or go on."""

from __future__ import annotations

import argparse
import os
import secrets
import sys
from collections.abc import Sequence

from torch_debugger.errors import UsageError
from torch_debugger.runlog.stores import is_url

NAME = "view"
HELP = "show runs in the browser: what was found, curves, layers, pictures"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("paths", nargs="*", metavar="PATH", help="a folder of runs, or one run (default: runs)")
    add("--port", metavar="N", help="serve at this port (default: one that is free)")
    add("--host", metavar="H", default="127.0.0.1", help="serve to other machines too, who then need a token")
    add("--token", metavar="T", help="ask for this token; without it one is made up where it is needed")
    add("--no-open", action="store_true", help="do not open the browser")


def run(arguments: argparse.Namespace) -> int:
    from torch_debugger.cli.browser import open_browser
    from torch_debugger.cli.options import read_port
    from torch_debugger.viewer.serving import address, is_loopback, make_page_server

    folders = read_folders(arguments.paths or ["runs"])
    token = arguments.token or ("" if is_loopback(arguments.host) else secrets.token_urlsafe(24))
    server = make_page_server(folders, arguments.host, read_port("--port", arguments.port), token)
    place = address(arguments.host, server.server_port, token)
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
    return 0


def read_folders(paths: Sequence[str]) -> dict[str, str]:
    """Prefix -> folder: what the page calls the runs below it. One folder of runs needs no prefix."""
    if len(paths) == 1:
        folder = _existing(paths[0])
        return {_name(folder) if _is_run(folder) else "": folder}
    named: dict[str, str] = {}
    for folder in dict.fromkeys(map(_existing, paths)):
        name = _name(folder)
        named[folder if name in named else name] = folder
    return named


def _existing(path: str) -> str:
    from torch_debugger.archive.folders import MARK

    if is_url(path) or os.path.isdir(path):
        return path.rstrip("/") or "/"
    if os.path.isfile(path) and MARK in os.path.basename(path):
        return os.path.dirname(path) or "."
    if os.path.exists(path):
        raise UsageError(
            f"{path} is no folder of runs. Name the one that was given as --log-dir, or one above it."
        )
    hint = " `torch-debugger run train.py` makes it." if path == "runs" else ""
    raise UsageError(f"There is no folder {path} to look for runs in (looked in {os.getcwd()}).{hint}")


def _is_run(folder: str) -> bool:
    from torch_debugger.archive.folders import event_files

    return not is_url(folder) and bool(event_files(folder))


def _name(folder: str) -> str:
    return folder if is_url(folder) else os.path.basename(os.path.abspath(folder)) or folder
