"""The catalog: records in, findings out; no torch. One file per check, file name = check name."""
