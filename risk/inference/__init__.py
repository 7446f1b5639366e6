"""What published counts tell of original ones: posteriors, intervals and bounds."""
