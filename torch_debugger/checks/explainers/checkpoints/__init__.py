"""Files and states that do not load."""
