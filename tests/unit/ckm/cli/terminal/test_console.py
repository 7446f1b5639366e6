"""What the command line shows of a warning: the message everywhere, the data on a terminal."""

from __future__ import annotations

import warnings

import pytest

from ckm.cli.terminal.console import Terminal
from tables import DataWarning


@pytest.mark.parametrize(
    ("style", "is_terminal", "is_shown"),
    [("text", True, True), ("text", False, False), ("json", True, False)],
)
def test_what_of_the_data_is_warned_of_is_shown_on_a_terminal_alone(
    style, is_terminal, is_shown, monkeypatch, capsys
):
    monkeypatch.setattr("ckm.cli.terminal.console._is_terminal", lambda _: is_terminal)
    terminal = Terminal(style)
    with terminal.listening():
        warnings.warn(
            DataWarning("Two texts look alike.", inside="U+00E9 / U+0065"), stacklevel=1
        )
    shown = capsys.readouterr().err
    assert "Two texts look alike." in shown
    assert ("U+00E9 / U+0065" in shown) == is_shown
