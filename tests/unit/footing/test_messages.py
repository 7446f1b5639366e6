"""Messages are made from data: what may stand in them, and how other languages say them."""

import ast
import copy
import datetime as dt
import enum
import json
import pickle
import warnings
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from footing.addresses import Address
from footing.errors import ExplainedError
from footing.messages import (
    Argument,
    Enumeration,
    Message,
    Name,
    Shape,
    Text,
    joined,
    named,
    said,
    text_of,
)

FRENCH = {
    "No {what} {name!r} in {file!r}.": "{file!r} n'a pas de {what} {name!r}.",
    "column": "colonne",
    "at most {most:,} or {share:.1%}": "au plus {most:,} ou {share:.1%}",
    "use p={p:g}": "prendre p={p:g}",
    " or ": " ou ",
    "{names!r} or nothing": "{names!r} ou rien",
}


class Kind(enum.StrEnum):
    SUM = "sum"


def french(message):
    signs = str.maketrans({",": " ", ".": ","})
    return message.in_words(
        FRENCH.get, number=lambda text: text.translate(signs), text=lambda text: text.upper()
    )


def test_a_message_is_its_english_text_and_says_another_language_from_its_values():
    message = Message(
        "No {what} {name!r} in {file!r}.",
        what=Message("column"),
        name=Name("dep"),
        file=Path("a.csv"),
    )
    assert message == "No column 'dep' in 'a.csv'."
    assert french(message) == "'a.csv' n'a pas de colonne 'dep'."
    assert french(joined("; ", [message, "and more"])).endswith("; AND MORE")
    assert Message("unheard of").in_words(FRENCH.get) == "unheard of"


def test_numbers_have_the_signs_of_the_language_but_for_settings():
    message = Message("at most {most:,} or {share:.1%}", most=1500, share=np.float64(0.125))
    assert message == "at most 1,500 or 12.5%"
    assert french(message) == "au plus 1 500 ou 12,5%"
    assert french(Message("use p={p:g}", p=0.25)) == "prendre p=0.25"
    assert french(Message("{x}, {y!r}", x=Decimal("0.5"), y=Argument(0.5))) == "0,5, 0,5"


def test_a_list_is_written_in_a_line():
    names = Name.each(["a", "b"])
    assert Message("{names!r} or nothing", names=names) == "'a', 'b' or nothing"
    assert french(Message("{names!r} or nothing", names=names)) == "'a', 'b' ou rien"
    assert french(Message("{names}", names=Enumeration(" or ", names))) == "a ou b"


@pytest.mark.parametrize(
    "value",
    ["4711", np.str_("4711"), b"4711", dt.date(1947, 11, 4), {"4711"}, object(), ["a", 1]],
)
def test_what_may_be_a_records_value_stops_a_test_and_is_masked_in_production(value):
    with pytest.warns(RuntimeWarning, match="of no kind"):
        message = Message("The value is {value}.", value=value)
    assert "4711" not in message
    assert "1947" not in message
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning, match="of no kind"):
            Message("The value is {value!r}.", value=value)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("Anna 1947", "Aaaa 9999"),
        (3.25, "float"),
        (np.dtype("int64"), "int64"),
        ((2, 3), "(2, 3)"),
        (str, "str"),
        ("x" * 40, "a" * 24 + "…"),
        ({"Anna": 1}, "dict"),
        (("Anna", 1), "tuple"),
        ("1,234.5", "9,999.9"),
        ("Müller-Lüdenscheidt, Eva-Maria", "Aaaaaa-Aaaaaaaaaaaa, Aaa…"),
        ("1\u00a0000", "9U+00A0999"),
        ("\t7\n", "U+00099U+000A"),
        ("\u0661\u4e2d", "9a"),
        ("€ 5", "€ 9"),
    ],
)
def test_a_shape_tells_no_value(value, shown):
    assert Message("{value}", value=Shape(value)) == shown


@pytest.mark.parametrize("kind", [Name, Address, Argument, Path, Text])
def test_no_kind_shows_a_password(kind):
    address = "postgresql://me:hunter2@host/db"
    for template in ("{value!r}", "There is no '{value}'."):
        assert "hunter2" not in Message(template, value=kind(address))
        assert "hunter2" not in french(Message(template, value=kind(address)))


def test_words_of_elsewhere_mask_what_they_quote_and_keep_the_rest():
    words = Text("The file 'postgresql://me:hunter2@h/d' has 'a' = 1")
    assert Message("{words}", words=words) == "The file 'postgresql://me@h/d' has 'a' = 1"
    line = 'arrow::write_parquet(haven::read_sas("x.sas7bdat"), "x.parquet")'
    assert Message("{line}", line=Name(line)) == line
    assert "hunter2" not in Message("{name}", name=Name("me:hun'hunter2@h"))


