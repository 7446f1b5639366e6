"""``ckm synth``: synthetic microdata."""
