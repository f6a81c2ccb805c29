"""The line that makes a DataLoader, and the same line with another argument."""

from __future__ import annotations

import ast

from torch_debugger.records import Edit, Place

_PLAIN_ARGUMENTS = {"dataset", "batch_size", "shuffle", "drop_last"}


def with_keyword(place: Place, keyword: str, value: str) -> Edit | None:
    """`DataLoader(data, 32)` -> `DataLoader(data, 32, shuffle=True)`; None for longer calls."""
    code = place.code
    call = _only_loader(code)
    if call is None or place.file is None or place.line is None or code is None or not code.isascii():
        return None
    given = next((word.value for word in call.keywords if word.arg == keyword), None)
    if given is not None:
        after = code[: given.col_offset] + value + code[given.end_col_offset :]
    else:
        end = (call.end_col_offset or 0) - 1
        after = f"{code[:end]}, {keyword}={value}{code[end:]}"
    return Edit(place.file, place.line, code, after)


def with_distributed_sampler(place: Place) -> Edit | None:
    """`DataLoader(data, 32, shuffle=True)` -> the same with a DistributedSampler in place of `shuffle`."""
    call, code = _only_loader(place.code), place.code
    if call is None or place.file is None or place.line is None or not code or not code.isascii():
        return None
    given = {word.arg: word.value for word in call.keywords}
    others = [ast.unparse(word) for word in call.keywords if word.arg != "shuffle"]
    if not isinstance(call.args[0], ast.Name) or len(call.args) > 2 or None in given or "sampler" in given:
        return None
    name = ast.unparse(call.args[0])
    order = "" if "shuffle" in given and ast.unparse(given["shuffle"]) == "True" else ", shuffle=False"
    sampler = f"sampler=torch.utils.data.DistributedSampler({name}{order})"
    made = ", ".join([*map(ast.unparse, call.args), *others, sampler])
    after = code[: call.col_offset] + f"{ast.unparse(call.func)}({made})" + code[call.end_col_offset :]
    return Edit(place.file, place.line, code, after)


def over_whole_batches(place: Place, shuffle: bool | None) -> Edit | None:
    """`DataLoader(data, 64, shuffle=True)` -> the same batches, each asked for with a list of indices; None for
    calls with more in them than that."""
    call = _only_loader(place.code)
    if call is None or place.file is None or place.line is None or not place.code or shuffle is None:
        return None
    given = dict(zip(("dataset", "batch_size", "shuffle"), call.args, strict=False))
    given |= {word.arg: word.value for word in call.keywords if word.arg is not None}
    data, size, last = given.get("dataset"), given.get("batch_size"), given.get("drop_last")
    if len(given) < len(call.args) + len(call.keywords) or given.keys() - _PLAIN_ARGUMENTS:
        return None
    if not isinstance(data, ast.Name) or size is None or not place.code.isascii():
        return None
    name, order = ast.unparse(data), "RandomSampler" if shuffle else "SequentialSampler"
    dropped = ast.unparse(last) if last is not None else "False"
    sampler = (
        f"torch.utils.data.BatchSampler(torch.utils.data.{order}({name}), {ast.unparse(size)}, "
        f"drop_last={dropped})"
    )
    made = f"{ast.unparse(call.func)}({name}, batch_size=None, sampler={sampler})"
    code = place.code
    return Edit(place.file, place.line, code, code[: call.col_offset] + made + code[call.end_col_offset :])


def _only_loader(code: str | None) -> ast.Call | None:
    try:
        tree = ast.parse(code or "")
    except SyntaxError:
        return None
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args]
    found = [call for call in calls if ast.unparse(call.func).endswith("DataLoader")]
    return found[0] if len(found) == 1 else None
