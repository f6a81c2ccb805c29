"""NaN and Inf."""
