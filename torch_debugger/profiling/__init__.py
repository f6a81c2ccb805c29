"""Where time and memory went: looked at closely, for a few steps, because somebody asked."""
