"""Features of many examples by layer: collected over a loader, measured, and drawn as points."""
