"""Reads `expected.txt`: what the programs of one document must yield."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
# How many snippets each document has, in its order: fenced blocks of code or of a command.
DOCUMENTS = {"first_look": 2, "tools": 34, "errors": 19, "exercises": 12, "visuals": 4}
_HEAD = re.compile(r"\[(.+)\]")
_REPEATED = ("stdout", "report", "raises", "makes", "snippet", "change")
_STEPS = ("then", "code", "says", "page", "view", "calls", "has")
_ONCE = ("exit", "verdict", "line", "fix", "options", "output", "nothing", "of")


@dataclass
class Block:
    """One program, or a snippet that has nothing to run."""

    document: str
    name: str
    once: dict[str, str] = field(default_factory=dict)
    repeated: dict[str, list[str]] = field(default_factory=dict)
    steps: list[tuple[str, str]] = field(default_factory=list)  # commands and questions afterwards, in order

    @property
    def path(self) -> Path:
        return HERE / self.document / self.name

    def script(self, folder: Path) -> Path:
        """The file to run: with `of` it is written into the folder, as that program with its changes."""
        if "of" not in self.once:
            return self.path
        lines = (HERE / self.document / self.once["of"]).read_text(encoding="utf-8").splitlines(keepends=True)
        for change in self.repeated["change"]:
            before, after = (part.strip().replace("\\n", "\n") for part in change.split("=>"))
            (number,) = [number for number, line in enumerate(lines) if before in line]
            lines[number] = lines[number].replace(before, after) if after else ""
        script = folder / self.name
        script.write_text("".join(lines), encoding="utf-8")
        return script

    @property
    def is_runnable(self) -> bool:
        return "nothing" not in self.once

    @property
    def is_program(self) -> bool:
        """Else it is the text of an error."""
        return self.name.endswith(".py")

    @property
    def snippets(self) -> list[int]:
        return [int(number) for number in self.repeated.get("snippet", [])]


def read_document(document: str) -> list[Block]:
    text = (HERE / document / "expected.txt").read_text(encoding="utf-8")
    return read_blocks(document, text)


def read_blocks(document: str, text: str) -> list[Block]:
    blocks: list[Block] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        if head := _HEAD.fullmatch(line.strip()):
            blocks.append(Block(document, head[1]))
            continue
        key, colon, value = line.partition(":")
        if not colon or not blocks:
            raise ValueError(f"{document}/expected.txt, line {number}: no `key: value`")
        _add(blocks[-1], key.strip(), value.strip(), number)
    return blocks


def _add(block: Block, key: str, value: str, number: int) -> None:
    if key in _REPEATED:
        block.repeated.setdefault(key, []).append(value)
    elif key in _STEPS:
        block.steps.append((key, value))
    elif key in _ONCE and key not in block.once:
        block.once[key] = value
    else:
        raise ValueError(f"{block.document}/expected.txt, line {number}: `{key}` has no place here")
