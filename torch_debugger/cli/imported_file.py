"""A user's file imported as a module: its definitions come to be, its `__main__` part does not run."""

from __future__ import annotations

import importlib.util
import os
import sys
from types import ModuleType

from torch_debugger.errors import UsageError


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
        raise UsageError(_told(path, error)) from error
    return module


def _told(path: str, error: BaseException) -> str:
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
