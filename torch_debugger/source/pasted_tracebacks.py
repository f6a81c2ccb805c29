"""A crash read from text: the traceback that matters, as far as text can tell it."""

from __future__ import annotations

import ast
import builtins
import functools
import itertools
import os
import re
import stat

from torch_debugger.records import CrashFact, CrashFrame, Place
from torch_debugger.source.files import covers, parsed
from torch_debugger.source.traceback_formats import (
    INNER,
    TextFrame,
    TextTraceback,
    boxed_tracebacks,
    notebook_tracebacks,
    pytest_failures,
    python_tracebacks,
    readable_lines,
)
from torch_debugger.system.tracebacks import is_user_path, plain_path

_READERS = (notebook_tracebacks, boxed_tracebacks, python_tracebacks, pytest_failures)
_MESSAGE_LENGTH, _CODE_LENGTH, _FRAMES, _CAUSES = 20_000, 1_200, 80, 3
# What launchers raise when something they started has failed: the cause is another traceback.
_PASSED_ON = {"ChildFailedError", "ProcessRaisedException", "ProcessExitedException", "CalledProcessError"}
_TORCH_BASES = {"OutOfMemoryError": "RuntimeError", "AcceleratorError": "RuntimeError"}
_RANK = re.compile(r"rank\W?\d+|default\d+", re.IGNORECASE)


def read_crash(text: str) -> CrashFact | None:
    """None where no traceback is in the text."""
    lines = readable_lines(text)
    found = (list(reader(lines)) for reader in _READERS)
    chains = _chains(next((tracebacks for tracebacks in found if tracebacks), []))
    return _crash(_that_matters(chains)) if chains else None


_BARE = re.compile(
    r"^\s*(?:(?P<kind>[A-Za-z_][\w.]*(?:Error|Exception|Warning|Interrupt|Exit|Quit))\s*:\s*)?(?P<message>\S.*)$"
)
_BARE_LINES = 40


def read_message(text: str) -> CrashFact | None:
    """A message as people paste it into a search box, with or without the name of its class; None for a long
    text in which no line begins with such a name."""
    lines = [line for line in readable_lines(text) if line.strip()]
    matches = [(at, match) for at, line in enumerate(lines) if (match := _BARE.match(line))]
    named = [(at, match) for at, match in matches if match["kind"]]
    chosen = named[-1:] or (matches[:1] if len(lines) <= _BARE_LINES else [])
    if not chosen:
        return None
    at, match = chosen[0]
    message = "\n".join([match["message"], *lines[at + 1 : at + _BARE_LINES]])[:_MESSAGE_LENGTH]
    kind = match["kind"] or ("AttributeError" if "has no attribute" in message else "RuntimeError")
    name = kind.rpartition(".")[2]
    return CrashFact(
        name, message, (), Place(), None, f"{kind}: {message}\n", 0, qualified=kind, bases=_bases(name),
        attributes=_carried(name, message), pasted=True,
    )  # fmt: skip


def bare_crash(kind: str, message: str = "") -> CrashFact:
    """For an exception of which nothing else can be told."""
    return CrashFact(kind, message, (), Place(), None, f"{kind}: {message}\n", 0, bases=(kind,), pasted=True)


def _chains(found: list[TextTraceback]) -> list[list[TextTraceback]]:
    """Tracebacks that belong together, the last exception last."""
    chains: list[list[TextTraceback]] = []
    for one in found:
        open_chains = [each for each in chains if each[-1].leads_to_next and each[-1].prefix == one.prefix]
        if open_chains:
            open_chains[-1].append(one)
        else:
            chains.append([one])
    return chains


def _that_matters(chains: list[list[TextTraceback]]) -> list[TextTraceback]:
    """The last one with a line of the user's; of several ranks the first; of a group its first part."""
    telling = [chain for chain in chains if not _is_passed_on(chain[-1]) and chain[-1].kind]
    own = [chain for chain in telling if any(is_user_path(frame.file) for frame in chain[-1].frames)]
    candidates = own or telling or chains
    ranked = [chain for chain in candidates if _RANK.search(chain[-1].prefix)]
    parts = [chain for group, chain in itertools.pairwise(candidates) if group[-1].group]
    return (ranked or [chain for chain in parts if not chain[-1].group] or candidates[::-1])[0]


def _is_passed_on(last: TextTraceback) -> bool:
    return last.kind.rpartition(".")[2] in _PASSED_ON


