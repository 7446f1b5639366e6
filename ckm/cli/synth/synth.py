"""``ckm synth``: synthetic microdata, fitted, drawn and certified."""

from __future__ import annotations

import contextlib
import math
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ckm.cli.synth.evaluate import compare, evaluate
from ckm.cli.synth.record_files import column_names, records_of
from ckm.cli.synth.report import amount_words, report
from ckm.cli.synth.sanitise import sanitise
from ckm.cli.synth.settings import settings_from
from ckm.cli.synth.sweep import sweep
from ckm.cli.terminal.click_group import PATH, Group, options, with_terminal
from ckm.cli.terminal.exit_codes import CHECK_FAILED
from ckm.cli.terminal.output import check_output
from footing.files import new_file, require_private
from footing.messages import Message, Name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ckm.cli.terminal.console import Terminal
    from footing.progress import Progress
    from synth import Budget, Model, Schema
    from synth.claims import Claim

_LONG_FIT = 600  # tenths of a second of one core


@click.group(cls=Group)
# claim synth-zcdp
def synth() -> None:
    """Make synthetic microdata, differentially private.

    Examples
    --------
    ckm synth check schema.json --data people.parquet
    ckm synth fit people.parquet --schema schema.json --epsilon 1 --delta 1e-6 -o model.json
    ckm synth sample model.json -n 50000 -o synthetic.parquet
    ckm synth verify synthetic.parquet.certificate.json --data synthetic.parquet
    """


_output_options = options(
    click.option("-o", "--output", type=PATH, required=True, help="The file to write."),
    click.option("--force", is_flag=True, help="Replace the output if it exists."),
    click.option("--dry-run", is_flag=True, help="Check everything, write nothing."),
    with_terminal,
)


@synth.command()
@click.argument("file", metavar="SCHEMA", type=PATH)
@click.option("--data", type=PATH, help="Records; only their columns are read, no value.")
@click.option("--records", type=int, help="About how many there are, a public number.")
@click.option(
    "--epsilon", type=float, help="With --records: what noise will do to each column."
)
@click.option("--delta", type=float, default=1e-6, help="With epsilon.")
@with_terminal
def check(
    terminal: Terminal,
    *,
    file: Path,
    data: Path | None,
    records: int | None,
    epsilon: float | None,
    delta: float,
) -> int:
    """Check a schema for errors (exit code 1), disclosure and cost in accuracy."""
    from synth import Budget, Schema, lint

    if (records is None) != (epsilon is None):
        raise click.UsageError(
            Message("--records and --epsilon tell together what noise will do.")
        )
    findings = lint(
        Schema.read(file),
        names=None if data is None else column_names(data),
        records=records,
        budget=None if epsilon is None else Budget(epsilon=epsilon, delta=delta),
    )
    for one in findings:
        click.echo(f"{one.level:<8} {one.place}: {terminal.say(one.text)}")
    return CHECK_FAILED if any(one.level == "error" for one in findings) else 0


