"""``ckm job`` drafts a job from data; ``ckm schema`` says what files of settings may hold."""

import json
import os
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ckm.cli.terminal.click_group import PATH, Command, Group, common_options, with_terminal
from ckm.cli.terminal.console import Terminal
from ckm.cli.terminal.csv_options import csv_options
from ckm.cli.terminal.output import check_output, printable
from ckm.cli.terminal.output_options import may_replace, output_options
from ckm.errors import CheckFailedError, ConfigError
from footing.drafts import PrivateFolder
from footing.files import csv_text, new_file, write_whole
from footing.messages import Message, Name, said
from footing.serialisation import document

if TYPE_CHECKING:
    from ckm.config.draft import JobDraft
    from tables import ReadOptions
    from tables.source.source import Source

_KINDS = {
    "job": "ckm.config.job.job:Job",
    "service": "ckm.config.service.service:Service",
    "designs": "ckm.config.comparison.comparanda:designs_schema",
    "swap": "ckm.config.swap:SwapJob",
    "training": "ckm.config.training:TrainingJob",
    "synth": "ckm.config.sweeps:SweepPlan",
    "dp": "ckm.config.dp_plan:DPPlanFile",
}


@click.group(cls=Group)
def job() -> None:
    """Begin a job file, or pass its cells on."""


@job.command()
@click.argument("data")
@output_options("The job file to write.", ".toml", default="job.toml")  # never the data
@click.option("--table", help="The table of a DuckDB file.")
@csv_options
@click.option(
    "--schema",
    "has_schema",
    is_flag=True,
    help="Also write job.schema.json beside the job, for editors, and the line that names it.",
)
@with_terminal
def init(
    terminal: Terminal,
    /,
    *,
    data: str,
    output: Path,
    table: str | None,
    has_schema: bool,
    reading: "ReadOptions",
) -> None:
    """Draft a job from data: identifier, hierarchies, categories, tables, each with its reason.

    DATA is a file, a glob or a folder of Parquet, CSV or Arrow, a DuckDB file, s3://… or the
    address of a database, without a password. ckm check and ckm release take the draft as it
    is, once keys are drawn where no column tells records apart. What an office has to decide
    is marked.

    Examples
    --------
    ckm job init people.parquet
    ckm keys secret secret.key
    ckm check job.toml
    ckm job init register.duckdb --table persons -o march.toml --schema
    ckm job init people.csv --type zone=text --decimal ,
    """
    from ckm.config.draft import draft_job

    draft = draft_job(
        data,
        output=output.absolute(),
        table=table,
        reading=reading,
        say=terminal.say,
        measure=_measured_limits,
    )
    if has_schema:
        text = _schema_text("job")
        write_whole(output.with_name("job.schema.json"), text, is_private=False)
    head = "#:schema ./job.schema.json\n" if has_schema else ""
    # Its owner alone may read it: it tells of the data.
    write_whole(output, head + draft.text, error=ConfigError, overwrite=may_replace())
    for name, columns in draft.hierarchies.items():
        terminal.step("hierarchy found", f"{name}: {' > '.join(map(printable, columns))}")
    terminal.step("tables drafted", Message("tables: {tables}", tables=Name.each(draft.tables)))
    if draft.unique:
        terminal.step(
            "identifier found",
            Message("identifier: {printable}", printable=said(printable(draft.unique[0]))),
        )
    else:
        _warn_of_identifier(terminal, output)
    _warn_of_shorter_codes(terminal, draft)
    click.echo(str(output))


@click.group(cls=Group)
def service() -> None:
    """Begin a service file, and the map of its areas."""


@service.command("init")
@click.argument("data")
@output_options("The service file to write.", ".toml", default="service.toml")
@click.option("--table", help="The table of a DuckDB file.")
@csv_options
@with_terminal
def service_init(
    terminal: Terminal,
    /,
    *,
    data: str,
    output: Path,
    table: str | None,
    reading: "ReadOptions",
) -> None:
    """Draft a service from data: variables, hierarchies, areas, noise, each with its reason.

    DATA is what ckm job init takes. ckm check and ckm serve take the draft as it is, once keys
    are drawn where no column tells records apart. What an office has to decide is marked.

    Examples
    --------
    ckm service init people.parquet
    ckm keys secret secret.key
    ckm check service.toml
    ckm audit service.toml
    ckm serve service.toml
    """
    from ckm.config.draft import draft_job

    draft = draft_job(
        data,
        output=output.absolute(),
        table=table,
        reading=reading,
        say=terminal.say,
        is_service=True,
    )
    # Its owner alone may read it: it tells of the data.
    write_whole(output, draft.text, error=ConfigError, overwrite=may_replace())
    if not draft.unique:
        _warn_of_identifier(terminal, output)
    _warn_of_shorter_codes(terminal, draft)
    click.echo(str(output))


