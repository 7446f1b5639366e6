"""What an intruder rebuilds from many published counts together."""
