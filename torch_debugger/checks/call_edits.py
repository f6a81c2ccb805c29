"""Edits of one line of the user's: whole lines, texts in them, and calls with another argument."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from torch_debugger.records import Edit, OptimizerFact, Place


def edit_line(place: Place, after: str | None) -> Edit | None:
    """The whole line replaced; None where it is not known, or nothing is known to replace it with."""
    if after is None or not place.file or not place.line or not place.code:
        return None
    return Edit(place.file, place.line, place.code, after)


def replace_in_line(place: Place, before: str, after: str) -> Edit | None:
    """None unless the text stands in the line exactly once."""
    code = place.code or ""
    return edit_line(place, code.replace(before, after)) if code.count(before) == 1 else None


def calls_in(code: str | None) -> list[ast.Call]:
    """None of a line that is only a part of a statement."""
    try:
        tree = ast.parse(code or "")
    except SyntaxError:
        return []
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call)]


def called_name(call: ast.Call) -> str:
    """relu of torch.nn.functional.relu(x)"""
    return ast.unparse(call.func).rpartition(".")[2]


def _only(calls: list[ast.Call]) -> ast.Call | None:
    return calls[0] if len(calls) == 1 else None


def with_keyword(place: Place, maker: str, keyword: str, value: str) -> Edit | None:
    """nn.Conv2d(3, 8, 3) -> nn.Conv2d(3, 8, 3, bias=False); None where the line is not that plain."""
    code = place.code or ""
    call = _only([call for call in calls_in(code) if called_name(call) == maker])
    if call is None or call.lineno != call.end_lineno or not code.isascii():
        return None
    if any(word.arg in (keyword, None) for word in call.keywords):
        return None
    return edit_line(place, _append_keyword(code, call, keyword, value))


def _append_keyword(code: str, call: ast.Call, keyword: str, value: str) -> str:
    end = len(code.encode()[: call.end_col_offset].decode()) - 1  # ast counts bytes
    comma = ", " if call.args or call.keywords else ""
    return f"{code[:end]}{comma}{keyword}={value}{code[end:]}"


# The line that makes an optimizer, as text: what it was given, and how the line should read.
_PARAMETERS = re.compile(r"([A-Za-z_][\w.]*)\.parameters\(\)")
_RATE = re.compile(r"\blr\s*=\s*([0-9][0-9_.]*(?:[eE][+-]?[0-9]+)?)")

# They divide by the gradient's own size, down to their eps.
_ADAPTIVE = ("adam", "rmsprop", "adagrad", "adadelta", "lion", "adafactor", "rprop")


def is_adaptive(kind: str) -> bool:
    return any(word in kind.lower() for word in _ADAPTIVE)


def whole_model(call: str, root: str, names: Iterable[str], held: Iterable[str]) -> tuple[str, str] | None:
    """The one `x.parameters()` of the call as (x, the text for the whole model inside x).

    Both are equal where x already is the whole model. The user's text may name the model
    differently here (self.net) than where it was first called (net): what follows the root decides.
    A part may have a variable of its own as well (decoder): then what the optimizer holds is that part.
    """
    given = _PARAMETERS.findall(call)
    if len(given) != 1:
        return None
    parts = given[0].split(".")
    known, own = tuple(names), set(held)
    part = f"{root}.{parts[-1]}."
    if given[0] != root and own and own == {name for name in known if name.startswith(part)}:
        return given[0], root if len(parts) == 1 else ".".join(parts[:-1])
    for length in range(1, len(parts)):
        inner = ".".join([root, *parts[length:]]) + "."
        if any(name.startswith(inner) for name in known):
            return given[0], ".".join(parts[:length])
    return given[0], given[0]


def give_whole_model(optimizer: OptimizerFact, root: str, names: Iterable[str]) -> Edit | None:
    found = whole_model(optimizer.place.code or "", root, names, optimizer.parameters)
    if found is None or found[0] == found[1]:
        return None
    return _replace_first(optimizer.place, f"{found[0]}.parameters()", f"{found[1]}.parameters()")


def give_second_model(optimizer: OptimizerFact, root: str) -> Edit | None:
    """`a.parameters()` becomes `list(a.parameters()) + list(root.parameters())`, where it is given or where the
    variable that is given is filled."""
    for place in (optimizer.place, optimizer.filled or Place()):
        given = _PARAMETERS.findall(place.code or "")
        if len(given) == 1:
            one = f"list({given[0]}.parameters())"
            before = one if one in (place.code or "") else f"{given[0]}.parameters()"
            return _replace_first(place, before, f"{one} + list({root}.parameters())")
    return None


def highest_rate(optimizer: OptimizerFact | None) -> float | None:
    rates = [group["lr"] for group in optimizer.groups if "lr" in group] if optimizer else []
    return max(rates) if rates else None


def only_decay(optimizer: OptimizerFact | None) -> float | None:
    """The weight decay that all groups share; None where they differ."""
    decays = {group.get("weight_decay", 0.0) for group in optimizer.groups} if optimizer else set()
    return decays.pop() if len(decays) == 1 else None


def change_rate(optimizer: OptimizerFact, factor: float) -> Edit | None:
    """The line with its literal `lr=` multiplied by a factor."""
    written = _RATE.search(optimizer.place.code or "")
    if written is None:
        return None
    rate = float(written.group(1)) * factor
    return _replace_first(optimizer.place, written.group(0), f"lr={rate:.3g}")


def _replace_first(place: Place, before: str, after: str) -> Edit | None:
    return edit_line(place, (place.code or "").replace(before, after, 1))


# The line that makes a DataLoader, and the same line with another argument.
_PLAIN_ARGUMENTS = {"dataset", "batch_size", "shuffle", "drop_last"}


def loader_with_keyword(place: Place, keyword: str, value: str) -> Edit | None:
    """`DataLoader(data, 32)` -> `DataLoader(data, 32, shuffle=True)`; None for longer calls."""
    code, call = place.code or "", _only_loader(place)
    if call is None:
        return None
    written = next((word.value for word in call.keywords if word.arg == keyword), None)
    if written is None:
        return edit_line(place, _append_keyword(code, call, keyword, value))
    return edit_line(place, code[: written.col_offset] + value + code[written.end_col_offset :])


def with_distributed_sampler(place: Place) -> Edit | None:
    """`DataLoader(data, 32, shuffle=True)` -> the same with a DistributedSampler in place of `shuffle`."""
    call = _only_loader(place)
    if call is None or not isinstance(call.args[0], ast.Name) or len(call.args) > 2:
        return None
    keywords = {word.arg: ast.unparse(word.value) for word in call.keywords}
    if None in keywords or "sampler" in keywords:
        return None
    name = call.args[0].id
    order = "" if keywords.get("shuffle") == "True" else ", shuffle=False"
    sampler = f"sampler=torch.utils.data.DistributedSampler({name}{order})"
    others = [ast.unparse(word) for word in call.keywords if word.arg != "shuffle"]
    return _edit_call(place, call, [*map(ast.unparse, call.args), *others, sampler])


def over_whole_batches(place: Place, shuffle: bool | None) -> Edit | None:
    """`DataLoader(data, 64, shuffle=True)` -> the same batches, each asked for with a list of indices; None for
    calls with more in them than that."""
    call = _only_loader(place)
    if call is None or shuffle is None:
        return None
    arguments = dict(zip(("dataset", "batch_size", "shuffle"), call.args, strict=False))
    arguments |= {word.arg: word.value for word in call.keywords if word.arg is not None}
    if len(arguments) < len(call.args) + len(call.keywords) or arguments.keys() - _PLAIN_ARGUMENTS:
        return None
    data, size = arguments.get("dataset"), arguments.get("batch_size")
    if not isinstance(data, ast.Name) or size is None:
        return None
    order = "RandomSampler" if shuffle else "SequentialSampler"
    dropped = ast.unparse(arguments["drop_last"]) if "drop_last" in arguments else "False"
    batches = f"torch.utils.data.{order}({data.id}), {ast.unparse(size)}, drop_last={dropped}"
    return _edit_call(place, call, [data.id, "batch_size=None", f"sampler=torch.utils.data.BatchSampler({batches})"])


def _edit_call(place: Place, call: ast.Call, arguments: list[str]) -> Edit | None:
    made, code = f"{ast.unparse(call.func)}({', '.join(arguments)})", place.code or ""
    return edit_line(place, code[: call.col_offset] + made + code[call.end_col_offset :])


def _only_loader(place: Place) -> ast.Call | None:
    if not place.file or not place.line or not (place.code or "").isascii():
        return None
    return _only([call for call in calls_in(place.code) if call.args and called_name(call).endswith("DataLoader")])


# The line that calls a model: what it is given there, and the same line with something else.
def only_argument(code: str | None, root: str) -> str | None:
    """`images` for loss = criterion(net(images), y); None where the line is not a plain call of the model."""
    call = _call(code, root)
    return ast.unparse(call.args[0]) if call is not None else None


def with_argument(place: Place, root: str, form: str) -> Edit | None:
    """The line with the model's first argument put into a form: "{} / 255"."""
    code, call = place.code or "", _call(place.code, root)
    if call is None:
        return None
    argument = call.args[0]
    start, end = argument.col_offset, argument.end_col_offset or 0
    written = code[start:end]
    if ast.unparse(argument) != written:  # bytes are not characters, or the line goes on
        return None
    simple = isinstance(argument, (ast.Name, ast.Attribute, ast.Subscript, ast.Call))
    changed = form.format(written if simple else f"({written})")
    return edit_line(place, code[:start] + changed + code[end:])