@service.command("map")
@click.argument("areas", type=PATH, metavar="AREAS.geojson")
@click.option("--code", default="code", help="The property with the code of an area.")
@click.option(
    "--limit-bytes",
    type=click.IntRange(min=1),
    default=300_000,
    help="The most that a drawing may take as it is sent.",
)
@click.option(
    "--inset-distance",
    type=click.FloatRange(min=0),
    default=0.25,
    help="Areas farther from the main land than this share of its size are drawn in boxes "
    "below it; 0: none.",
)
@output_options("The map to write.", ".topojson", default="areas.topojson")
@with_terminal
def service_map(
    terminal: Terminal,
    /,
    *,
    areas: Path,
    code: str,
    limit_bytes: int,
    inset_distance: float,
    output: Path,
) -> None:
    """Simplify the boundaries of areas for the maps of a service's pages.

    AREAS is a file of GeoJSON of the areas of one level, in degrees or in metres. Coarser
    levels are drawn from the same map. What lies between two areas is simplified once for both.
    Areas far from the rest, such as those overseas, are laid out in boxes with a frame.

    Examples
    --------
    ckm service map communes.geojson --code insee -o communes.topojson

    Then, at the variable of areas: map = "communes.topojson"
    """
    from ckm.service.maps.simplification import build_map

    built = build_map(areas, code=code, max_bytes=limit_bytes, inset_distance=inset_distance)
    write_whole(output, built.topology.to_text(), error=ConfigError, overwrite=may_replace())
    before, after = built.n_vertices
    terminal.step(
        "map built",
        Message(
            "{areas} areas; {after} of {before} places are left; a drawing takes {most} "
            "bytes at most, {sent} as it is sent",
            areas=len(built.topology.areas),
            after=after,
            before=before,
            most=built.n_bytes,
            sent=built.n_sent,
        ),
    )
    if built.topology.frames:
        inset = [own for own in built.topology.framed() if own]
        terminal.step(
            "boxes drawn",
            Message(
                "{areas} areas far from the main land are drawn in {boxes} boxes; "
                "--inset-distance says how far that is",
                areas=sum(map(len, inset)),
                boxes=len(inset),
            ),
        )
    if built.too_small:
        terminal.warn(
            "areas too small",
            Message(
                "areas too small to be drawn, or without a polygon: {number}, such as {name}",
                number=len(built.too_small),
                name=Name(built.too_small[0]),
            ),
        )
    click.echo(str(output))


def _warn_of_shorter_codes(terminal: Terminal, draft: "JobDraft") -> None:
    """Say which codes may have lost a zero in a spreadsheet."""
    from ckm.release.files.table_files import lost_zeros_caution

    for column, codes in draft.shorter.items():
        terminal.warn("codes", lost_zeros_caution(column, codes))


def _warn_of_identifier(terminal: Terminal, output: Path) -> None:
    """Say that no column tells records apart, and where the way out stands."""
    terminal.warn(
        "no identifier",
        Message("No column tells records apart: {output} says how", output=Name(output.name)),
    )


def _measured_limits(draft: "JobDraft", source: "Source") -> dict[str, float]:
    """Give the strictest limits that the drafted noise keeps on the drafted tables."""
    from ckm.assessment.drafted_limits import drafted_limits
    from ckm.config.draft import drafted_noise
    from ckm.config.job.report import JobReport
    from ptable import solve

    hashed = [name for name in draft.unique if draft.columns[name].kind in {"text", "integer"}]
    return drafted_limits(
        source,
        draft.requests(),
        ptable=solve(drafted_noise()),
        sensitive=range(1, JobReport().sensitive + 1),
        identifier=next(iter(hashed), ""),
    )