@synth.command()
@click.argument("file", metavar="[OTHER]", type=PATH, required=False)
@click.option("--from-dictionary", "dictionary", type=PATH, help="The same as OTHER.")
@click.option(
    "--from-header",
    "header",
    type=PATH,
    help="Records: a skeleton with the names of their columns; no value is read.",
)
@click.option(
    "--tree",
    type=PATH,
    help="A public code list, as CSV of codes and the codes above them: which codes nest.",
)
@click.option(
    "--declared-by", default="", show_default=False, help="Who declared it, from what."
)
@_output_options
def schema(
    terminal: Terminal,
    *,
    file: Path | None,
    dictionary: Path | None,
    header: Path | None,
    tree: Path | None,
    declared_by: str,
    output: Path,
    force: bool,
    dry_run: bool,
) -> None:
    """Make a schema from a data dictionary or another tool's; what it lacks stays undeclared.

    Without a dictionary, --from-header gives a skeleton to fill in, and beside it a JSON Schema
    for editors, ckm-synth.schema.json. Of CSV the first line is read and nothing after it; of
    Parquet and Arrow, the types as well, which propose a kind.

    Known: DDI-Codebook and SDMX structures (XML); CSVW metadata, the dictionaries of NIST's
    excerpts, SDV metadata and plain lists (JSON). Minima, maxima and frequencies of a file,
    which a code book may hold besides, are not read.

    Examples
    --------
    ckm synth schema --from-header people.csv -o schema.json
    ckm synth schema --from-dictionary book.xml -o schema.json
    ckm synth schema schema.json --tree communes.csv -o with-parents.json

    schema.json, written by hand
    ----------------------------
    {"format": "ckm-synth-schema", "version": 1, "columns": [
      {"name": "age", "kind": "whole", "low": 0, "high": 110},
      {"name": "hours", "kind": "whole", "low": 0, "high": 99, "bins": 10, "points": [0, 40]},
      {"name": "sex", "kind": "category", "values": ["F", "M"], "missing": {"unknown": null}}],
     "rules": ["if age < 15 then hours == 0"]}
    """
    from synth.schema.migration import read_dictionary, with_tree

    sources = [one for one in (file, dictionary, header) if one is not None]
    if len(sources) != 1 or (header is not None and tree is not None):
        raise click.UsageError(
            Message(
                "Name one dictionary, or one file with a header: ckm synth schema "
                "--from-dictionary FILE, or --from-header FILE."
            )
        )
    if header is not None:
        new_schema = _skeleton(header, output, force=force, dry_run=dry_run)
    else:
        new_schema = read_dictionary(sources[0], declared_by=declared_by)
        if tree is not None:
            new_schema = with_tree(new_schema, tree, declared_by=declared_by)
        with _written(output, force=force, dry_run=dry_run) as draft:
            new_schema.write(draft)
    open_ones = (
        Message("; not declared: {undeclared}", undeclared=Name.each(new_schema.undeclared))
        if new_schema.undeclared
        else Message()
    )
    terminal.step(
        "schema made",
        Message(
            "{number} columns{open_ones}", number=len(new_schema.columns), open_ones=open_ones
        ),
    )


def _skeleton(header: Path, output: Path, *, force: bool, dry_run: bool) -> Schema:
    """Write a skeleton, and what editors check it by beside it."""
    from footing.serialisation import document
    from synth.schema.skeleton import EDITOR_FILE, editor_schema, skeleton, skeleton_text

    new_schema = skeleton(header)
    with _written(output, force=force, dry_run=dry_run) as draft:
        draft.write_text(skeleton_text(new_schema), encoding="utf-8")
    # The same of every skeleton: one that is there already is as good.
    beside = output.with_name(EDITOR_FILE)
    with _written(beside, force=True, dry_run=dry_run) as draft:
        draft.write_text(document(editor_schema()), encoding="utf-8")
    return new_schema


