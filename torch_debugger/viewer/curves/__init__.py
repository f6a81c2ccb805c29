"""Curves as a screen can show them: every point stays in the archive, what fits the picture is sent."""