@job.command()
@click.argument("job", type=PATH, metavar="JOB.toml")
@click.option("-o", "--output", type=PATH, required=True, help="The Parquet file to write.")
@click.option("--force", is_flag=True, help="Replace the output if it exists.")
@with_terminal
def cells(
    terminal: Terminal,
    /,
    *,
    job: Path,
    output: Path,
    force: bool,
) -> None:
    """Write the cells of a job, with their keys, for another office to protect.

    The file holds what the tables of the job are made of: true counts, sums of record keys,
    weights and amounts, but no record. It is disclosive, and its owner alone may read it. What
    is printed is the section [data] of a job that takes it.

    Example
    -------
    ckm job cells job.toml -o cells.parquet
    """
    import pyarrow.parquet as pq

    from ckm.config import read_job
    from ckm.release.job_inputs import job_cells

    plan = read_job(job)
    check_output(output, force=force, endings=(".parquet",), inputs=plan.input_files())
    table = job_cells(plan)
    with new_file(output, error=ConfigError, overwrite=force) as draft:
        pq.write_table(table, draft, compression="zstd")
    terminal.step(
        "cells written", Message("disclosive: true counts, for the office that protects them")
    )
    names = table.column_names
    lines = ["[data]", f"path = {json.dumps(output.name)}"]
    lines += [f"cells = {json.dumps(names[: names.index('count')], ensure_ascii=False)}"]
    if "cell_key" in names:
        key_range = int(table.schema.metadata[b"key_range"])
        lines += ['cell_key = "cell_key"', *[f"key_range = {key_range}"] * (key_range < 2**64)]
    lines += [f"weight = {json.dumps(plan.data.weight)}"] * (plan.data.weight in names)
    click.echo("\n".join(lines))


@job.command()
@click.argument("job", type=PATH, metavar="JOB.toml")
@click.option("-o", "--output", type=PATH, required=True, help="The folder to make.")
@click.option(
    "--optimal", "is_optimal", is_flag=True, help="Ask for the optimal method, not the modular."
)
@with_terminal
def argus(terminal: Terminal, /, *, job: Path, output: Path, is_optimal: bool) -> None:
    """Write the tables of a job for suppression as files of tau-ARGUS.

    For each table and each of its counts and sums: the cells with their largest contributions
    (.tab), what the columns are (.rda), hierarchies (.hrc), what is known of cells beforehand
    (.hst), and a batch of the job's rules (.arb). They hold true numbers, and their owner alone
    may read them.

    Example
    -------
    ckm job argus job.toml -o argus/
    """
    from ckm.config import read_job
    from ckm.methods.suppression.argus.write import argus_files

    files = argus_files(read_job(job), is_optimal=is_optimal)
    _write_folder(output, files)
    terminal.step(
        "files of tau-ARGUS written", Message("disclosive: true numbers, for comparison")
    )
    click.echo(str(output))


@job.command("from-argus")
@click.argument("batch", type=PATH, metavar="BATCH.arb")
@click.option("-o", "--output", type=PATH, required=True, help="The folder to make.")
@with_terminal
def from_argus(terminal: Terminal, /, *, batch: Path, output: Path) -> None:
    """Write a job from a batch of tau-ARGUS over a table, with all that the batch opens.

    The folder holds the job, the cells, and trees of codes. What of the batch has no
    counterpart is named, and stands in the first lines of the job. Of a batch of several
    tables, each has a folder with a job of its own: how they are linked is not taken over.

    Example
    -------
    ckm job from-argus sectors.arb -o sectors/
    """
    from ckm.methods.suppression.argus.read import job_of_batch

    conversion = job_of_batch(batch)
    _write_folder(output, conversion.files)
    for text in conversion.left_out:
        terminal.warn(
            "not taken over",
            Message("not taken over: {printable}", printable=said(printable(text))),
        )
    terminal.step("job written", Message("ckm suppress takes it"))
    for name in conversion.files:
        if name.endswith("job.toml"):
            click.echo(str(output / name))


