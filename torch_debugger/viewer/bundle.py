"""The built page: a script and a style sheet beside this file, and the few lines of HTML around them."""

from __future__ import annotations

from importlib.resources import files

from torch_debugger.viewer.asked import File

_KINDS = {"page.js": "text/javascript; charset=utf-8", "page.css": "text/css; charset=utf-8"}
_FRAME = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>torch-debugger</title>
<link rel="icon" href="data:,">
{head}</head>
<body>
{body}</body>
</html>
"""
_PAGE = _FRAME.format(
    head='<link rel="stylesheet" href="page.css">\n',
    body="""<div id="page"></div>
<noscript>This page needs JavaScript. Without it: torch-debugger runs, or torch-debugger report RUN.</noscript>
<script type="module" src="page.js"></script>
""",
)
_NOT_BUILT = _FRAME.format(
    head="",
    body="""<h1>The page is not built</h1>
<p>This copy of torch-debugger holds the page's sources only. In its folder, run</p>
<pre>make page</pre>
<p>and reload. It needs npm, or a network from which it can install Node with pip. Until then
<code>torch-debugger runs</code> lists the runs in the terminal.</p>
""",
)


def page_file(name: str) -> File | None:
    if name == "page.html":
        return File((_PAGE if _read("page.js") else _NOT_BUILT).encode(), "text/html; charset=utf-8")
    content = _read(name) if name in _KINDS else None
    return None if content is None else File(content, _KINDS[name])


def _read(name: str) -> bytes | None:
    try:
        return (files("torch_debugger.viewer") / "static" / name).read_bytes()
    except OSError:  # not built, or being built at this moment
        return None
