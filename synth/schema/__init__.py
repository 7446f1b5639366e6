"""What is declared of the data before anybody looks at them."""
