"""Answers of Tumult Analytics to the questions of bench.dp_peers, a line of JSON for each.

Run by an interpreter that has tmlt.analytics, and Java: file, epsilon, runs, and perhaps names
of questions.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from typing import Any

from pyspark.sql import SparkSession
from tmlt.analytics import AddOneRow, KeySet, PureDPBudget, QueryBuilder, Session

FEW = 200


def questions() -> dict[str, tuple[str, list[Any]]]:
    """Give the queries of each question: of all members, or of few."""
    levels = KeySet.from_dict({"level": [f"level-{n}" for n in range(1, 10)]})
    query = QueryBuilder("members")
    few = QueryBuilder("few")

    def quantile(builder: Any, column: str, at: float, high: float) -> Any:
        return builder.quantile(column, quantile=at, low=0, high=high)

    return {
        "count": ("members", [query.count()]),
        "counts by level": ("members", [query.groupby(levels).count()]),
        "mean age": ("members", [query.average("age", low=0, high=120)]),
        "mean of skewed books": ("members", [query.average("books", low=0, high=1_000)]),
        "sums of books by level": (
            "members",
            [query.groupby(levels).sum("books", low=0, high=1_000)],
        ),
        "quartiles of age": (
            "members",
            [quantile(query, "age", at, 120) for at in (0.25, 0.5, 0.75)],
        ),
        "quantiles of amounts": (
            "members",
            [quantile(query, "amount", at, 1e7) for at in (0.1, 0.25, 0.5, 0.75, 0.9)],
        ),
        "median of few amounts": ("few", [quantile(few, "amount", 0.5, 1e7)]),
    }


def main() -> None:
    """Ask each question so many times, its epsilon split over its queries."""
    file, epsilon, runs = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
    # Tumult keeps tables of its own there, and leaves them.
    warehouse = tempfile.TemporaryDirectory()
    builder = SparkSession.builder.master("local[2]")
    spark = builder.config("spark.sql.warehouse.dir", warehouse.name).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    frame = spark.read.parquet(file)
    frames = {"members": frame, "few": frame.filter(f"id < {FEW}")}
    asked = questions()
    for name in sys.argv[4:] or asked:
        source, queries = asked[name]
        session = Session.from_dataframe(
            privacy_budget=PureDPBudget(epsilon * runs * 2),
            source_id=source,
            dataframe=frames[source].drop("id"),
            protected_change=AddOneRow(),
        )
        started, answers = time.perf_counter(), []
        for _ in range(runs):
            answer: list[float] = []
            for query in queries:
                found = session.evaluate(query, PureDPBudget(epsilon / len(queries))).toPandas()
                if "level" in found:
                    found = found.sort_values("level")
                answer += [float(value) for value in found[found.columns[-1]]]
            answers.append(answer)
        seconds = (time.perf_counter() - started) / runs
        print(json.dumps({"name": name, "answers": answers, "cpu": seconds}), flush=True)
    spark.stop()
    warehouse.cleanup()


main()