@synth.command()
@click.argument("data", type=PATH)
@click.option("--schema", "schema_file", type=PATH, required=True, help="The declarations.")
@click.option("--epsilon", type=float, help="What may be spent in all.")
@click.option("--delta", type=float, default=0.0, help="With epsilon: 1e-6, say.")
@click.option("--rho", type=float, help="Concentrated loss, in place of epsilon.")
@click.option(
    "--adjacency",
    type=click.Choice(["add-remove", "replace"]),
    default="add-remove",
    help="replace: the number of records is public.",
)
@click.option(
    "--method",
    default="tables",
    help="tables, or vine where amounts hang together; to compare with: copula, "
    "copula-shirley-strict, histogram, priv-bayes; and, NOT differentially private as claimed: "
    "copula-shirley, dp-histogram, vine-without-privacy; or one that a package adds.",
)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="A setting of the method: 'truncation=2'. Repeat.",
)
@click.option("--label", help="A column to predict.")
@click.option("--table", "tables", multiple=True, help="A table that matters: 'age,sex'.")
@click.option("--discover", type=float, help="Share of the budget for undeclared domains.")
@click.option("--simulate", type=int, metavar="SEED", help="Noise from a seed: NOT PRIVATE.")
@click.option("--picture", type=PATH, help="Also draw the structure, as SVG.")
@click.option("--ledger", type=PATH, help="The budget that pays: see ckm dp ledger.")
@click.option("--who", default="", show_default=False, help="Who fits, for the ledger.")
@_output_options
def fit(
    terminal: Terminal,
    *,
    data: Path,
    schema_file: Path,
    method: str,
    settings: tuple[str, ...],
    label: str | None,
    tables: tuple[str, ...],
    discover: float | None,
    simulate: int | None,
    picture: Path | None,
    ledger: Path | None,
    who: str,
    output: Path,
    force: bool,
    dry_run: bool,
    epsilon: float | None,
    delta: float,
    rho: float | None,
    adjacency: str,
) -> None:
    r"""Fit a model to confidential records (Parquet or CSV), for a budget at most.

    A ledger is charged the whole budget once the records are read, before they are first used:
    a fit that fails afterwards is paid for.

    A method that is NOT differentially private as claimed keeps to no budget: --epsilon is what
    its publication claims.

    Examples
    --------
    ckm synth fit people.parquet --schema schema.json --epsilon 1 --delta 1e-6 -o model.json
    ckm synth fit people.parquet --schema schema.json --epsilon 1 --delta 1e-6 \
        --label income --table age,sex -o model.json --dry-run
    """
    from synth import Schema, SimulatedNoise, Synthesizer
    from synth.claims import words_of
    from synth.methods import settings_of
    from synth.picture import draw_structure
    from synth.schema.discovery import Discovery

    if picture is not None and method != "tables":
        raise click.UsageError(
            Message("There is no picture of the method {method!r}.", method=Name(method))
        )
    discovery = None if discover is None else Discovery(share=discover)
    synthesizer = Synthesizer(
        schema=Schema.read(schema_file),
        method=method,
        label=label,
        workload=[tuple(table.split(",")) for table in tables] or None,
        settings=settings_of(method, settings_from(settings)),
    )
    budget = _budget(method, epsilon=epsilon, delta=delta, rho=rho, adjacency=adjacency)
    if discovery is None:
        synthesizer.schema.require_declared()
    unit = synthesizer.schema.unit.name
    ledger = _present(terminal, ledger) if dry_run else ledger
    charge = _payment(budget, unit, ledger=ledger, who=who, is_simulated=simulate is not None)
    if dry_run:
        for file in filter(None, (output, picture)):
            check_output(file, force=force)
        own_records = records_of(data, schema=synthesizer.schema)
        synthesizer.check(own_records, budget, discovery=discovery)
        terminal.step(
            "dry run complete", Message("dry run: a model would go to {output}", output=output)
        )
        return
    noise = None if simulate is None else SimulatedNoise(seed=simulate)
    if noise is not None:
        terminal.warn(
            "simulated", Message("the noise comes from a seed: there is no protection")
        )
    with contextlib.ExitStack() as files:
        # Both are checked first: the budget is spent by the fit.
        draft = files.enter_context(_written(output, force=force, dry_run=False))
        drawing = None
        if picture is not None:
            drawing = files.enter_context(_written(picture, force=force, dry_run=False))
        records = records_of(data, schema=synthesizer.schema)
        charge(f"synthetic records, {output.name}")
        with terminal.progress() as report_progress:
            model = synthesizer.fit(
                records,
                budget,
                noise=noise,
                discovery=discovery,
                progress=_with_estimate(terminal, report_progress),
            )
        model.save(draft)
        if drawing is not None:
            drawing.write_text(
                draw_structure(model, language=terminal.language), encoding="utf-8"
            )
    _tell_nests(terminal, model)
    if model.account is not None:
        terminal.warn("not private", words_of(model.account))
    else:
        total_rho = model.report()["spent"]["rho"]
        terminal.step(
            "model fitted",
            Message(
                "{number} looks at the records, rho {spent:.4g}",
                number=len(model.calls),
                spent=total_rho,
            ),
        )
        for note in model.report()["amounts"]:
            terminal.step("amount", amount_words(note))
    click.echo(str(output))


