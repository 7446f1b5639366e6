"""Records made ready once for many requests, and sketches of record sets."""
