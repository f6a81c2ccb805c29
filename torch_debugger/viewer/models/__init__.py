"""The models of a run for the page: their graphs laid out, their modules as a table, and colours by numbers."""
