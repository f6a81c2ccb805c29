"""The page's server as one WSGI application: three files and the questions."""

from __future__ import annotations

import json
from typing import Any

from werkzeug import Request, Response

from torch_debugger.errors import DebuggerError
from torch_debugger.viewer.asked import Asked, File
from torch_debugger.viewer.bundle import page_file
from torch_debugger.viewer.questions import find_answer
from torch_debugger.viewer.run_shelf import RunShelf

_HEADERS = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src 'self' data:; "
    "connect-src 'self'"
)


def make_app(shelf: RunShelf, edit_token: str = "") -> Any:
    def serve(request: Request) -> Response:
        name = request.path.lstrip("/")
        if name.startswith("ask/"):
            return respond(Asked(shelf, request.args.to_dict(), edit_token), name.removeprefix("ask/"))
        return _file(name or "page.html")

    return Request.application(serve)


def respond(asked: Asked, name: str) -> Response:
    answer = find_answer(name)
    if answer is None:
        return _json({"error": f"There is no question {name!r}."}, 404)
    try:
        made = answer(asked)
    except DebuggerError as error:
        return _json({"error": str(error)}, 404)
    except Exception as error:  # told on the page, where it is seen
        text = f"torch-debugger could not read this run ({type(error).__name__}: {error})."
        return _json({"error": text}, 500)
    if isinstance(made, File):
        return Response(made.content, headers={**_HEADERS, **made.headers}, content_type=made.kind)
    return _json(made)


def _file(name: str) -> Response:
    found = page_file(name)
    if found is None:
        return _json({"error": f"There is nothing at {name!r}."}, 404)
    headers = {**_HEADERS, "Content-Security-Policy": _POLICY}
    return Response(found.content, headers=headers, content_type=found.kind)


def _json(value: Any, status: int = 200) -> Response:
    return Response(json.dumps(value, allow_nan=False), status, _HEADERS, content_type="application/json")