def _call(code: str | None, root: str) -> ast.Call | None:
    return _only([call for call in calls_in(code) if call.args and called_name(call) == root])


# A line that makes a tensor: what it assigns, which call makes it, and the same line with a device.
_FACTORIES = frozenset({
    "arange", "as_tensor", "bartlett_window", "blackman_window", "empty", "eye", "full", "hamming_window",
    "hann_window", "linspace", "logspace", "normal", "ones", "rand", "randint", "randn", "randperm", "tensor",
    "tril_indices", "triu_indices", "zeros",
})  # fmt: skip


def as_buffer(code: str) -> str | None:
    """self.scale = torch.ones(8) -> self.register_buffer("scale", torch.ones(8), persistent=False)"""
    match _statement(code):
        case ast.Assign(targets=[ast.Attribute(value=ast.Name(id=owner), attr=name)], value=value):
            text = ast.get_source_segment(code, value)
            # Not persistent: checkpoints keep their keys.
            return f'{owner}.register_buffer("{name}", {text}, persistent=False)'
    return None


def as_module_list(code: str) -> str | None:
    """self.layers = [nn.Linear(8, 8)] -> self.layers = nn.ModuleList([nn.Linear(8, 8)])"""
    match _statement(code):
        case ast.Assign(targets=[ast.Attribute()], value=ast.List() | ast.ListComp() | ast.Tuple() as value):
            return _around(code, value, "nn.ModuleList")
        case ast.Assign(targets=[ast.Attribute()], value=ast.Dict() | ast.DictComp() as value):
            return _around(code, value, "nn.ModuleDict")
    return None


