"""The words that files say of every table, in English and in French.

Batch jobs and services say the same, so that the same table is the same file.
"""

from collections.abc import Mapping

from footing.data_files import read_data

LANGUAGES = ("en", "fr")
MISSING = "(missing)"  # the code of missing categories, where a job names no other


def in_both(entries: Mapping[str, Mapping[str, str]]) -> dict[str, tuple[str, str]]:
    """Return the words of entries: key → English, French."""
    return {key: (entry["en"], entry["fr"]) for key, entry in entries.items()}


#: Key → English, French.
WORDS = in_both(read_data("ckm.formats", "words.toml"))


def say(key: str, language: str) -> str:
    """Return words in a language, in English where they are not there in it."""
    return WORDS[key][LANGUAGES.index(language[:2]) if language[:2] in LANGUAGES else 0]


def category_labels(labels: Mapping[str, str]) -> dict[str, str]:
    """Return the labels of a column's categories; none where they only repeat the codes."""
    has_labels = any(label != category for category, label in labels.items())
    return dict(labels) if has_labels else {}
