"""The page's server, in a process of its own."""

from __future__ import annotations

import errno
import functools
import gzip
import json
import os
import secrets
import socket
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlencode

from werkzeug import Request, Response
from werkzeug.exceptions import BadRequest

from torch_debugger.system.errors import DebuggerError, UsageError
from torch_debugger.viewer.http_server import LOOPBACK, PageServer, RequestGuard
from torch_debugger.viewer.questions import File, Query, find_answer, page_file
from torch_debugger.viewer.shown_runs import ShownRuns, TraceBook

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
    own = {socket.gethostname(), socket.getfqdn()} if host in _EVERYWHERE else {host}
    guard = RequestGuard(
        edit_token,
        token=token,
        hosts={*LOOPBACK, *{shown_host(name) for name in own}},
        any_address=host in _EVERYWHERE,
        cookie=f"torch-debugger-{taken.getsockname()[1]}",  # browsers share cookies between ports
    )
    runs = ShownRuns(folders, of_others=True)
    runs.call_profiles.update(call_profiles or {})
    runs.traces = traces or runs.traces
    return PageServer(taken, make_app(runs, edit_token, guard))


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


# What the page's server answers: three files and the questions.
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "media-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
# For whoever opens an answer as a page of its own, such as a picture that a run has logged.
_ANSWER_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'"
_ANSWER_HEADERS = {**_HEADERS, "Cache-Control": "no-store", "Content-Security-Policy": _ANSWER_POLICY}


def make_app(runs: ShownRuns, edit_token: str, guard: RequestGuard) -> Callable[[Request], Response]:
    def serve(request: Request) -> Response:
        refused = guard.refusal(request)
        if refused is not None:
            if request.path.startswith("/ask/"):
                return _json({"error": refused.why}, refused.status)
            plain = "text/plain; charset=utf-8"
            return Response(f"{refused.why}\n", refused.status, _ANSWER_HEADERS, content_type=plain)
        response = _served(request, runs, edit_token)
        cookie = guard.cookie_for(request)
        if cookie is not None:
            response.headers.add("Set-Cookie", cookie)
        return packed(response, request)

    return serve


def _served(request: Request, runs: ShownRuns, edit_token: str) -> Response:
    name = request.path.removeprefix("/")
    if not name.startswith("ask/"):
        return _file(name or "page.html", request)
    try:
        edit = request.get_json() if request.method == "POST" else None
    except BadRequest:
        return _json({"error": "This edit is no JSON."}, 400)
    if edit is not None and not isinstance(edit, dict):
        return _json({"error": "An edit is a JSON object."}, 400)
    return respond(Query(runs, request.args.to_dict(), edit_token, edit), name.removeprefix("ask/"))


def respond(query: Query, name: str) -> Response:
    answer = find_answer(name)
    if answer is None:
        return _json({"error": f"There is no question {name!r}."}, 404)
    try:
        made = answer(query)
    except DebuggerError as error:
        return _json({"error": str(error)}, 404 if query.edit is None else 409)
    except Exception as error:  # told on the page, where it is seen
        text = f"torch-debugger could not read this run ({type(error).__name__}: {error})."
        return _json({"error": text}, 500)
    if isinstance(made, File):
        return Response(made.content, headers={**_ANSWER_HEADERS, **made.headers}, content_type=made.kind)
    return _json(made)


def _file(name: str, request: Request) -> Response:
    found = page_file(name)
    if found is None:
        return _json({"error": f"There is nothing at {name!r}."}, 404)
    headers = {**_HEADERS, "Cache-Control": "no-cache", "Content-Security-Policy": _PAGE_POLICY}
    response = Response(found.content, headers=headers, content_type=found.kind)
    response.add_etag()
    return response.make_conditional(request)


def _json(value: Any, status: int = 200) -> Response:
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return Response(text, status, _ANSWER_HEADERS, content_type="application/json")


# Answers sent small: to a browser on the other end of a tunnel a curve is a quarter of its size.
_WORTH_BYTES = 4096
_TEXTS = ("application/json", "text/", "image/svg+xml", "image/bmp", "audio/")


def packed(response: Response, request: Request) -> Response:
    """The same response, zipped where the browser takes that and where it pays."""
    response.vary.add("Accept-Encoding")
    if response.status_code != 200 or request.accept_encodings["gzip"] <= 0:
        return response
    body = response.get_data()
    if len(body) < _WORTH_BYTES or not (response.mimetype or "").startswith(_TEXTS):
        return response
    stays = "ETag" in response.headers  # a file of the page: zipped well, and once
    response.set_data(_kept(body) if stays else gzip.compress(body, 1, mtime=0))
    response.headers["Content-Encoding"] = "gzip"
    return response


@functools.lru_cache(maxsize=4)
def _kept(body: bytes) -> bytes:
    return gzip.compress(body, 9, mtime=0)
