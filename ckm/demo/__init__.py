"""A made-up register, and a whole release of it to look at."""
