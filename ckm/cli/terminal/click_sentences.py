"""What click says of a command line, as messages: its sentences are few, and are known here."""

import re
from functools import cache

import click

from footing.addresses import without_passwords
from footing.messages import Message, Name, mark, said

#: The sentences of click that a user may see; those that hold more words come first.
_SENTENCES = (
    mark("Missing argument {what}. Choose from:\n\t{choices}"),
    mark("Missing option {what}. Choose from:\n\t{choices}"),
    mark("Missing argument {what}."),
    mark("Missing option {what}."),
    mark("Missing parameter: {what}"),
    mark("No such option {option}. Did you mean {close}?"),
    mark("No such option {option}. (Did you mean one of: {close}?)"),
    mark("No such option {option}."),
    mark("Option {option} does not take a value."),
    mark("Option {option} requires an argument."),
    mark("Option {option} requires {number} arguments."),
    mark("Argument {what} takes {number} values."),
    mark("Got unexpected extra argument ({words})"),
    mark("Got unexpected extra arguments ({words})"),
    mark("Could not open file {file}: {reason}"),
    mark("{value} is not a valid integer."),
    mark("{value} is not a valid integer range."),
    mark("{value} is not a valid float."),
    mark("{value} is not a valid float range."),
    mark("{value} is not a valid boolean. Recognized values: {words}"),
    mark("{value} is not in the range {range}."),
    mark("{value} is not one of {words}."),
    mark("File {file} does not exist."),
    mark("File {file} is a directory."),
    mark("File {file} is not readable."),
    mark("Directory {file} does not exist."),
    mark("Directory {file} is a file."),
    mark("Path {file} does not exist."),
    mark("{value} is not {words}."),
)
_HOLE = re.compile(r"\{(\w+)\}")
#: What click adds to the help of an option.
_NOTES = (mark("default: {value}"), mark("env var: {value}"))


def message_of(error: click.ClickException) -> str:
    """Return what an error of click says, as a message where its sentence is known.

    Examples
    --------
    >>> error = click.UsageError("Missing argument 'JOB.toml'.")
    >>> message_of(error).template
    'Missing argument {what}.'
    """
    words = error.message
    if isinstance(error, click.BadParameter) and not isinstance(error, click.MissingParameter):
        problem = words if isinstance(words, Message) else in_data(words)
        hint = error.param_hint
        if hint is None and error.param is not None:
            hint = error.param.get_error_hint(error.ctx)
        if not hint:
            return Message("Invalid value: {problem}", problem=said(problem))
        names = hint if isinstance(hint, str) else " / ".join(map(repr, hint))
        return Message(
            "Invalid value for {what}: {problem}", what=Name(names), problem=said(problem)
        )
    return words if isinstance(words, Message) else in_data(error.format_message().strip())


def note_of(text: str) -> str:
    """Return a note of click beside the help of an option."""
    return _found(text, _NOTES)


def in_data(text: str) -> str:
    """Return a sentence of click with what stands in its holes; others as they are."""
    return _found(without_passwords(text), _SENTENCES)


def _found(text: str, sentences: tuple[str, ...]) -> str:
    for sentence in sentences:
        if match := _pattern(sentence).fullmatch(text):
            return Message(
                sentence, **{hole: Name(word) for hole, word in match.groupdict().items()}
            )
    return text


@cache
def _pattern(sentence: str) -> re.Pattern[str]:
    literals, holes = _HOLE.split(sentence)[::2], _HOLE.findall(sentence)
    first, *others = map(re.escape, literals)
    groups = (f"(?P<{hole}>.+?){after}" for hole, after in zip(holes, others, strict=True))
    return re.compile(first + "".join(groups), re.DOTALL)
