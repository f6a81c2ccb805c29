"""The page's server, in a process of its own."""

from __future__ import annotations

import secrets
from collections.abc import Mapping

from werkzeug.serving import BaseWSGIServer, make_server

from torch_debugger.viewer.app import make_app
from torch_debugger.viewer.run_shelf import RunShelf


def make_page_server(folders: Mapping[str, str], host: str = "127.0.0.1", port: int = 0) -> BaseWSGIServer:
    app = make_app(RunShelf(folders), secrets.token_urlsafe(24))
    return make_server(host, port, app, threaded=True)