@job.command("audit-pattern")
@click.argument("job", type=PATH, metavar="JOB.toml")
@click.argument("pattern", type=PATH, metavar="PATTERN")
@output_options("A .csv file.")
@with_terminal
def audit_pattern(
    terminal: Terminal, /, *, job: Path, pattern: Path, output: Path | None
) -> None:
    """Audit the cells that another program hides, by the rules of a job for suppression.

    PATTERN has a line for every cell of the job's one table: codes in the order of its
    dimensions, whatever else, and a status. That is what tau-ARGUS writes with WRITETABLE 2
    to 5, and sdcTable as CSV. What is printed follows from true numbers. Where cells are not
    protected as the rules demand, the exit code is 1, and -o writes which they are into a file
    that its owner alone may read.

    Example
    -------
    ckm job audit-pattern job.toml sectors.out.csv
    """
    import numpy as np

    from ckm.config import read_job
    from ckm.methods.suppression.argus.pattern import choice_of_pattern

    plan = read_job(job)
    with terminal.progress() as report_progress:
        choice = choice_of_pattern(plan, pattern, progress=report_progress)
        audits = choice.audits(progress=report_progress)
    rows, failed = [], []
    for system in choice.systems:
        audit = audits[system.measure]
        groups = (system.disclosed, audit.under_protected, audit.exposed)
        status = system.suppression.status[system.is_shown]
        unsafe = int((status == 1).sum()) + len(system.disclosed)
        numbers = (unsafe, int((status > 0).sum()), *map(len, groups))
        rows.append((printable(system.measure), *(f"{n:,}" for n in numbers)))
        failed += [system.cells[cells.astype(int)] for cells in groups]
    headings = ("measure", "unsafe", "hidden", "disclosed", "under-protected", "exposed")
    title = Message("Cells, for inside use only")
    terminal.table(headings, rows, left=("measure",), title=title)
    cells, place = np.unique(np.concatenate(failed)), Message("-o cells.csv names them")
    if cells.size:
        if output is not None:
            places = choice.places(cells)
            text = csv_text((places.columns, *places.rows))
            write_whole(output, text, error=ConfigError, overwrite=may_replace())
            place = Message(
                "{output!r} names them, for inside use only", output=Name(output.name)
            )
        raise CheckFailedError(
            Message(
                "The pattern does not protect {size:,} cells as the rules demand.",
                size=cells.size,
            ),
            hint=Message("{named}; ckm suppress chooses cells that do", named=place),
        )
    terminal.step(
        "pattern audited", Message("every unsafe cell is protected as the rules demand")
    )


def _write_folder(folder: Path, files: Mapping[str, str]) -> None:
    """Make a folder of files that their owner alone may read."""
    if os.path.lexists(folder):
        raise ConfigError(
            Message("{folder!r} exists.", folder=Name(folder.name)),
            hint=Message("choose another folder"),
        )
    with PrivateFolder(folder.parent, f".{folder.name[:40]}.partial-") as private:
        draft = private / folder.name
        draft.mkdir(mode=0o700)
        for name, text in files.items():
            (draft / name).parent.mkdir(mode=0o700, exist_ok=True)
            write_whole(draft / name, text, error=ConfigError)
        draft.rename(folder)


def _schema_text(kind: str) -> str:
    from ckm.config.section import schema_of

    module, _, name = _KINDS[kind].partition(":")
    kind_of_file = getattr(import_module(module), name)
    schema = kind_of_file() if kind == "designs" else schema_of(kind_of_file)
    return document(schema, indent=2)


@click.command(cls=Command)
@click.argument("kind", type=click.Choice(list(_KINDS)))
@output_options("The file to write, instead of printing it.")
@common_options
def schema(*, kind: str, output: Path | None) -> None:
    """Print the JSON Schema of a kind of settings file: keys, types, ranges, meanings.

    Editors that read TOML with a schema complete keys, show what they mean and mark what is
    wrong while you type.

    First line of job.toml
    ----------------------
    #:schema ./job.schema.json

    Examples
    --------
    ckm schema job -o job.schema.json            for ckm check and ckm release
    ckm schema service -o service.schema.json    for ckm serve
    ckm schema designs -o designs.schema.json    for ckm compare: designs and methods
    ckm schema swap -o swap.schema.json          for ckm swap
    ckm schema training -o plan.schema.json      for ckm dpsgd train --plan
    ckm schema synth -o sweep.schema.json        for ckm synth sweep

    The line is read by taplo and by the extension Even Better TOML of VS Code. A schema knows
    one file alone: ckm check also knows your data.
    """
    if output is None:
        click.echo(_schema_text(kind), nl=False)
        return
    text = _schema_text(kind)
    write_whole(output, text, error=ConfigError, overwrite=may_replace(), is_private=False)
    click.echo(str(output))
