"""What is shown of an address never holds a password, however it is written."""

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from footing import ExplainedError
from footing.addresses import Address, without_passwords

#: Ways to write an address with a password in it: PW stands for the password.
SYNTAXES = [
    "postgresql://u:PW@h/db",
    "postgresql://u:PW@h:5432/db?sslmode=require",
    "POSTGRES://u:PW@[::1]:5432/db",
    "postgresql://:PW@h1:1,h2:2/db",
    "postgresql://u@srv:PW@127.0.0.1:1/db",
    "postgresql://u%40srv:PW@h/db",
    "postgresql://u%3APW@h/db",
    "postgresql://u@srv:PW",
    "postgresql://u@srv:PW/db",
    "postgresql://u:PW",
    "postgresql://h/u:PW@db",
    "postgresql:/u:PW@h/db",
    "postgresql:u:PW@h/db",
    "postgres:///db?password=PW",
    "postgresql://h/db?user=u&password=PW#frag",
    "postgresql://h/db?pass%77ord=PW",
    "postgresql://h/db;password=PW",
    "postgresql://h/db%3Bpassword%3DPW",
    "postgresql://u@h/db#PW",
    "host=h user=u password=PW",
    "host=h user=u password = PW",
    "host = h password = 'PW' dbname = x",
    "password=PW host=h",
    "password='a b PW' host=h",
    "host=h user=u passwd=PW",
    "host=h user=u pwd=PW",
    "host=h password=two words PW",
    "service=s sslpassword=PW",
    "dbname=postgresql://u:PW@h/db",
    "jdbc:postgresql://h/db?user=u&password=PW",
    "jdbc:postgresql://u:PW@h/db",
    "jdbc:sqlserver://h:1433;user=u;password=PW",
    "jdbc:oracle:thin:u/PW@h:1521/db",
    "Driver={PostgreSQL};Server=h;Uid=u;Pwd=PW",
    "odbc:Driver=x;PWD=PW",
    "s3://key:PW@bucket/a.parquet",
    "s3://bucket/a.parquet?secret_key=PW",
    "s3a://key:PW@bucket/a",
    "hdfs://nn:8020/a?token=PW",
    "abfss://c:PW@account.dfs.core.windows.net/x",
    "abfss://c@account.dfs.core.windows.net/x?sig=PW",
    "sqlite:///s.db?key=PW",
    "sqlite://u:PW@/s.db",
    "file:s.db?password=PW",
    "spark://u:PW@h:7077",
    "sc://h:15002/;token=PW",
    "k8s://https://u:PW@h:443",
    "https://u:PW@h/a.csv",
    "u:PW@h",
    "u@srv:PW",
    "h:5432:db:u:PW",
    "/mnt/u:PW@h/file.csv",
    "mysql://u:PW@h/db",
    "unknown+x://u:PW@h/db",
    "unknown:/u:PW@h/db",
]
passwords = st.text(min_size=1, max_size=20).map("§{}§".format)


def require_hidden(syntax, password):
    for text in (password, quote(password, safe=""), password.replace("'", "\\'")):
        address = Address(syntax.replace("PW", text))
        for shown in (address.masked, str(address), repr(address), f"{address}"):
            assert "§" not in shown
            assert "%C2%A7" not in shown


@pytest.mark.slow
@given(st.sampled_from(SYNTAXES), passwords)
def test_a_password_is_never_shown(syntax, password):
    require_hidden(syntax, password)


@pytest.mark.parametrize(
    "password",
    ["§hunter2§", "§a@b:c/d?e#f§", "§ ' \" \\ %41 \n§", "§=;&,§", "§1234§", "§[::]§"],
)
def test_an_odd_password_is_shown_in_no_syntax(password):
    for syntax in SYNTAXES:
        require_hidden(syntax, password)


@pytest.mark.parametrize("syntax", SYNTAXES)
@pytest.mark.parametrize("password", ["hunter2xyz", "0123456789", "Zz-_.~9aaa"])
def test_a_password_of_plain_letters_is_found_and_no_message_shows_it(syntax, password):
    text = syntax.replace("PW", password)
    address = Address(text)
    assert password not in address.masked
    if "#" not in text and "?key" not in text:
        assert address.has_password
        assert password not in str(
            ExplainedError(f"There is no {text!r}.", hint=f"not {text!r}")
        )


@pytest.mark.parametrize(
    "text",
    [
        *("people.csv", "data/year=2020/part.parquet", "data:2024.csv", "a@b.csv", "-", "~/x"),
        *("C:\\data\\x.csv", "d [v1]/x.csv", "2024-01-01T10:00:00.csv", "yarn", "local[*]"),
        *("postgresql://me@host:5432/db", "postgresql:///db", "postgresql://h1:1,h2:2/db"),
        *("postgresql://[::1]:5432/db", "postgresql://me%40srv@host/my%20db"),
        *("s3://bucket/a/*.csv", "s3://b/year=2020/x@y.parquet", "hdfs://nn:8020/a b/x"),
        *("abfss://c@account.dfs.core.windows.net/x", "gs://b/[ab].csv"),
        *("sqlite:///s.sqlite", "sqlite:////abs/s.db", "spark://h:7077", "sc://h:15002"),
        *("k8s://https://h:443", "host=h dbname=x", "file:///a/b.csv"),
    ],
)
def test_what_is_understood_and_holds_no_password_is_shown_whole(text):
    assert Address(text).masked == text
    assert not Address(text).has_password
    message = f"There is no {text!r}, nor the table's other one."
    assert without_passwords(message) == message


@pytest.mark.parametrize(
    ("uri", "shown"),
    [
        ("host=h dbname=x PASSWORD = hunter2", "host=h dbname=x"),
        ("POSTGRES://me:hunter2@host/db?x", "POSTGRES://me@host/db"),
        (
            "postgresql://me:hunter2@host:5432/db?sslpassword=hunter2",
            "postgresql://me@host:5432/db",
        ),
        ("postgresql://me:hun/te?r#2@@host/db", "postgresql://me@host/db"),
        ("postgresql://:hunter2@host/db#hunter2", "postgresql://@host/db"),
        ("s3://key:hunter2@bucket/a/*.csv?secret_key=hunter2", "s3://key@bucket/a/*.csv"),
    ],
)
def test_an_address_is_shown_without_password_and_options(uri, shown):
    assert Address(uri).masked == shown
    assert Address(uri).has_password
    assert not Address(shown).has_password
    assert not Address("postgresql://me@host:5432/db?host=/tmp").has_password


@given(st.text(max_size=60))
def test_any_text_is_shown_whole_in_part_or_not_at_all(text):
    address = Address(text)
    assert address.masked == text or "…" in address.masked or len(address.masked) < len(text)
    assert str(ExplainedError(text)).count("\n") <= text.count("\n")


def test_a_key_in_a_message_is_not_repeated():
    assert "0123" not in str(ExplainedError(f"There is no 'hex:{'0123456789abcdef' * 4}'."))
    said = "The filter 'token = 3 and \"secret_flag\" = 1' has no column 'token'."
    assert without_passwords(said) == said
