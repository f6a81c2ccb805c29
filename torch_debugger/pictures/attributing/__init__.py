"""What each part of an input contributes to a score: slopes, paths, noise and windows."""
