"""Messages among facts, which JSON keeps with their templates and values."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from footing.messages import Message


class KnownMessages:
    """The messages of a file, by their English.

    Examples
    --------
    >>> from footing.messages import Message
    >>> messages = KnownMessages()
    >>> messages.as_texts({"warnings": [Message("all {n} cells", n=3).to_dict()]})
    {'warnings': ['all 3 cells']}
    >>> messages.in_facts(("all 3 cells", "others"))[0].template
    'all {n} cells'
    """

    def __init__(self) -> None:
        self._messages: dict[str, Message] = {}

    def as_texts(self, content: Any) -> Any:
        """Put the English of each message in the place of its data, and keep the message."""
        if isinstance(content, list):
            return [self.as_texts(one) for one in content]
        if not isinstance(content, dict):
            return content
        if content.keys() == {"message", "template", "values"}:
            message = Message.from_dict(content)
            self._messages[message] = message
            return str.__str__(message)
        return {name: self.as_texts(value) for name, value in content.items()}

    def in_facts(self, facts: Any) -> Any:
        """Put the messages in the place of their English."""
        if isinstance(facts, str):
            return self._messages.get(facts, facts)
        if isinstance(facts, tuple):
            return tuple(map(self.in_facts, facts))
        if isinstance(facts, Mapping):
            return {name: self.in_facts(value) for name, value in facts.items()}
        if is_dataclass(facts) and not isinstance(facts, type):
            changes = {
                one.name: self.in_facts(getattr(facts, one.name)) for one in fields(facts)
            }
            return replace(facts, **changes)
        return facts
