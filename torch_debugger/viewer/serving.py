"""The page's server, in a process of its own."""

from __future__ import annotations

import errno
import os
import secrets
import socket
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from torch_debugger.errors import UsageError
from torch_debugger.viewer.app import make_app
from torch_debugger.viewer.doorkeeper import LOOPBACK, Doorkeeper
from torch_debugger.viewer.http_server import PageServer
from torch_debugger.viewer.run_shelf import RunShelf
from torch_debugger.viewer.trace_book import TraceBook

HERE = "127.0.0.1"
_EVERYWHERE = ("", "0.0.0.0", "::")
_MOST_WAITING = 128  # connections
PORT_HELPS = "Another port can be given with {}; without it a free one is taken."


def make_page_server(
    folders: Mapping[str, str],
    host: str = HERE,
    port: int = 0,
    token: str = "",
    listening: socket.socket | None = None,
    call_profiles: Mapping[str, dict[str, Any]] | None = None,
    traces: TraceBook | None = None,
) -> PageServer:
    """`folders` are prefix -> folder; `call_profiles` are shown instead of runs. Whoever makes it reachable
    from elsewhere gives a token."""
    taken = listening or listen(host, port)
    edit_token = secrets.token_urlsafe(24)
    door = Doorkeeper(
        edit_token,
        token=token,
        hosts={*LOOPBACK, *_names(host)},
        any_address=host in _EVERYWHERE,
        cookie=f"torch-debugger-{taken.getsockname()[1]}",  # browsers share cookies between ports
    )
    shelf = RunShelf(folders, of_others=True)
    shelf.call_profiles.update(call_profiles or {})
    shelf.traces = traces or shelf.traces
    return PageServer(taken, make_app(shelf, edit_token, door))


def listen(host: str = HERE, port: int = 0, port_flag: str = "--port") -> socket.socket:
    """A socket that listens; a sentence where that is not possible."""
    try:
        family = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0][0]
        return socket.create_server((host, port), family=family, backlog=_MOST_WAITING)
    except socket.gaierror as error:
        raise UsageError(f"This machine does not know the host {host!r}: {error.strerror}.") from error
    except OverflowError as error:
        raise UsageError(f"There is no port {port}: ports are numbers from 0 to 65535.") from error
    except OSError as error:
        helps = f" {PORT_HELPS.format(port_flag)}" if error.errno in (errno.EADDRINUSE, errno.EACCES) else ""
        reason = os.strerror(error.errno or 0)
        raise UsageError(f"The page cannot be served at {shown_host(host)}:{port}: {reason}.{helps}") from error


def is_loopback(host: str) -> bool:
    return host == "localhost" or host == "::1" or host.startswith("127.")


def address(host: str, port: int, token: str = "") -> str:
    """Where a browser finds the page."""
    reachable = socket.gethostname() if host in _EVERYWHERE else host
    return f"http://{shown_host(reachable)}:{port}/" + (f"?{urlencode({'token': token})}" if token else "")


def shown_host(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _names(host: str) -> set[str]:
    own = {socket.gethostname(), socket.getfqdn()} if host in _EVERYWHERE else {host}
    return {shown_host(name) for name in own}
