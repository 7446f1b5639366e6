"""The gradients of records, from what went into layers and the gradients of what came out."""
