"""HTTP/1.1 for one WSGI application: one thread a connection, which stays open, no word on the terminal.

The page asks several times a second. werkzeug's own server closes every connection, and after each answer waits
for bytes that do not belong there.
"""

from __future__ import annotations

import io
import socket
import socketserver
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from typing import Any

from werkzeug.test import run_wsgi_app

MOST_BODY_BYTES = 1 << 16
_IDLE_S = 60.0
_NO_ROOM_S = 0.1


class PageServer(socketserver.ThreadingMixIn, socketserver.TCPServer):
    """Takes a socket that listens already, so that a port in use is known before anything else is done."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, listening: socket.socket, app: Any) -> None:
        super().__init__(listening.getsockname(), _Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listening
        self.server_port: int = listening.getsockname()[1]
        self.app = app
        self.asked = 0.0  # when somebody last asked for something, by time.monotonic
        self._connections: set[socket.socket] = set()

    def get_request(self) -> Any:
        try:
            return super().get_request()
        except OSError:  # as many files are open as the system allows: trying again at once would only spin
            time.sleep(_NO_ROOM_S)
            raise

    def process_request(self, request: Any, client_address: Any) -> None:
        self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._connections.discard(request)
        super().shutdown_request(request)

    def server_close(self) -> None:
        """Also of what is open: a page must see that nobody is there any more."""
        super().server_close()
        for connection in tuple(self._connections):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that went away in the middle of an answer is no news."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "torch-debugger", ""
    timeout = _IDLE_S
    wbufsize = -1  # head and body go out together
    disable_nagle_algorithm = True
    server: PageServer

    def handle_one_request(self) -> None:
        """As the base class has it, but for all methods: the application says which ones it takes."""
        try:
            self.raw_requestline = self.rfile.readline(65537)
        except TimeoutError:
            self.raw_requestline = b""
        if not self.raw_requestline or len(self.raw_requestline) > 65536:
            self.close_connection = True
        elif self.parse_request():
            self._answer()
            self.wfile.flush()

    def _answer(self) -> None:
        self.server.asked = time.monotonic()
        body = self._body()
        if body is None:
            self.close_connection = True  # what follows on it is no request
            self.send_error(413, "A request of this page has a known length, and is short.")
            return
        pieces, status, headers = run_wsgi_app(self.server.app, self._environ(body), buffered=True)
        code, _, reason = status.partition(" ")
        self.send_response(int(code), reason)
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.writelines(pieces)

    def _body(self) -> bytes | None:
        """None where its end is not known, or further away than any request of ours would be."""
        length = self.headers.get("Content-Length", "0")
        if "Transfer-Encoding" in self.headers or not length.isdecimal() or int(length) > MOST_BODY_BYTES:
            return None
        return self.rfile.read(int(length))

    def _environ(self, body: bytes) -> dict[str, Any]:
        path, _, query = self.path.partition("?")
        environ: dict[str, Any] = {
            "REQUEST_METHOD": self.command,
            "SCRIPT_NAME": "",
            "PATH_INFO": _decoded(path),
            "QUERY_STRING": query,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "SERVER_NAME": "localhost",
            "SERVER_PORT": str(self.server.server_port),
            "SERVER_PROTOCOL": self.request_version,
            "REMOTE_ADDR": self.client_address[0],
            "wsgi.url_scheme": "http",
            "wsgi.input": io.BytesIO(body),
        }
        for name in set(self.headers.keys()):
            key = "HTTP_" + name.upper().replace("-", "_")
            environ[key] = ",".join(self.headers.get_all(name, []))
        return environ

    def log_message(self, format: str, *args: Any) -> None:
        """Not on the terminal of a training."""


def _decoded(path: str) -> str:
    from urllib.parse import unquote_to_bytes

    return unquote_to_bytes(path).decode("latin-1")  # as WSGI has it
