"""What pages say, as plain numbers and names."""
