"""The built page: a script and a style sheet beside this file, and the few lines of HTML around them."""

from __future__ import annotations

from importlib.resources import files

from torch_debugger.viewer.asked import File

_KINDS = {"page.js": "text/javascript; charset=utf-8", "page.css": "text/css; charset=utf-8"}
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>torch-debugger</title>
<link rel="stylesheet" href="page.css">
<link rel="icon" href="data:,">
</head>
<body>
<div id="page"></div>
<script type="module" src="page.js"></script>
</body>
</html>
"""


def page_file(name: str) -> File | None:
    if name == "page.html":
        return File(_PAGE.encode(), "text/html; charset=utf-8")
    if name not in _KINDS:
        return None
    return File((files("torch_debugger.viewer") / "static" / name).read_bytes(), _KINDS[name])
