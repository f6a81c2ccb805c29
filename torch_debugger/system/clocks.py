"""The clocks of Python as they were before the script's first line.

A script may put others in their place: a test freezes `time.time`, `unittest.mock` hands out a list of values,
one for each call. Those are meant for the script. They are kept in a class because freezegun replaces the
clocks that it finds among the names of a module, in every module that is loaded.
"""

from __future__ import annotations

import time as module


class time:  # noqa: N801 - stands for the module
    localtime = staticmethod(module.localtime)
    monotonic = staticmethod(module.monotonic)
    perf_counter = staticmethod(module.perf_counter)
    process_time = staticmethod(module.process_time)
    sleep = staticmethod(module.sleep)
    strftime = staticmethod(module.strftime)
    thread_time = staticmethod(module.thread_time)
    time = staticmethod(module.time)
    time_ns = staticmethod(module.time_ns)
