"""Tracebacks from elsewhere: their text, found in whatever surrounds it, made into a CrashFact; no torch."""
