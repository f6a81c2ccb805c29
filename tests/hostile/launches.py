"""How a program is started: under which name, from which kind of file, with what beside it."""

from __future__ import annotations

import importlib.util
import io
import marshal
import zipfile
from collections.abc import Callable

from tests.hostile.grammar import Files, Link

Launched = tuple[Files, tuple[str, ...]]


def _named(name: str) -> Callable[[str], Launched]:
    return lambda text: ({name: text}, (name,))


def _reached(name: str, path: str) -> Callable[[str], Launched]:
    return lambda text: ({name: text}, (path,))


def _symlinked(text: str) -> Launched:
    return {"real/train_v2.py": text, "train.py": Link("real/train_v2.py")}, ("train.py",)


def _module(text: str) -> Launched:
    return {"project/__init__.py": "", "project/train.py": text}, ("-m", "project.train")


def _package(text: str) -> Launched:
    return {"project/__init__.py": "VERSION = 1", "project/__main__.py": text}, ("-m", "project")


def _folder(text: str) -> Launched:
    return {"job/__main__.py": text}, ("job",)


def _zipped(text: str) -> Launched:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(zipfile.ZipInfo("__main__.py"), text)
    return {"job.zip": packed.getvalue()}, ("job.zip",)


def _compiled(text: str) -> Launched:
    code = compile(text, "train.py", "exec", dont_inherit=True)
    return {"train.pyc": importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code)}, ("train.pyc",)


def _imported(text: str) -> Launched:
    text = text.replace('if __name__ == "__main__":', 'if __name__ == "training":')
    return {"train.py": "import training\n\nprint(training.__name__)\n", "training.py": text}, ("train.py",)


def _executed(text: str) -> Launched:
    run = 'with open("text_of_training.txt") as file:\n    exec(compile(file.read(), "training", "exec"))\n'
    return {"train.py": run, "text_of_training.txt": text}, ("train.py",)


def _byte_order_mark(text: str) -> Launched:
    return {"train.py": b"\xef\xbb\xbf" + text.encode()}, ("train.py",)


def _latin(text: str) -> Launched:
    return {"train.py": b"# coding: latin-1\nACCENT = '\xe9'\n" + text.encode()}, ("train.py",)


def _carriage_returns(text: str) -> Launched:
    return {"train.py": text.replace("\n", "\r\n").encode()}, ("train.py",)


LAUNCHES: dict[str, Callable[[str], Launched]] = {
    "script": _named("train.py"),
    "spaces": _named("my train script.py"),
    "unicode": _named("träning_学習.py"),
    "no_suffix": _named("train"),
    "leading_dash": _reached("-train.py", "./-train.py"),
    "relative": _reached("scripts/train.py", "scripts/../scripts/train.py"),
    "symlinked": _symlinked,
    "module": _module,
    "package": _package,
    "folder": _folder,
    "zipped": _zipped,
    "compiled": _compiled,
    "imported": _imported,
    "executed": _executed,
    "byte_order_mark": _byte_order_mark,
    "latin": _latin,
    "carriage_returns": _carriage_returns,
}
