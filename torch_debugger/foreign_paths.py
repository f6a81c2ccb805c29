"""Whose file is it: told from the path alone, of any machine and any system."""

from __future__ import annotations

import re

_WINDOWS = re.compile(r"[A-Za-z]:\\|\\\\|[^/]*\\[^/]*$")
_INSTALLED = re.compile(
    r"/(?:site|dist)-packages/|/lib(?:64|32)?/(?:python|pypy)[\d.]+/|/[Pp]ython\d*/[Ll]ib/|/Lib/[\w/]+\.py$"
    r"|/Frameworks/Python\.framework/|/lib-dynload/|\.zip/|/bin/(?:torchrun|accelerate|deepspeed|pytest)$"
)
_TORCH_CHECKOUT = re.compile(
    r"/torch/(?:nn|autograd|optim|utils|distributed|cuda|amp|func|_\w+)/|/torch/_\w+\.py$"
)
_GENERATED = (
    "<frozen ",
    "<string>",  # what dataclasses and the like write; of `python -c` it is all there is, and taken anyway
    "<eval_with_key>",
    "<attrs generated",
    "<torch_package",
    "<__array_function__",
)


def plain_path(file: str) -> str:
    """With forward slashes, whatever the system was."""
    return file.replace("\\", "/") if _WINDOWS.match(file) else file


def is_user_path(file: str) -> bool:
    if file.startswith(_GENERATED):
        return False
    return not _INSTALLED.search(f"/{file}") and not _TORCH_CHECKOUT.search(f"/{file}")
