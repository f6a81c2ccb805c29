"""Examiners: each looks at a live crash for one kind of evidence, and says None where it has none to give."""
