"""More than one process: ranks, their watchdog and what they are compared by."""