def test_enumerations_and_nothing_are_written_as_they_are():
    assert Message("{kind} {kind!s} {none}", kind=Kind.SUM, none=None) == "sum sum None"


def test_an_argument_is_written_as_python_does_and_cut():
    assert Message("{value!r} {value!r:.5}", value=Argument([1, 2, 3])) == "[1, 2, 3] [1, 2"
    long = Argument("postgresql://me:hunter2@host/" + "x" * 99)
    assert "hunter2" not in Message("{value!r:.40}", value=long)


def again(error):
    return pickle.loads(pickle.dumps(error))  # noqa: S301 (our own)


def test_a_message_goes_through_errors_warnings_processes_and_copies():
    message = Message("No {what} {name!r} in {file!r}.", what=Message("column"),
                      name=Name("a"), file=Path("f"))  # fmt: skip
    error = ExplainedError(message, hint=Message("column"), at=("table", 0))
    for kept in (again(error).problem, copy.deepcopy(message)):
        assert kept == message
        assert french(kept) == french(message)
    assert str(error) == "No column 'a' in 'f'.\n  hint: column"
    assert error.at == ("table", 0)
    with pytest.warns(UserWarning, match="No column") as caught:
        warnings.warn(message, UserWarning, stacklevel=1)
    assert french(text_of(caught[0].message)) == french(message)
    assert type(str(caught[0].message)) is str  # others pack texts, and know no other kind


def test_a_hint_that_is_added_keeps_the_data_of_both():
    error = ExplainedError(Message("column"), hint=Message("use p={p:g}", p=0.5), at=("a",))
    error.add_hint(hint=Message("column"))
    assert error.hint == "column; use p=0.5"
    assert french(error.hint) == "colonne; prendre p=0.5"
    assert error.at == ("a",)


def test_words_may_be_messages_or_texts_of_elsewhere():
    assert isinstance(named("epsilon"), Name)
    assert french(Message("{x}", x=named(Message("column")))) == "colonne"
    assert french(Message("{x}", x=said("Permission denied"))) == "PERMISSION DENIED"


def test_braces_are_those_of_format_where_there_are_values():
    assert Message("a {b}") == "a {b}"
    assert Message("{{a}} {b}", b=1) == "{a} 1"


def is_text(node):
    """Whether an expression is a text in words, and no message."""
    match node:
        case ast.Constant(value=str(text)):
            return len(text) > 3
        case ast.JoinedStr():
            return True
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            return is_text(left) or is_text(right)
        case ast.IfExp(body=body, orelse=other):
            return is_text(body) or is_text(other)
    return False


def texts_shown(call):
    """Give what a call shows of an error or a warning, where it is a text."""
    name = getattr(call.func, "id", getattr(call.func, "attr", ""))
    holder = getattr(getattr(call.func, "value", None), "id", "")
    shown = [one.value for one in call.keywords if one.arg in {"hint", "problem"}]
    if name == "warn" and holder == "terminal":  # the first is a code
        shown += call.args[1:2]
    elif name in {"ClientError", "_BodyError"} or (holder, name) == ("logger", "error"):
        pass  # a code, which the service has words for; an event
    elif name.endswith(("Error", "Warning")) or name in {"error", "warn", "fail", "warning"}:
        shown += call.args[:1]
    return [one for one in shown if is_text(one)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "package",
    [
        *("footing", "dp", "ptable", "risk", "rappor", "synth", "dpsgd", "reports", "tables"),
        "ckm",
    ],
)
def test_no_error_or_warning_is_a_text(package):
    root = Path(__file__).parents[3]
    files = [root / "footing" / "messages.py"]  # what it warns of is for who writes a message
    for file in {*(root / package).rglob("*.py")} - {*files}:
        calls = (n for n in ast.walk(ast.parse(file.read_text())) if isinstance(n, ast.Call))
        texts = [ast.unparse(text) for call in calls for text in texts_shown(call)]
        assert not texts, (file.name, texts)


def test_a_message_goes_through_json():
    message = Message(
        "No {what} {name!r} in {file!r}, {count:,} of {share:.1%}: {value!r}; {names}, {more}.",
        what=Message("column"),
        name=Name("a"),
        file=Path("f"),
        count=np.int64(1500),
        share=0.125,
        value=Argument(["x"]),
        names=Enumeration(" or ", Name.each("ab")),
        more=Text("elsewhere"),
    )
    data = json.loads(json.dumps(message.to_dict()))
    assert data["message"] == message
    assert data["values"]["name"] == "a"
    again = Message.from_dict(data)
    assert again == message
    assert french(again) == french(message)
    assert "hunter2" not in json.dumps(Message("{x}", x=Name("a://b:hunter2@c")).to_dict())