@synth.command()
@click.argument("file", metavar="MODEL", type=PATH)
@click.option("-n", "--number", type=int, required=True, help="How many records.")
@click.option("--seed", type=int, help="Draw the same records again; this gives no protection.")
@click.option("--condition", "conditions", multiple=True, help="'sex=F': all have this value.")
@click.option("--where", help="What shall hold: \"age >= 16 and sex == 'F'\".")
@click.option("--certificate", type=PATH, help="By default beside the records.")
@click.option("--key", type=PATH, help="A secret file, to seal the certificate.")
@_output_options
def sample(
    terminal: Terminal,
    *,
    file: Path,
    number: int,
    seed: int | None,
    conditions: tuple[str, ...],
    where: str | None,
    certificate: Path | None,
    key: Path | None,
    output: Path,
    force: bool,
    dry_run: bool,
) -> None:
    """Draw synthetic records, and write a certificate beside them.

    Examples
    --------
    ckm synth sample model.json -n 50000 -o synthetic.parquet
    ckm synth sample model.json -n 500 --where "age >= 60 and sex == 'F'" -o some.csv
    """
    import numpy as np

    from synth import Certificate, Model
    from synth.claims import words_of
    from synth.frames import from_codes, write_records

    model = Model.load(file)
    pairs = [condition.partition("=") for condition in conditions]
    if not all(sign for _, sign, _ in pairs):
        raise click.UsageError(
            Message("A condition is a column, =, and a value: --condition sex=F.")
        )
    beside = certificate or output.with_name(f"{output.name}.certificate.json")
    seal = None if key is None else _secret(key)
    with (
        _written(output, force=force, dry_run=dry_run) as draft,
        _written(beside, force=force, dry_run=dry_run) as paper,
    ):
        with terminal.progress() as report_progress:
            records = model.draw(
                number,
                rng=np.random.default_rng(seed),
                conditions={name: value for name, _, value in pairs},
                where=where,
                progress=report_progress,
            )
        frame = from_codes(
            records.codes,
            numbers=records.numbers,
            schema=model.schema,
            container=model.container,
        )
        write_records(frame, draft)
        new_certificate = Certificate.of(
            model, data=draft, data_name=output.name, violations=model.violations(records)
        )
        new_certificate.write(paper, key=seal)
    if model.account is not None:
        terminal.warn("not private", words_of(model.account))
    elif not model.is_private:
        terminal.warn(
            "simulated", Message("the model was fitted with noise from a seed: NOT PRIVATE")
        )
    terminal.step("records drawn", Message("certificate: {beside}", beside=Name(beside.name)))
    click.echo(str(output))


@synth.command()
@click.argument("file", metavar="CERTIFICATE", type=PATH)
@click.option("--data", type=PATH, help="The synthetic records it should be of.")
@click.option("--schema", "schema_file", type=PATH, help="The schema that was to be used.")
@click.option("--key", type=PATH, help="The secret file that sealed it.")
@with_terminal
def verify(
    terminal: Terminal,
    *,
    file: Path,
    data: Path | None,
    schema_file: Path | None,
    key: Path | None,
) -> int:
    """Check a certificate, offline and without the confidential records."""
    from synth import Certificate, Schema
    from synth.guarantee import guarantee_of

    paper = Certificate.read(file)
    wrong = paper.verify(
        data=data,
        schema=None if schema_file is None else Schema.read(schema_file),
        key=None if key is None else _secret(key),
    )
    for problem in wrong:
        terminal.warn("certificate not right", problem)
    if wrong:
        return CHECK_FAILED
    click.echo(f"right: {guarantee_of(paper).text}")
    return 0


