"""torch-debugger summary FILE.py:NAME --input 1,3,224,224: a model as a table, without a line of code."""

from __future__ import annotations

import argparse
import contextlib
import difflib
import importlib
import importlib.util
import json
import os
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

from torch_debugger.system.errors import DebuggerError, UsageError

if TYPE_CHECKING:
    import torch
    from torch import nn

    from torch_debugger.model.summary_table import Summary


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
    parser.add_argument("--columns", metavar="NAMES", help="such as input_size,output_size,num_params,mult_adds,time")
    parser.add_argument("--json", metavar="FILE", help="write the same for programs; - for the terminal")


def run(arguments: argparse.Namespace) -> int:
    sizes = [_size(text) for text in arguments.input]
    model_arguments = _model_arguments(arguments.args)
    with _place(arguments.meta):
        model = _model(named_object(arguments.target), model_arguments, arguments.target)
    result = _summary(model, sizes, arguments)
    if arguments.json != "-":
        result.show()
    if arguments.json:
        _write(result, arguments.json)
    return 0


def _summary(model: nn.Module, sizes: list[tuple[int, ...]], arguments: argparse.Namespace) -> Summary:
    from torch_debugger.model.summary import summary

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


def _model_arguments(text: str | None) -> tuple[list[Any], dict[str, Any]]:
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


def _model(found: Any, arguments: tuple[Sequence[Any], dict[str, Any]], target: str) -> nn.Module:
    """Itself where it is one already; else what it makes."""
    from torch import nn

    if not isinstance(found, nn.Module) and callable(found):
        found = _made(found, arguments, target)
    if not isinstance(found, nn.Module):
        raise UsageError(f"{target} is no model, and makes none: it gave {type(found).__name__}.")
    return found


def _made(make: Any, arguments: tuple[Sequence[Any], dict[str, Any]], target: str) -> Any:
    try:
        return make(*arguments[0], **arguments[1])
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


# An object of the user's, named on the command line: file.py:Net, package.module:make_model.
def named_object(target: str) -> Any:
    """Dots behind the colon go into what is there: models.py:zoo.Net"""
    place, colon, name = target.rpartition(":")
    if not colon or not place or not name:
        raise UsageError(f"{target!r} names no object: write FILE.py:NAME or MODULE:NAME, such as models.py:Net.")
    found: Any = import_file(place) if place.endswith(".py") or os.sep in place else _import_module(place)
    for part in name.split("."):
        found = _attribute(found, part, place)
    return found


def _import_module(name: str) -> ModuleType:
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())  # as `python -m` has it
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:  # whatever the module's own code raises
        raise UsageError(f"{name} cannot be imported: {type(error).__name__}: {error}.") from error


def _attribute(holder: Any, name: str, place: str) -> Any:
    if hasattr(holder, name):
        return getattr(holder, name)
    names = [each for each in vars(holder) if not each.startswith("_")] if hasattr(holder, "__dict__") else []
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    hint = f" Did you mean {' or '.join(near)}?" if near else ""
    raise UsageError(f"{place} has no {name}.{hint}")


# A user's file imported as a module: its definitions come to be, its `__main__` part does not run.
def import_file(path: str) -> ModuleType:
    if not os.path.isfile(path):
        raise UsageError(f"There is no file {path} (looked in {os.getcwd()}).")
    folder, stem = os.path.dirname(os.path.abspath(path)), os.path.splitext(os.path.basename(path))[0]
    name = stem if stem not in sys.modules else f"imported_{stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{path} is no Python file.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, folder)  # as for a script: its neighbours can be imported
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # whatever the file's own code raises
        del sys.modules[name]
        raise UsageError(_import_failure(path, error)) from error
    return module


def _import_failure(path: str, error: BaseException) -> str:
    if isinstance(error, SystemExit):
        return (
            f"{path} ended itself while it was imported. Put what it runs under "
            '`if __name__ == "__main__":`, so that what it defines can be imported.'
        )
    last, line = error.__traceback__, None
    while last is not None:
        line = last.tb_lineno if last.tb_frame.f_code.co_filename == os.path.abspath(path) else line
        last = last.tb_next
    where = f" at line {line}" if line else ""
    return f"{path} cannot be imported: {type(error).__name__}: {error}{where}."
