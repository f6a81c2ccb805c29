"""What differs between two runs, and where they part: one file for each question."""
