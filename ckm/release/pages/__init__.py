"""The pages of a release, made, made again, and searched for what they must not hold."""
