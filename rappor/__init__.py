"""Local differential privacy by RAPPOR: encode, sum, decode, account."""
