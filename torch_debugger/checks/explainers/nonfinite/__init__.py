"""NaN and Inf: what is wrong with the op that made one, in words and as an edit."""
