"""Numbers that choose what is not there."""
