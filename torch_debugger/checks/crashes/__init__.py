"""Crashes: each check reads a CrashFact and explains it only where the frames confirm it."""

from __future__ import annotations
