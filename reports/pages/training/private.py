"""What pages of private training share: samplers, neighbours and accounts in words."""

from collections.abc import Container, Mapping

from reports.catalogues.training import ACCOUNTS, ADJACENCIES, SAMPLINGS, UNITS
from reports.catalogues.wording import Meaning
from reports.i18n.languages import Words


def sampler(words: Words, name: str) -> str:
    """Say how batches are drawn."""
    return words.say(SAMPLINGS[name])


def neighbours(words: Words, name: str) -> str:
    """Say what the neighbours are."""
    return words.say(ADJACENCIES[name])


def scheme(words: Words, sampling: str, adjacency: str) -> str:
    """Say both, as they have to stand beside every epsilon."""
    if not sampling:
        return neighbours(words, adjacency)
    return words.say(
        "%(batches)s, %(neighbours)s",
        batches=sampler(words, sampling),
        neighbours=neighbours(words, adjacency),
    )


def account(words: Words, name: str) -> str:
    """Say how an epsilon was counted; a name of others stays as it is."""
    method, comma, rest = name.partition(", ")
    text = words.say(ACCOUNTS[method]) if method in ACCOUNTS else method
    return f"{text}{comma}{rest}"


def unit_of(words: Words, name: str) -> str:
    """Say who is protected; a unit of the office stays as it is."""
    return words.say(UNITS[name]) if name in UNITS else name


def delta(words: Words, value: float) -> str:
    """Write a delta; powers of ten without a factor."""
    text = words.numbers.tiny(value)
    start = words.numbers.tiny(1e-5).partition(" × ")[0]
    return text.removeprefix(f"{start} × ")


def epsilon(words: Words, value: float | None) -> str:
    """Write an epsilon; None is infinite."""
    return "\N{INFINITY}" if value is None else words.numbers.amount(value)


def meanings(
    words: Words, catalogue: Mapping[str, Meaning], used: Container[str]
) -> list[tuple[str, str]]:
    """Give the name and the meaning of what is used, in the order of the catalogue."""
    entries = (meaning for key, meaning in catalogue.items() if key in used)
    return [(words.say(one.name), words.say(one.meaning)) for one in entries]
