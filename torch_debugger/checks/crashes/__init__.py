"""Crashes: each check reads a CrashFact and explains it only where the frames confirm it."""
