"""What attends to what: weights given or heard in a run of the model, drawn, rolled out, and as a flow."""
