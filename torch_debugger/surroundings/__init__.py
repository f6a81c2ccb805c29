"""The program and the machine around a run, without secrets."""
