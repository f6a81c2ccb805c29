"""TD934: the process may open no more files."""

from __future__ import annotations

from torch_debugger.checks.explainers.crash_check import CrashCheck
from torch_debugger.checks.explainers.loading.open_files import explain_open_files


class TooManyOpenFiles(CrashCheck):
    """The script has as many files open as it may; tensors from workers count as files.

    Symptom:
        "OSError: [Errno 24] Too many open files", "received 0 items of ancdata", or "Too many open files.
        Communication with the workers is no longer possible".
    Evidence:
        The open descriptors, counted, against the limit; torch's sharing strategy; and the variable in the
        traceback's frames that keeps tensors from workers or open files.
    Fix:
        Keep copies of the tensors, close the files, or choose the sharing strategy `file_system`.
    Known limits:
        Files opened in a worker are counted there and not seen here. Only variables of the user's frames
        and the lists and dicts of their objects are searched.
    """

    id = "TD934"
    name = "too-many-open-files"
    title = "the process may open no more files"
    explainers = (explain_open_files,)
