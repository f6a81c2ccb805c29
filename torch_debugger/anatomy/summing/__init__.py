"""A model as a table: what each layer takes and gives, holds and costs."""
