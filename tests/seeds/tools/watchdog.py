"""A watchdog from torch.distributed, where there is none."""

from datetime import timedelta

from torch.distributed import Watchdog

watchdog = Watchdog(timeout=timedelta(minutes=2))
watchdog.start()
