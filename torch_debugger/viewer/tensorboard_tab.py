"""The tab "Debugger" of TensorBoard: its findings and its layers over time, read from our run files.

TensorBoard finds the loader by the entry point `tensorboard_plugins`. Until somebody opens the tab nothing
but this file is loaded; what goes wrong here leaves the other tabs alone.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from tensorboard.plugins import base_plugin

from torch_debugger.errors import DebuggerError

if TYPE_CHECKING:
    from werkzeug import Request, Response

    from torch_debugger.viewer.run_shelf import RunShelf

NAME = "torch_debugger"
_TYPES = {"page.js": "text/javascript", "page.css": "text/css"}
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'",  # for whoever opens an answer as a page
}


class DebuggerTabLoader(base_plugin.TBLoader):  # type: ignore[misc]
    def load(self, context: Any) -> DebuggerTab | None:
        try:
            return DebuggerTab(context)
        except Exception:  # a TensorBoard that has changed shows its other tabs without ours
            logging.getLogger(__name__).exception("The Debugger tab could not be made; the other tabs work.")
            return None


class DebuggerTab(base_plugin.TBPlugin):  # type: ignore[misc]
    plugin_name = NAME

    def __init__(self, context: Any) -> None:
        self._logdir = getattr(context, "logdir", None) or ""
        self._spec = getattr(getattr(context, "flags", None), "logdir_spec", None) or ""
        self._shelf: RunShelf | None = None

    def get_plugin_apps(self) -> dict[str, Callable[..., Any]]:
        routes = {"/runs": self._runs, "/findings": self._findings}
        routes |= {"/layers": self._layers, "/scalars": self._scalars}
        apps = {path: _serving(answer) for path, answer in routes.items()}
        return apps | {f"/{name}": _serving_file(name) for name in _TYPES}

    def is_active(self) -> bool:
        return bool(self.shelf.names())

    def data_plugin_names(self) -> tuple[str, ...]:
        """None: TensorBoard's own reader need not tell us what there is."""
        return ()

    def frontend_metadata(self) -> Any:
        return base_plugin.FrontendMetadata(es_module_path="/page.js", tab_name="Debugger")

    @property
    def shelf(self) -> RunShelf:
        from torch_debugger.viewer.run_shelf import RunShelf, folders_of

        if self._shelf is None:
            self._shelf = RunShelf(folders_of(self._logdir, self._spec))
        return self._shelf

    def _runs(self, request: Request) -> Any:
        return {"runs": self.shelf.names()}

    def _findings(self, request: Request) -> Any:
        from torch_debugger.viewer.answers import findings_of

        return self.shelf.ask(_asked(request, "run"), findings_of)

    def _layers(self, request: Request) -> Any:
        from torch_debugger.viewer.answers import layers_of

        kind, root, column = (_asked(request, name) for name in ("kind", "root", "column"))
        return self.shelf.ask(_asked(request, "run"), lambda run: layers_of(run, kind, root, column))

    def _scalars(self, request: Request) -> Any:
        from torch_debugger.viewer.answers import scalars_of

        tag = _asked(request, "tag")
        return self.shelf.ask(_asked(request, "run"), lambda run: scalars_of(run, tag))


def _asked(request: Request, name: str) -> str:
    return str(request.args.get(name, ""))


def _serving(answer: Callable[[Request], Any]) -> Callable[..., Any]:
    """A WSGI application around what answers a request with JSON values."""
    from werkzeug import Request

    def serve(request: Request) -> Response:
        try:
            return _response(json.dumps(answer(request), allow_nan=False), "application/json")
        except DebuggerError as error:
            return _response(json.dumps({"error": str(error)}), "application/json", 404)
        except Exception as error:  # told on the page, where it is seen
            text = f"torch-debugger could not read this run ({type(error).__name__}: {error})."
            return _response(json.dumps({"error": text}), "application/json", 500)

    return Request.application(serve)


def _serving_file(name: str) -> Callable[..., Any]:
    from werkzeug import Request

    def serve(request: Request) -> Response:
        return _response((files("torch_debugger.viewer") / "plain" / name).read_text("utf-8"), _TYPES[name])

    return Request.application(serve)


def _response(text: str, kind: str, status: int = 200) -> Response:
    from werkzeug import Response

    return Response(text, status, _HEADERS, content_type=f"{kind}; charset=utf-8")
