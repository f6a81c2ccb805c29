"""Looking inside by hand: one call, one look, nothing left behind."""
