"""What holds for every result and every domain object: nobody can change it on its way."""

from dataclasses import FrozenInstanceError, fields
from typing import Any

import pytest


def require_fixed(result: Any, *, is_positional: bool = False) -> None:
    """Hold that a result keeps what it was built with, and is built by names alone."""
    for name in [field.name for field in fields(result)] + ["no_field_of_this_name"]:
        # a class with slots says TypeError where it does not know the name
        with pytest.raises((FrozenInstanceError, TypeError)):
            setattr(result, name, None)
    assert not hasattr(result, "__dict__"), "attributes of any name would fit in"
    values = [getattr(result, field.name) for field in fields(result) if field.init]
    if not is_positional:
        with pytest.raises(TypeError, match="positional"):
            type(result)(*values)