def _budget(
    method: str, *, epsilon: float | None, delta: float, rho: float | None, adjacency: str
) -> Budget | Claim:
    """Return what may be spent, or what a method claims that keeps to no budget."""
    from dp import Adjacency
    from synth import Budget
    from synth.claims import Claim
    from synth.methods import is_unprotected

    if not is_unprotected(method):
        return Budget(epsilon=epsilon, delta=delta, rho=rho, adjacency=Adjacency(adjacency))
    if rho is not None:
        raise click.UsageError(
            Message(
                "The method {method!r} keeps to no rho; it claims an epsilon.",
                method=Name(method),
            )
        )
    return Claim(epsilon=epsilon)


def _present(terminal: Terminal, ledger: Path | None) -> Path | None:
    """Return a ledger if it is there; a dry run, which charges none, goes on without it."""
    if ledger is None or ledger.exists():
        return ledger
    terminal.warn(
        "no ledger", Message("there is no ledger {name!r} yet", name=Name(ledger.name))
    )
    return None


def _with_estimate(terminal: Terminal, report_progress: Progress) -> Progress:
    """Return what reports progress and, once, how long a fit takes that takes long."""
    is_told = False

    def report(stage: str, done: int, total: int) -> None:
        nonlocal is_told
        # A fit counts tenths of seconds, or percents of its budget.
        if stage == "fit" and total > _LONG_FIT and not is_told:
            is_told = True
            minutes = math.ceil(total / 600)
            terminal.step(
                "fit planned",
                Message("the fit takes about {number} minutes of one core", number=minutes),
            )
        report_progress(stage, done, total)

    return report


def _tell_nests(terminal: Terminal, model: Model) -> None:
    """Say which codes lie in those of other columns, and how that is kept."""
    nests = model.kept_parents()
    if nests:
        names = Name.each([one.label for one, _ in nests])
        terminal.step(
            "codes that nest",
            Message("no code is drawn outside its parent: {names}", names=names)
            if nests[0][1] == "construction"
            else Message("codes outside their parent are drawn again: {names}", names=names),
        )


def _payment(
    budget: Budget | Claim, unit: str, *, ledger: Path | None, who: str, is_simulated: bool
) -> Callable[[str], object]:
    """Return what charges a ledger, which is known to have enough; nothing without one."""
    from dp import BudgetLedger, Guarantee
    from dp.aggregates.release import require_left
    from synth import Budget

    if ledger is None:
        return lambda _what: None
    if not who.strip():
        raise click.UsageError(Message("--ledger needs --who: who fits?"))
    if not isinstance(budget, Budget):
        raise click.UsageError(
            Message("The method keeps to no budget, and no ledger pays for it.")
        )
    if is_simulated:
        raise click.UsageError(
            Message("Noise from a seed gives no protection, and no ledger pays for it.")
        )
    cost = Guarantee(
        epsilon=math.inf if budget.epsilon is None else budget.epsilon,
        delta=budget.delta,
        rho=math.inf if budget.rho is None else budget.rho,
        adjacency=budget.adjacency,
        unit=unit,
    )
    account = BudgetLedger.open(ledger)
    require_left(account, cost)
    return lambda what: account.spend(cost, who=who, what=what)


@contextlib.contextmanager
def _written(target: Path, *, force: bool, dry_run: bool) -> Iterator[Path]:
    """Yield a temporary name of the same kind; rename it when all went well."""
    check_output(target, force=force)
    if not dry_run:
        with new_file(target, overwrite=force) as draft:
            yield draft
        return
    with tempfile.TemporaryDirectory(prefix="ckm-") as folder:
        yield Path(folder) / target.name


def _secret(file: Path) -> bytes:
    require_private(file, Message("secret file"))
    try:
        return file.read_bytes().strip()
    except (OSError, ValueError):  # not named: it may be the secret itself
        raise click.UsageError(
            Message("What --key names cannot be read: give a file.")
        ) from None


for _command in (evaluate, compare, report, sanitise, sweep):
    synth.add_command(_command)
