"""How the gradient of each record follows from what went in and the gradient of what came out."""
