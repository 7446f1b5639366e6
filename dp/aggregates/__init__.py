"""Tables with noise: what is asked, what it costs, what is found."""
