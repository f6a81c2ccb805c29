"""The exceptions that are ours; a user's exception is a crash, never one of these."""

from __future__ import annotations


class DebuggerError(Exception):
    """Something torch-debugger was asked for and cannot do; its text is shown as it is."""


class UsageError(DebuggerError):
    """The command line or a call asked for something that does not exist; exit code 2."""
