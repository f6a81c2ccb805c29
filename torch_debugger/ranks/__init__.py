"""What a process knows of the ranks it is one of, and of the processes it starts."""
