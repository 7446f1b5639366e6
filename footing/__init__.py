"""What every package stands on: errors that explain themselves, files, checks of numbers.

It holds no method and knows no data; it imports the standard library alone (ADR 16).
"""

from footing.errors import ExplainedError
from footing.files import new_file, require_private, write_whole

__all__ = ["ExplainedError", "new_file", "require_private", "write_whole"]
