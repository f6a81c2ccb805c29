"""The minimal case of a script as a file that runs: its model, one sample, one forward, one backward."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import torch

from torch_debugger.model.nested_tensors import exchanged
from torch_debugger.source.files import tree_of
from torch_debugger.trials.preflight_case import NotPossibleError
from torch_debugger.trials.step_lines import StepStatements

_TIME_LIMIT_S = 60.0
_DEFINITIONS = (ast.FunctionDef, ast.ClassDef)


def write_minimal(lines: StepStatements, begin: int, samples: int, target: Path) -> str:
    """Writes the file and its data beside it, runs it, and says what it is; batches of one that a layer
    refuses become batches of two."""
    trouble = ""
    for size in (1, 2):
        _write(lines, begin, samples, size, target)
        ended = subprocess.run(
            [sys.executable, str(target)], capture_output=True, text=True, timeout=_TIME_LIMIT_S, check=False
        )
        if ended.returncode == 0:
            return f"The minimal case, with {'one sample' if size == 1 else 'two samples'}: {target}"
        trouble = (ended.stderr.strip().splitlines() or ["it fails"])[-1]
    for path in (target, target.with_suffix(".pt")):
        path.unlink()
    raise NotPossibleError(f"The minimal case was not written: taken out of the script, its lines end with {trouble}")


def _write(lines: StepStatements, begin: int, samples: int, size: int, target: Path) -> None:
    statements, variables = lines.bare(begin), lines.moment.variables
    script = tree_of(lines.moment.file)
    functions = {each.name for each in ast.walk(script or ast.Pass()) if isinstance(each, ast.FunctionDef)}
    if script is None or lines.moment.function not in ("<module>", *functions):
        raise NotPossibleError("The minimal case was not written: the lines of its step are in no function of a file.")
    values = _values(_begun_with(statements), variables)
    source = _needed(script, [*_loaded(statements), *_classes(values)])
    values |= _values(_loaded(source) - set(values), variables)
    kept = {name: _cut(value, samples, size) for name, value in values.items()}
    try:
        torch.save(kept, target.with_suffix(".pt"))
    except Exception as error:  # pickling runs the user's code
        raise NotPossibleError(f"The minimal case was not written: {error}") from error
    target.write_text(_text(lines.moment.file, source, statements, kept, target), encoding="utf-8")


def _text(
    script: str,
    source: Sequence[ast.stmt],
    statements: Sequence[ast.stmt],
    names: Iterable[str],
    target: Path,
) -> str:
    imports = [each for each in source if isinstance(each, (ast.Import, ast.ImportFrom))]
    data = f'pathlib.Path(__file__).with_name("{target.with_suffix(".pt").name}")'
    parts = [
        f'"""The minimal case of {os.path.basename(script)}, written by torch-debugger doctor."""',
        "\n".join(["import pathlib", "", "import torch", *map(ast.unparse, imports)]),
        *(f"\n{ast.unparse(each)}" for each in source if each not in imports),
        f"\nheld = torch.load({data}, weights_only=False)",
        "\n".join(f'{name} = held["{name}"]' for name in sorted(names)),
        "\n".join(map(ast.unparse, statements)),
        "for name, value in list(globals().items()):\n"
        "    if isinstance(value, torch.nn.Module):\n"
        "        for path, parameter in value.named_parameters():\n"
        "            size = 'none' if parameter.grad is None else f'{parameter.grad.norm():.4g}'\n"
        "            print(f'gradient of {name}.{path}: {size}')",
    ]
    return "\n\n".join(parts) + "\n"


def _loaded(nodes: Sequence[ast.AST]) -> set[str]:
    return {part.id for node in nodes for part in ast.walk(node) if isinstance(part, ast.Name)}


def _begun_with(statements: Sequence[ast.stmt]) -> set[str]:
    """The names that are read before they are written."""
    read, written = set[str](), set[str]()
    for each in _simple(statements):
        names = [part for part in ast.walk(each) if isinstance(part, ast.Name)]
        stored = {part.id for part in names if isinstance(part.ctx, ast.Store)}
        added = {each.target.id} if isinstance(each, ast.AugAssign) and isinstance(each.target, ast.Name) else set()
        read |= ({part.id for part in names if isinstance(part.ctx, ast.Load)} | added) - written
        written |= stored
    return read


def _simple(statements: Sequence[ast.stmt]) -> Iterator[ast.AST]:
    """Statements and the heads of those that hold others, in their order."""
    for each in statements:
        inside = [part for part in ast.iter_child_nodes(each) if isinstance(part, ast.stmt)]
        if inside and not isinstance(each, _DEFINITIONS):
            yield from (part for part in ast.iter_child_nodes(each) if not isinstance(part, ast.stmt))
            yield from _simple(inside)
        else:
            yield each


def _values(names: set[str], variables: Mapping[str, Any]) -> dict[str, Any]:
    """Of the variables among these; functions, classes and modules are in the source."""
    code = (FunctionType, BuiltinFunctionType, ModuleType, type)
    return {name: variables[name] for name in sorted(names & variables.keys()) if not isinstance(variables[name], code)}


def _classes(values: Mapping[str, Any]) -> Iterator[str]:
    """The script's own classes that a model, or what holds it, is made of."""
    for value in values.values():
        parts = [value, *vars(value).values()] if hasattr(value, "__dict__") else [value]
        for part in parts:
            modules = part.modules() if isinstance(part, torch.nn.Module) else [part]
            yield from (type(each).__name__ for each in modules if type(each).__module__ == "__main__")


def _needed(script: ast.Module, names: Sequence[str]) -> list[ast.stmt]:
    """The imports and definitions of the script that these names lead to, in their order."""
    wanted, chosen = set(names), list[ast.stmt]()
    while True:
        found = [each for each in script.body if each not in chosen and _defines(each) & wanted]
        if not found:
            return [each for each in script.body if each in chosen]
        chosen += found
        wanted |= _loaded(found)


def _defines(statement: ast.stmt) -> set[str]:
    if isinstance(statement, _DEFINITIONS):
        return {statement.name}
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return {(each.asname or each.name).split(".")[0] for each in statement.names}
    return set()


def _cut(value: Any, samples: int, size: int) -> Any:
    def cut(tensor: torch.Tensor) -> torch.Tensor:
        rows = tensor.dim() and tensor.shape[0] == samples and not isinstance(tensor, torch.nn.Parameter)
        return tensor.detach()[:size].clone() if rows else tensor.detach() if tensor.grad_fn is not None else tensor

    return exchanged(value, cut)
