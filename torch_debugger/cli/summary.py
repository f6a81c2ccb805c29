"""torch-debugger summary FILE.py:NAME --input 1,3,224,224: a model as a table, without a line of code."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from torch_debugger.cli.named_object import named_object
from torch_debugger.errors import DebuggerError, UsageError

if TYPE_CHECKING:
    import torch
    from torch import nn

    from torch_debugger.anatomy.summing.result import Summary

NAME = "summary"
HELP = "show the layers of a model: sizes, parameters, operations"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "target",
        metavar="FILE.py:NAME",
        help="a model, a model's class or a function that makes one; also MODULE:NAME, as in "
        "torchvision.models:resnet18",
    )
    parser.add_argument(
        "--input",
        metavar="SIZE",
        action="append",
        default=[],
        help="the size of an input such as 1,3,224,224, once for each input; without it nothing is run and "
        "only parameters are shown",
    )
    parser.add_argument(
        "--dtype", metavar="KIND", action="append", help="of each input: float, long, bfloat16; else found out"
    )
    parser.add_argument("--args", metavar="JSON", help="arguments for NAME: '{\"num_classes\": 10}' or a list")
    parser.add_argument(
        "--meta", action="store_true", help="make it on torch's meta device: a model of any size, no memory"
    )
    parser.add_argument("--depth", metavar="N", type=int, default=3, help="levels of the tree shown (3)")
    parser.add_argument(
        "--columns", metavar="NAMES", help="such as input_size,output_size,num_params,mult_adds,time"
    )
    parser.add_argument("--json", metavar="FILE", help="write the same for programs; - for the terminal")


def run(arguments: argparse.Namespace) -> int:
    sizes = [_size(text) for text in arguments.input]
    given = _given(arguments.args)
    with _place(arguments.meta):
        model = _model(named_object(arguments.target), given, arguments.target)
    result = _summary(model, sizes, arguments)
    if arguments.json != "-":
        result.show()
    if arguments.json:
        _write(result, arguments.json)
    return 0


def _summary(model: nn.Module, sizes: list[tuple[int, ...]], arguments: argparse.Namespace) -> Summary:
    from torch_debugger.anatomy.summing.summarizing import summary

    return summary(
        model,
        input_size=sizes or None,
        dtypes=[_dtype(name) for name in arguments.dtype] if arguments.dtype else None,
        col_names=arguments.columns.split(",") if arguments.columns else None,
        depth=arguments.depth,
        verbose=0,
    )


def _place(meta: bool) -> contextlib.AbstractContextManager[Any]:
    import torch

    return torch.device("meta") if meta else contextlib.nullcontext()


def _size(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.replace("x", ",").strip("()[], ").split(","))
    except ValueError:
        raise UsageError(f"--input takes a size such as 1,3,224,224, not {text!r}.") from None


def _given(text: str | None) -> tuple[list[Any], dict[str, Any]]:
    try:
        value = json.loads(text) if text else {}
    except json.JSONDecodeError as error:
        raise UsageError(f"--args is no JSON ({error}): write --args '{{\"num_classes\": 10}}'.") from None
    if not isinstance(value, (dict, list)):
        raise UsageError(f"--args takes an object or a list, not {text}.")
    return ([], value) if isinstance(value, dict) else (value, {})


def _dtype(name: str) -> torch.dtype:
    import torch

    dtype = getattr(torch, name.removeprefix("torch."), None)
    if not isinstance(dtype, torch.dtype):
        raise UsageError(f"--dtype {name} is no kind of torch's: float, long, bool, float16, bfloat16 are.")
    return dtype


def _model(found: Any, given: tuple[Sequence[Any], dict[str, Any]], target: str) -> nn.Module:
    """Itself where it is one already; else what it makes."""
    from torch import nn

    if not isinstance(found, nn.Module) and callable(found):
        found = _made(found, given, target)
    if not isinstance(found, nn.Module):
        raise UsageError(f"{target} is no model, and makes none: it gave {type(found).__name__}.")
    return found


def _made(make: Any, given: tuple[Sequence[Any], dict[str, Any]], target: str) -> Any:
    try:
        return make(*given[0], **given[1])
    except Exception as error:  # the user's own
        if isinstance(error, TypeError) and "missing" in str(error):
            raise UsageError(
                f"{target} needs arguments ({error}): give them with --args '{{\"name\": value}}'."
            ) from error
        raise DebuggerError(f"{target} raised {type(error).__name__}: {error}") from error


def _write(result: Summary, file: str) -> None:
    text = json.dumps(result.to_dict(), indent=1)
    if file == "-":
        sys.stdout.write(f"{text}\n")
        return
    try:
        with open(file, "w", encoding="utf-8") as target:
            target.write(f"{text}\n")
    except OSError as error:
        raise UsageError(f"{file} cannot be written: {error.strerror}.") from error
