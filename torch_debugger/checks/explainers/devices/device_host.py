"""A tensor of an accelerator handed to numpy, which reads the host's memory only."""

from __future__ import annotations

import ast
import re

from torch_debugger.checks.explainers.blame import Blame, line_text, place_text, user_frame
from torch_debugger.checks.explainers.calls import parse_statement
from torch_debugger.checks.explainers.devices.device_edits import line_edit
from torch_debugger.checks.explainers.devices.device_words import raised_by_the_user
from torch_debugger.checks.explainers.statements import statement_of
from torch_debugger.records import CrashFact, Place

_MESSAGE = re.compile(r"can't convert (\S+) device type tensor to numpy")


def explain_host_copy(crash: CrashFact) -> Blame | None:
    told, frame = _MESSAGE.search(crash.message), user_frame(crash)
    if crash.kind != "TypeError" or told is None or frame is None or raised_by_the_user(crash):
        return None
    held = crash.evidence.devices
    met = [each for each in held.met if each.tensor.device == told[1]] if held is not None else []
    name = met[0].tensor.name if len(met) == 1 and met[0].role != "nameless" else ""
    whole = statement_of(frame, crash.place.module).whole
    tracked = bool(met) and met[0].tensor.requires_grad
    after = _copied(whole, name, tracked)
    edit = line_edit(whole, after)
    copy = ".detach().cpu()" if tracked else ".cpu()"
    written = (
        f"At {place_text(crash.place)} write `{edit.after}`."
        if edit
        else (f"Copy it to the CPU first: `{name or 'x'}{copy}`.")
    )
    return Blame(
        message=f"{f'`{name}`' if name else 'A tensor'} at {place_text(crash.place)} is on {told[1]}, and "
        "numpy reads only the CPU's memory.",
        why="A numpy array shares memory with its tensor, so the tensor must be on the CPU; torch does not "
        "copy it there by itself.",
        fix=written,
        where=crash.place,
        evidence={"device": told[1], "line": line_text(crash.place)},
        confidence=0.97 if met else 0.85,
        edit=edit,
    )


def _copied(place: Place, name: str, tracked: bool) -> str | None:
    """out.numpy() -> out.cpu().numpy(); np.array(out) -> np.array(out.cpu())"""
    code = place.code or ""
    tree = parse_statement(code) if code.isascii() else None
    nodes = list(ast.walk(tree)) if tree is not None else []
    methods = [node for node in nodes if isinstance(node, ast.Attribute) and node.attr == "numpy"]
    named = [node for node in nodes if isinstance(node, ast.Name | ast.Attribute) and ast.unparse(node) == name]
    spots = [node.value for node in methods] or [node for node in named if isinstance(node.ctx, ast.Load)]
    if len(spots) != 1:
        return None
    already = "detach" in ast.unparse(spots[0])
    text = ".detach().cpu()" if tracked and not already else ".cpu()"
    lines = code.split("\n")
    row, column = (spots[0].end_lineno or 1) - 1, spots[0].end_col_offset or 0
    lines[row] = lines[row][:column] + text + lines[row][column:]
    return "\n".join(lines)
