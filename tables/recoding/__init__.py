"""Variables that are made of columns: bands of numbers and dates, recodes of codes."""
