"""Methods of a writer that never raise into the training: what goes wrong in them is said instead."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

from torch_debugger.signals import is_the_scripts

Method = TypeVar("Method", bound=Callable[..., None])


def sparing(method: Method) -> Method:
    """The writer needs `complaints`. The signature stays the method's own."""

    @functools.wraps(method)
    def spared(writer: Any, *arguments: Any, **keywords: Any) -> None:
        try:
            method(writer, *arguments, **keywords)
        except Exception as error:  # a log is not worth a training
            tag = keywords.get("tag", keywords.get("main_tag", arguments[0] if arguments else ""))
            tell_instead(writer, method.__name__, tag, error)

    return cast(Method, spared)


def tell_instead(writer: Any, call: str, tag: object, error: Exception) -> None:
    if is_the_scripts(error):
        raise error
    writer.complaints.tell(call, tag if isinstance(tag, str) else "", error)
