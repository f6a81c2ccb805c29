"""The catalog: records in, findings out; no torch. Checks of one subject share a file in the folder of their family."""
