"""A watchdog over something that stands still: it says what is waited for, and where."""

import threading

import torch_debugger

gate = threading.Event()
with torch_debugger.Watchdog(timeout=0.3, policy="warn") as watchdog:
    while not watchdog.hangs:
        gate.wait(0.6)
print("said:", len(watchdog.hangs) > 0)
