"""A tensor that the script's own lines leave on the CPU: what brings it there, and the line that moves it."""

from __future__ import annotations

import os
import re

from torch_debugger.checks.factory_line import assigned, made_on, maker
from torch_debugger.records import Edit, Place, Rehearsal


def unmoved_message(record: Rehearsal) -> str:
    where = _line(record.place)
    name = record.brought or assigned(record.origin.code)
    what = f"`{name}`" if name else "a tensor"
    if record.taken_from:
        source = f"{what} comes from `{record.taken_from}` on the CPU and is not moved"
    else:
        made = maker(record.origin.code)
        source = f"{what} is made on the CPU" + (f" by `{made}`" if made else "")
        if record.origin.line != record.place.line:
            source += f" at {_line(record.origin)}"
    mixed = f"{where} mixes {record.device} and cpu"
    return f"{mixed}: {source}, while {_other(record)}. On a GPU this line raises an error."


def _other(record: Rehearsal) -> str:
    tensor, _, attribute = record.device_text.rpartition(".")
    if attribute == "device" and any(each.name == tensor for each in record.tensors):
        return f"`{tensor}` is on {record.device}"
    return f"the model is on {f'`{record.device_text}`' if record.device_text else record.device}"


def model_message(record: Rehearsal) -> str:
    moved = f"`{record.place.code}` at {_line(record.place)}"
    return (
        f"`{record.root}`, made at {_line(record.origin)}, stays on the CPU, while {moved} moves what it is "
        "given. On a GPU its first call raises an error."
    )


def model_fix(record: Rehearsal) -> tuple[Edit | None, str]:
    place, code = record.origin, record.origin.code or ""
    is_plain = (
        code.startswith(f"{record.root} = ") and code.endswith(")") and code.count("(") == code.count(")")
    )
    move = ".cuda()" if record.device_text == '"cuda"' else f".to({record.device_text})"
    if not is_plain or "\n" in code or place.file is None or place.line is None:
        return None, f"Write `{record.root} = {record.root}{move}` behind {_line(place)}."
    return Edit(place.file, place.line, code, f"{code}{move}"), f"At {_line(place)} write `{code}{move}`."


def unmoved_fix(record: Rehearsal, reference: str | None) -> tuple[Edit | None, str]:
    device = record.device_text or (f"{reference}.device" if reference else "")
    found = _moved(record, device) if device else None
    if found is None:
        target = device or "the device of the model"
        name = record.brought or assigned(record.origin.code)
        what = f"`{name}`" if name else "the tensor"
        return None, f"Move {what} to `{target}` before {_line(record.place)}, or make it there."
    place, after, added = found
    assert place.file is not None and place.line is not None
    edit = Edit(place.file, place.line, place.code or "", after)
    before = " before the rest of the loop" if record.taken_from and record.moved_kind != "argument" else ""
    return edit, f"At {_line(place)} write `{added}`{before}."


def _moved(record: Rehearsal, device: str) -> tuple[Place, str, str] | None:
    """Where to edit, how the line should read, and what is new of it."""
    place = record.moved_at
    if not place or not place.code or not record.moved:
        made = made_on(record.origin.code or "", device)
        return (record.origin, made, made) if made is not None and record.origin else None
    if record.moved_kind == "argument":
        given = re.compile(rf"(?<![\w.]){re.escape(record.moved[0])}\b(?!\s*=[^=])")
        after = given.sub(f"{record.moved[0]}.to({device})", place.code)
        return (place, after, after) if len(given.findall(place.code)) == 1 else None
    line = _moving(record, device)
    if record.taken_from:
        return place, f"{line}\n{place.code}", line
    made = made_on(place.code, device) if len(record.moved) == 1 and place.line == record.origin.line else None
    if made is not None:
        return place, made, made
    if place.code.count("(") != place.code.count(")"):  # the first line of several
        return None
    return place, f"{place.code}\n{line}", line


def _moving(record: Rehearsal, device: str) -> str:
    names = record.moved
    if len(names) == 1 and record.moved_kind == "dict":
        return f"{names[0]} = {{key: each.to({device}) for key, each in {names[0]}.items()}}"
    if len(names) == 1 and record.moved_kind == "list":
        return f"{names[0]} = [each.to({device}) for each in {names[0]}]"
    return f"{', '.join(names)} = {', '.join(f'{name}.to({device})' for name in names)}"


def _line(place: Place) -> str:
    return f"{os.path.basename(place.file or '?')}:{place.line}"
