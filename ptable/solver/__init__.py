"""From a specification to noise probabilities: maximum entropy, by rows."""
