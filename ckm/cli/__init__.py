"""The command line. Everything slow is imported by the verb that needs it."""

from ckm.cli.app import app

__all__ = ["app", "main"]


def main() -> None:
    """Run the command line and end the program with an exit code of its own."""
    app()
