"""What Spark could not do, in words of ours: its own texts quote records."""

import re

from footing.messages import Message, Name, Shape
from tables.errors import RequestError, SourceError, TablesError
from tables.spark.types import RESERVED


def explain(error: BaseException, label: str) -> BaseException:
    """Say what Spark could not do, without its text."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    if isinstance(error, SourceError) or not isinstance(
        error, (PySparkException, Py4JError, OSError)
    ):
        return error
    text = str(error)
    if (explanation := _of_places(text, label)) is not None:
        return explanation
    if "OutOfMemory" in text or "maxResultSize" in text:
        return SourceError(
            Message("The work does not fit into Spark's memory."),
            hint=Message(
                "raise spark.driver.memory and spark.driver.maxResultSize in "
                "spark-defaults.conf, or ask for fewer dimensions"
            ),
        )
    hint = Message('try engine = "duckdb" on a part of the files')
    if re.search(r"CAST_OVERFLOW|OUT_OF_RANGE|ARITHMETIC_OVERFLOW|CAST_INVALID_INPUT", text):
        what = Message("holds values that do not fit their column's type")
    elif "INVALID_UTF8_STRING" in text:
        what = Message("is damaged or not of its format")
    else:
        what = Message("cannot be tabulated by Spark ({name})", name=Shape(type(error)))
    return SourceError(
        Message("The source {label!r} {what}.", label=Name(label), what=what), hint=hint
    )


def _of_places(text: str, label: str) -> TablesError | None:
    """Tell what is wrong with a place that workers read or write, or with a word in it."""
    if RESERVED in text:
        return RequestError(
            Message("A category is called like the totals, or like missing categories."),
            hint=Message("choose other names with total_label and missing_label"),
        )
    for pattern, problem, hint in _reasons(label):
        if re.search(pattern, text):
            return SourceError(problem, hint=hint)
    return None


def _reasons(label: str) -> tuple[tuple[str, Message, Message], ...]:
    """Return what a text of Spark may hold, why a place cannot be used then, and a way out."""
    name = Name(label)
    return (
        (
            "PATH_ALREADY_EXISTS",
            Message("There is something where the table is to be written."),
            Message("write to a folder that is not there yet"),
        ),
        (
            "PATH_NOT_FOUND|UNABLE_TO_INFER_SCHEMA|UnknownStoreException",
            Message("No file matches {label!r}.", label=name),
            Message("look at the spelling of the path, and of the place of its tables"),
        ),
        (
            "AccessDenied|AccessControlE|Permission denied|Forbidden|AuthorizationE",
            Message(
                "Spark has no right to read {label!r}, or to write the place of its tables.",
                label=name,
            ),
            Message("ask who owns it, or give Spark another key"),
        ),
        (
            "NoAuthWithAWS|NoAwsCredentials|nable to load .*credentials|No AWS Credentials",
            Message(
                "Spark has no key for {label!r}, or for the place of its tables.", label=name
            ),
            Message("it looks in the environment, as AWS_…, and in spark-defaults.conf"),
        ),
        (
            "UnknownHostE|UnresolvedAddress",
            Message(
                "Nobody knows the server of {label!r}, or that of the place of its tables.",
                label=name,
            ),
            Message("look at the spelling, and at the endpoint in spark-defaults.conf"),
        ),
        (
            "ConnectE|Connection refused|SocketTimeoutE|ConnectTimeout|NoRouteToHost",
            Message(
                "The server of {label!r}, or that of the place of its tables, does not answer.",
                label=name,
            ),
            Message("look at the network, and at the endpoint in spark-defaults.conf"),
        ),
        (
            "Mkdirs failed|not a dir|Read-only file system|ParentNotDirectory",
            Message("No folder can be made at the place of the tables."),
            Message("look at names and rights there"),
        ),
        (
            "HiveMetaStoreClient|HiveException|MetaException",
            Message("The catalog of Spark does not answer for {label!r}.", label=name),
            Message("look at hive.metastore.uris, and whether the metastore is up"),
        ),
        (
            "TABLE_OR_VIEW_NOT_FOUND|SCHEMA_NOT_FOUND|NoSuchTable|NoSuchDatabase",
            Message("The catalog of Spark has no table {label!r}.", label=name),
            Message("write it as SHOW TABLES names it: catalog://database.table"),
        ),
        (
            "No module named",
            Message("The workers of Spark have no Python with this program."),
            Message("install the same version there: spark.pyspark.python names their Python"),
        ),
        (
            "No FileSystem for scheme|ClassNotFoundException",
            Message(
                "Spark has no connector for {label!r}, or for the place of its tables.",
                label=name,
            ),
            Message("put hadoop-aws or hadoop-azure, of its Hadoop's version, on its path"),
        ),
    )
