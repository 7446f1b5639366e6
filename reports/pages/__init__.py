"""What each page shows: facts arranged into tables and pictures, in the reader's language."""
