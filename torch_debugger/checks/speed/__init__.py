"""Where time and memory are lost, and what the edit saves."""
