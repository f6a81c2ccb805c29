"""The numbers of layers over the steps of a run, made ready for the page."""
