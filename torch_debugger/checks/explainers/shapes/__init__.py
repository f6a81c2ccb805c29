"""Two shapes that do not fit: one file for each place where they meet."""
