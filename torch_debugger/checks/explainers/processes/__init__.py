"""Process groups, ranks, spawned processes and compilers."""
