"""What Spark could not do, in words of ours: its own texts quote records."""

import re

from footing.messages import Message, Name, Shape
from tables.errors import RequestError, SourceError, TablesError
from tables.spark.types import RESERVED

_UNREACHED = "AccessDenied|AccessControlE|Permission denied|Mkdirs failed|ConnectE|not a dir"


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
    elif re.search(_UNREACHED, text):
        what = Message("or the place of its tables cannot be reached or used by Spark")
        hint = Message("look at names, rights and the network")
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
    if "PATH_ALREADY_EXISTS" in text:
        return SourceError(
            Message("There is something where the table is to be written."),
            hint=Message("write to a folder that is not there yet"),
        )
    if re.search("PATH_NOT_FOUND|UNABLE_TO_INFER_SCHEMA|UnknownStoreException", text):
        hint = Message("look at the spelling of the path, and of the place of its tables")
        return SourceError(Message("No file matches {label!r}.", label=Name(label)), hint=hint)
    if "No module named" in text:
        return SourceError(
            Message("The workers of Spark have no Python with this program."),
            hint=Message(
                "install the same version there: spark.pyspark.python names their Python"
            ),
        )
    if re.search("No FileSystem for scheme|ClassNotFoundException", text):
        return SourceError(
            Message(
                "Spark has no connector for {label!r}, or for the place of its tables.",
                label=Name(label),
            ),
            hint=Message(
                "put hadoop-aws or hadoop-azure, of its Hadoop's version, on its path"
            ),
        )
    return None
