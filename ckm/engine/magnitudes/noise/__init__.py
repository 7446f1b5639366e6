"""The program's own noise on amounts."""
