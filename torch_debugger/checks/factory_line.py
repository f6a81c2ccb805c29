"""A line that makes a tensor: what it assigns, which call makes it, and the same line with a device."""

from __future__ import annotations

import ast

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
    if len(calls) != 1 or calls[0].end_col_offset is None or calls[0].lineno != calls[0].end_lineno:
        return None
    if "\n" in code or any(word.arg == "device" for word in calls[0].keywords):
        return None
    end = len(code.encode()[: calls[0].end_col_offset].decode()) - 1
    comma = ", " if calls[0].args or calls[0].keywords else ""
    return f"{code[:end]}{comma}device={device}{code[end:]}"


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
