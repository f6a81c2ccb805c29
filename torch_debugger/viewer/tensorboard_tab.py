"""The tab "Debugger" of TensorBoard: the same page, which asks the same questions, about our runs only.

TensorBoard finds the loader by the entry point `tensorboard_plugins`. Until somebody opens the tab nothing
but this file is loaded; what goes wrong here leaves the other tabs alone.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tensorboard.plugins import base_plugin

if TYPE_CHECKING:
    from werkzeug import Request, Response

    from torch_debugger.viewer.shown_runs import ShownRuns

NAME = "torch_debugger"
_FILES = ("page.js", "page.css")
_ASK = "/ask/"
_HEADERS = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}
_NOT_BUILT = (
    "The page of torch-debugger is not built here: this copy holds its sources only. "
    "Run `npm ci && npm run build` in its folder web/, and reload. The other tabs do without it."
)


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
        self._shown_runs: ShownRuns | None = None

    def get_plugin_apps(self) -> dict[str, Callable[..., Any]]:
        return {f"{_ASK}*": _serving(self._answer)} | {f"/{name}": _serving(_file) for name in _FILES}

    def is_active(self) -> bool:
        return bool(self.shown_runs.names())

    def data_plugin_names(self) -> tuple[str, ...]:
        """None: TensorBoard's own reader need not tell us what there is."""
        return ()

    def frontend_metadata(self) -> Any:
        return base_plugin.FrontendMetadata(es_module_path="/page.js", tab_name="Debugger")

    @property
    def shown_runs(self) -> ShownRuns:
        from torch_debugger.viewer.shown_runs import ShownRuns, folders_of

        if self._shown_runs is None:
            self._shown_runs = ShownRuns(folders_of(self._logdir, self._spec))
        return self._shown_runs

    def _answer(self, request: Request) -> Response:
        """Without the token that an edit needs: in TensorBoard nothing is renamed or deleted."""
        from torch_debugger.viewer.questions import Query
        from torch_debugger.viewer.server import respond

        return respond(Query(self.shown_runs, request.args.to_dict()), request.path.rpartition(_ASK)[2])


def _file(request: Request) -> Response:
    from werkzeug import Response

    from torch_debugger.viewer.questions import page_file

    name = request.path.rpartition("/")[2]
    found = page_file(name)
    if found is not None:
        return Response(found.content, headers=_HEADERS, content_type=found.kind)
    said = f"export const render = () => {{ document.body.textContent = {json.dumps(_NOT_BUILT)}; }};\n"
    kind = "text/javascript" if name == "page.js" else "text/css"
    return Response(said if name == "page.js" else "", headers=_HEADERS, content_type=f"{kind}; charset=utf-8")


def _serving(answer: Callable[[Request], Response]) -> Callable[..., Any]:
    """A WSGI application that only reads."""
    from werkzeug import Request, Response

    def serve(request: Request) -> Response:
        if request.method not in ("GET", "HEAD"):
            return Response("In TensorBoard this tab only reads.\n", 405, _HEADERS, content_type="text/plain")
        return answer(request)

    return Request.application(serve)
