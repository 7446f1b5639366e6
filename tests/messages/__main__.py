"""``python -m tests.messages``."""

from tests.messages import main

main()
