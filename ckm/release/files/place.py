"""What goes with a place that workers write tables to, and what of it needs cells here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckm.config.problems import heading
from ckm.errors import ConfigError
from footing.messages import Enumeration, Message, Name, joined, named

if TYPE_CHECKING:
    from ckm.config.job.job import Job


def require_place(job: Job) -> None:
    """Refuse what does not go with tables on a store; each has a reason of its own."""
    output, problems = job.output, []
    if job.data.engine != "spark":
        problems.append(
            Message(
                'With engine = "{engine}" there are no workers that could write there.',
                engine=Name(job.data.engine),
            )
        )
    if output.stream:
        problems.append(
            Message("stream = true computes tables part by part on this machine alone.")
        )
    problems += [
        Message(
            "Workers write Parquet alone, and the format {kind!r} is asked for.",
            kind=Name(kind),
        )
        for kind in output.formats
        if kind != "parquet"
    ]
    if problems:
        raise ConfigError(
            Message(
                "place under [output] cannot be used: {problems}",
                problems=joined(" ", problems),
            ),
            hint=Message('write formats = ["parquet"], leave stream out, or leave place out'),
        )


def features_with_cells(job: Job) -> list[str]:
    """Name what needs the cells of all tables on this machine; with none they stay there."""
    output = job.output
    sections = ("ledger", "suppression", "rounding", "categories")
    needs: dict[str, bool] = {f"[{name}]": bool(getattr(job, name)) for name in sections}
    needs |= {
        "[report]": bool(job.report.model_fields_set),
        "additive = true": output.additive,
        "publish_noise = true": output.publish_noise,
        Message("a code tree"): not all(isinstance(h, list) for h in job.hierarchies.values()),
    }
    needs |= {heading(t.place)[:-1]: t.request.needs_whole_table for t in job.table}
    return [what for what, is_there in needs.items() if is_there]


def too_many_cells(table: str, *, most: int, features: list[str]) -> ConfigError:
    """Return the error for a table that has more cells than this machine holds."""
    return ConfigError(
        Message(
            "Table {table!r} has more than {most:,} cells, and this machine would have to hold "
            "all of them for {features}.",
            table=Name(table),
            most=most,
            features=Enumeration(" and ", map(named, features)),
        ),
        hint=Message("ask for fewer dimensions, or leave that out: workers write counts alone"),
    )
