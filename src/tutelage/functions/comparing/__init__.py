"""Whether two networks are the same function, why, or where they differ."""
