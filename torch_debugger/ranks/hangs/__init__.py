"""What a process is doing when it seems to do nothing."""
