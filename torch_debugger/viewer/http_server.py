"""wsgiref's server for werkzeug's requests and responses: one thread a connection, no word on the terminal.

A connection stays open, which it would not by wsgiref alone: the page asks several times a second.
"""

from __future__ import annotations

import hashlib
import hmac
import io
import ipaddress
import socket
import socketserver
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from werkzeug import Request, Response

MOST_BODY_BYTES = 1 << 16
_IDLE_S = 60.0
_NO_ROOM_S = 0.1


class PageServer(socketserver.ThreadingMixIn, WSGIServer):
    """Takes a socket that listens already, so that a port in use is known before anything else is done."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, listening: socket.socket, answer: Callable[[Request], Response]) -> None:
        super().__init__(listening.getsockname(), _Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listening
        self.server_name, self.server_port = "localhost", listening.getsockname()[1]
        self.setup_environ()
        self.answer = answer
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


class _Handler(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "torch-debugger", ""
    timeout = _IDLE_S
    wbufsize = -1  # head and body go out together
    disable_nagle_algorithm = True
    server: PageServer
    handle = BaseHTTPRequestHandler.handle  # one request after the other until the connection is closed

    def handle_one_request(self) -> None:
        """For all methods: the application says which ones it takes."""
        try:
            self.raw_requestline = self.rfile.readline(65537)
        except TimeoutError:
            self.raw_requestline = b""
        if not self.raw_requestline or len(self.raw_requestline) > 65536:
            self.close_connection = True
            return
        if not self.parse_request():
            return
        self.server.asked = time.monotonic()
        length = self.headers.get("Content-Length", "0")
        if "Transfer-Encoding" in self.headers or not length.isdecimal() or int(length) > MOST_BODY_BYTES:
            self.close_connection = True  # what follows on it is no request
            self.send_error(413, "A request of this page has a known length, and is short.")
            return
        # Read whole, also where nobody wants it: the next request begins after it.
        body = self.rfile.read(int(length))
        environ = {**self.get_environ(), "wsgi.url_scheme": "http", "wsgi.input": io.BytesIO(body)}
        pieces, status, headers = self.server.answer(Request(environ)).get_wsgi_response(environ)
        code, _, reason = status.partition(" ")
        self.send_response(int(code), reason)
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.writelines(pieces)
        self.wfile.flush()

    def log_message(self, format: str, *args: Any) -> None:
        """Not on the terminal of a training."""


# Who may ask the page's server, and what for: decided by the head of a request, before anything is looked up.
#
# Any web site can make a browser send requests to this machine, and can give itself a name that leads here (DNS
# rebinding). So the name that was asked for must be one of ours, what comes from other sites is refused, and nothing
# is changed without a token that only our page has.
LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
_READING = ("GET", "HEAD")


@dataclass(frozen=True)
class Refused:
    status: int
    why: str


class RequestGuard:
    """`token` is asked of everybody if there is one. `hosts` are the names by which the server may be called;
    `any_address`: also by any number."""

    def __init__(
        self,
        edit_token: str,
        *,
        token: str = "",
        hosts: Collection[str] = LOOPBACK,
        any_address: bool = False,
        cookie: str = "torch-debugger",
    ) -> None:
        self._edit_token, self._token = edit_token, token
        self._hosts = {host.lower() for host in hosts}
        self._any_address = any_address
        self._cookie = cookie

    def refusal(self, request: Request) -> Refused | None:
        if not self._is_our_name(request.headers.get("Host", "")):
            why = "This server answers only under the address that torch-debugger printed."
            return Refused(HTTPStatus.MISDIRECTED_REQUEST, why)
        if _comes_from_elsewhere(request):
            return Refused(HTTPStatus.FORBIDDEN, "Another site asked for this; only the page itself may.")
        if self._token and not self._knows_token(request):
            why = "Open the page with the whole address that torch-debugger printed: it ends with a token."
            return Refused(HTTPStatus.UNAUTHORIZED, why)
        if request.method in _READING:
            return None
        return self._refusal_of_edit(request)

    def _refusal_of_edit(self, request: Request) -> Refused | None:
        if request.method != "POST" or request.path != "/ask/edits":
            return Refused(HTTPStatus.METHOD_NOT_ALLOWED, "This can be read, and not be changed.")
        if not _same(request.headers.get("X-Edit-Token", ""), self._edit_token):
            why = "The server was started anew since this page was opened. Reload the page, then edit again."
            return Refused(HTTPStatus.FORBIDDEN, why)
        if request.mimetype != "application/json":
            return Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "An edit is told as JSON.")
        return None

    def cookie_for(self, request: Request) -> str | None:
        """To be set where the token came with the address: what the page asks for later does not carry it."""
        if not self._token or "token" not in request.args:
            return None
        return f"{self._cookie}={_for_a_cookie(self._token)}; HttpOnly; SameSite=Strict; Path=/"

    def _knows_token(self, request: Request) -> bool:
        kind, _, credentials = request.headers.get("Authorization", "").partition(" ")
        bearer = credentials if kind.lower() == "bearer" else ""
        if _same(request.cookies.get(self._cookie, ""), _for_a_cookie(self._token)):
            return True
        return any(_same(each, self._token) for each in (request.args.get("token", ""), bearer))

    def _is_our_name(self, host: str) -> bool:
        """The port is not compared: a tunnel (ssh -L) may have another one at its near end."""
        name = _without_port(host.strip().lower())
        return name in self._hosts or (self._any_address and _is_number(name))


def _comes_from_elsewhere(request: Request) -> bool:
    origin = request.headers.get("Origin")
    if origin is not None:
        host = request.headers.get("Host", "").strip().lower()
        return origin.lower() not in (f"http://{host}", f"https://{host}")
    opened = request.headers.get("Sec-Fetch-Mode") == "navigate" and request.method in _READING
    return request.headers.get("Sec-Fetch-Site") in ("cross-site", "same-site") and not opened


def _for_a_cookie(token: str) -> str:
    """Short and of plain letters, whatever somebody has chosen for a token."""
    return hashlib.sha256(token.encode()).hexdigest()


def _same(said: str, right: str) -> bool:
    """Takes as long for a wrong one as for the right one; an empty one is never right."""
    return bool(right) and hmac.compare_digest(said.encode(), right.encode())


def _without_port(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdecimal() and not name.endswith(":") else host


def _is_number(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True
