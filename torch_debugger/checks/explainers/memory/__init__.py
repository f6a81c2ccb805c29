"""Memory that ran out, and errors of the device itself."""