def _crash(chain: list[TextTraceback]) -> CrashFact:
    last, before = chain[-1], chain[:-1][::-1][:_CAUSES]
    frames = tuple(_frame(frame) for frame in last.frames[-_FRAMES:])
    name = last.kind.rpartition(".")[2] or "an exception"
    inner = _inner(last)
    return CrashFact(
        kind=name,
        message=last.message[:_MESSAGE_LENGTH],
        frames=frames,
        place=_place(frames),
        layer=None,
        traceback="\n".join(last.lines) + "\n",
        step=0,
        qualified=last.kind,
        bases=_bases(name),
        attributes=_carried(name, last.message),
        causes=inner or tuple(_crash([one]) for one in before),
        raised_from=bool(inner) or (bool(before) and before[0].leads_to_next == "cause"),
        pasted=True,
    )


def _inner(last: TextTraceback) -> tuple[CrashFact, ...]:
    """The traceback of a worker process, which stands in the message of the exception that passes it on."""
    _, found, text = last.message.partition(INNER)
    tracebacks = [*python_tracebacks([INNER.removeprefix("Original "), *text.split("\n")[1:]])] if found else []
    return (_crash(tracebacks[:1]),) if tracebacks else ()


def _frame(frame: TextFrame) -> CrashFrame:
    file = plain_path(frame.file)
    user = is_user_path(file)
    code_line, code = statement_around(file, frame.line, frame.code) if user else (frame.line, frame.code)
    failing = _unparsed(frame.marked) if user else ""
    return CrashFrame(file, frame.line, frame.function, code[:_CODE_LENGTH], user, None, None, (), code_line, failing)


def _place(frames: tuple[CrashFrame, ...]) -> Place:
    users = [frame for frame in frames if frame.user] or list(frames)
    if not users:
        return Place()
    lines, inside = users[-1].code.split("\n"), users[-1].line - users[-1].code_line
    code = lines[inside] if 0 <= inside < len(lines) else lines[0]
    return Place(users[-1].file, users[-1].line, None, code or None)


def _unparsed(marked: str) -> str:
    try:
        return ast.unparse(ast.parse(marked.strip(), mode="eval")) if marked else ""
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""


def _bases(name: str) -> tuple[str, ...]:
    known = getattr(builtins, _TORCH_BASES.get(name, name), None)
    inherited = [base.__name__ for base in known.__mro__] if isinstance(known, type) else []
    return tuple(dict.fromkeys([name, *inherited]))


_CARRIED = {
    "errno": re.compile(r"\[(?:Errno|WinError) (?P<value>\d+)\]"),
    "name": re.compile(r"(?:No module named|has no attribute|cannot import name|^name) '(?P<value>[^']+)'"),
    "object": re.compile(r"^'(?P<value>[\w.]+)' object has no attribute"),
}


def _carried(kind: str, message: str) -> dict[str, str | int]:
    """What the live exception would carry, as far as its message repeats it."""
    kept: dict[str, str | int] = {}
    for name, pattern in _CARRIED.items():
        match = pattern.search(message[:1000])
        if match is not None:
            kept[name] = int(match["value"][:9]) if name == "errno" else match["value"]
    key = re.fullmatch(r"'(?P<text>[^']*)'|(?P<number>-?\d{1,18})", message)
    if kind == "KeyError" and key is not None:
        kept["key"] = key["text"] if key["text"] is not None else int(key["number"])
    return kept


# The user's own file, where it is on this machine and still says what the traceback says.
_LARGEST_FILE_BYTES = 4_000_000


def statement_around(file: str, line: int, code: str) -> tuple[int, str]:
    """The whole statement and its first line; what the traceback tells where the file says otherwise."""
    source = _source(file)
    lines, words = source.split("\n"), code.split("\n")[0].split()
    if not words or not 1 <= line <= len(lines) or lines[line - 1].split() != words:
        return line, code
    tree = _tree(source)
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.stmt) and covers(node, line) and not hasattr(node, "body"):
            whole = lines[node.lineno - 1 : node.end_lineno]
            return node.lineno, "\n".join(text.strip() for text in whole)
    return line, code


def _source(file: str) -> str:
    try:
        found = os.stat(file)
        # A regular file: opening a pipe would wait for its other end.
        if not stat.S_ISREG(found.st_mode) or found.st_size > _LARGEST_FILE_BYTES:
            return ""
        with open(file, encoding="utf-8-sig", errors="replace") as opened:
            return opened.read()
    except (OSError, ValueError):  # ValueError: a null character in the path
        return ""


_tree = functools.lru_cache(maxsize=32)(parsed)
