"""The page's server as one WSGI application: three files and the questions."""

from __future__ import annotations

import json
from typing import Any

from werkzeug import Request, Response
from werkzeug.exceptions import BadRequest

from torch_debugger.errors import DebuggerError
from torch_debugger.viewer.asked import Asked, File
from torch_debugger.viewer.bundle import page_file
from torch_debugger.viewer.doorkeeper import Doorkeeper, Refused
from torch_debugger.viewer.packing import packed
from torch_debugger.viewer.questions import find_answer
from torch_debugger.viewer.run_shelf import RunShelf

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


def make_app(shelf: RunShelf, edit_token: str = "", doorkeeper: Doorkeeper | None = None) -> Any:
    door = doorkeeper or Doorkeeper(edit_token)

    def serve(request: Request) -> Response:
        refused = door.refusal(request)
        if refused is not None:
            return _refused(refused, request)
        response = _served(request, shelf, edit_token)
        cookie = door.cookie_for(request)
        if cookie is not None:
            response.headers.add("Set-Cookie", cookie)
        return packed(response, request)

    return Request.application(serve)


def _refused(refused: Refused, request: Request) -> Response:
    if request.path.startswith("/ask/"):
        return _json({"error": refused.why}, refused.status)
    return Response(
        f"{refused.why}\n", refused.status, _ANSWER_HEADERS, content_type="text/plain; charset=utf-8"
    )


def _served(request: Request, shelf: RunShelf, edit_token: str) -> Response:
    name = request.path.removeprefix("/")
    if not name.startswith("ask/"):
        return _file(name or "page.html", request)
    try:
        told = request.get_json() if request.method == "POST" else None
    except BadRequest:
        return _json({"error": "This edit is no JSON."}, 400)
    if told is not None and not isinstance(told, dict):
        return _json({"error": "An edit is a JSON object."}, 400)
    return respond(Asked(shelf, request.args.to_dict(), edit_token, told), name.removeprefix("ask/"))


def respond(asked: Asked, name: str) -> Response:
    answer = find_answer(name)
    if answer is None:
        return _json({"error": f"There is no question {name!r}."}, 404)
    try:
        made = answer(asked)
    except DebuggerError as error:
        return _json({"error": str(error)}, 404 if asked.told is None else 409)
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