def _around(code: str, value: ast.expr, name: str) -> str | None:
    text = ast.get_source_segment(code, value)
    return code.replace(text, f"{name}({text})") if text else None


def with_device(code: str, reference: str | None) -> str | None:
    """epsilon = torch.randn(n) -> epsilon = torch.randn(n, device=mean.device)"""
    return made_on(code, f"{reference}.device") if reference is not None else None


def made_on(code: str, device: str) -> str | None:
    """The line with a device for the one tensor it makes: `device`, `x.device`."""
    calls = _makers(code)
    if len(calls) != 1 or calls[0].lineno != calls[0].end_lineno:
        return None
    if "\n" in code or any(word.arg == "device" for word in calls[0].keywords):
        return None
    return _append_keyword(code, calls[0], "device", device)


def _makers(code: str | None) -> list[ast.Call]:
    """Calls in this line that make a tensor without being given one: torch.zeros(...), not x.sum()."""
    statement = _statement(code)
    calls = [node for node in ast.walk(statement) if isinstance(node, ast.Call)] if statement else []
    return [call for call in calls if ast.unparse(call.func).removeprefix("torch.") in _FACTORIES]


def maker(code: str | None) -> str | None:
    calls = _makers(code)
    return f"{ast.unparse(calls[0].func)}(...)" if calls else None


def assigned(code: str | None) -> str | None:
    match _statement(code):
        case ast.Assign(targets=[(ast.Name() | ast.Attribute()) as target]):
            return ast.unparse(target)
    return None


def names_in(code: str | None) -> set[str]:
    statement = _statement(code)
    return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)} if statement else set()


def _statement(code: str | None) -> ast.stmt | None:
    """The line as a statement; None where it is only a part of one."""
    try:
        body = ast.parse(code or "").body
    except SyntaxError:
        return None
    return body[0] if body else None
