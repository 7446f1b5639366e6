"""``ckm synth report``: what a model or a certificate says, or the page of an evaluation."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from ckm.cli.synth.evaluate import page_of, show_figures
from ckm.cli.terminal.click_group import PATH, Command, with_terminal
from ckm.cli.terminal.console import Terminal
from ckm.cli.terminal.output import printable, read_json
from ckm.cli.terminal.output_options import output_options
from footing.files import write_whole
from footing.messages import Argument, Message, Name, said


@click.command(cls=Command)
@click.argument("file", type=PATH, metavar="FILE")
@click.option("--title", default="", show_default=False, help="Of the page.")
@output_options("The page of an evaluation: .html.", ".html", has_lang=True)
@click.option("--lang", type=click.Choice(["en", "fr"]), help="Of the page.")
@with_terminal
def report(
    terminal: Terminal,
    /,
    *,
    file: Path,
    title: str,
    output: Path | None,
    lang: str | None,
) -> None:
    r"""Show the content of a model, a certificate or a saved evaluation.

    Examples
    --------
    ckm synth report model.json
    ckm synth report synthetic.parquet.certificate.json
    ckm synth report figures.json -o quality.html

    \b
    A model and a certificate hold nothing that was not paid for. An evaluation follows from
    confidential records: its page is internal.
    """
    from synth.evaluation import Evaluation

    content = _content(file)
    facts = _facts(file, content)
    if facts is not None:
        if output is not None:
            raise click.UsageError(
                Message(
                    "{file!r} is no evaluation: there is no page of it, only this text.",
                    file=Name(file.name),
                )
            )
        for heading, text in _readable(file, facts):
            click.echo(f"{heading:<12}{printable(text)}")
        return
    evaluations = {str(name): Evaluation.from_dict(one) for name, one in content.items()}
    if output is None:
        show_figures(terminal, evaluations)
        return
    write_whole(output, page_of(evaluations, title, lang or "en"), is_private=True)
    terminal.step(
        "page written", Message("it follows from confidential records: keep it inside")
    )
    click.echo(str(output))


def amount_words(note: Mapping[str, Any]) -> Message:
    """Say what is told of an amount: all of it is paid for."""
    beyond = Message(
        "{share:.2%} of the records and {part:.1%} of the total lie beyond the last cell that "
        "stands out of its noise",
        share=float(note["beyond_records"]),
        part=float(note["beyond_total"]),
    )
    if note.get("total") is None:
        return Message("{column!r}: {beyond}", column=Name(note["column"]), beyond=beyond)
    return Message(
        "{column!r}: a total of {total:,.0f}, with noise of scale {scale:,.0f}, each amount "
        "cut off at {most:,.0f}; {beyond}",
        column=Name(note["column"]),
        total=float(note["total"]),
        scale=float(note["scale"]),
        most=float(max(map(abs, note["clipped_at"]))),
        beyond=beyond,
    )


def _content(file: Path) -> Any:
    from synth.evaluation import EvaluationError

    if file.suffix.lower() == ".parquet":
        return None
    content = read_json(file)
    if not isinstance(content, dict) or not content:
        raise EvaluationError(
            Message("{file!r} is no model, certificate or evaluation.", file=Name(file.name))
        )
    return content


def _facts(file: Path, content: Any) -> dict[str, Any] | None:
    """Return the facts of a model or of a certificate; nothing for an evaluation."""
    from synth import Certificate, Model

    form = "ckm-synth-fitted" if content is None else content.get("format")
    if form == "ckm-synth-fitted":
        paper = Certificate.of(Model.load(file))
    elif form == "ckm-synth-certificate":
        paper = Certificate.read(file)
    else:
        return None
    return {**paper.facts, "wrong": paper.verify()}


def _readable(file: Path, facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    from synth import CertificateError

    try:
        return list(_lines(facts))
    except (AttributeError, KeyError, TypeError, ValueError):
        raise CertificateError(
            Message("A part of {file!r} cannot be read.", file=Name(file.name))
        ) from None


def _lines(facts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    from synth.claims import words_of
    from synth.methods import is_unprotected

    total, unit = facts["total"], facts["unit"]
    yield "method", str(facts["method"])
    if origin := facts.get("mechanism"):
        yield (
            "",
            Message(
                "of package {origin!r} {origin_2}, {origin_3!r}",
                origin=Name(origin["package"]),
                origin_2=origin["version"],
                origin_3=Name(origin["object"]),
            ),
        )
    if is_unprotected(facts["method"]) or facts.get("account") is not None:
        yield (
            "guarantee",
            Message("NONE. {words_of}", words_of=said(words_of(facts["account"]))),
        )
    else:
        yield (
            "guarantee",
            Message(
                "epsilon {total:.4g} at delta {total_2:g}",
                total=total["epsilon"],
                total_2=total["delta"],
            ),
        )
        yield "", f"rho {total['rho']:.4g}, {facts['adjacency']}"
    yield (
        "unit",
        Message(
            "{unit!r}, {unit_2} records at most",
            unit=Name(unit["name"]),
            unit_2=unit["most_records"],
        ),
    )
    yield "noise", str(facts["noise"])
    prices: dict[str, list[float]] = {}
    for call in facts["calls"]:
        prices.setdefault(call["what"], []).append(call["rho"])
    for what, rhos in prices.items():
        yield "looks", f"{what}: {len(rhos)}, rho {sum(rhos):.4g}"
    for one in facts["domains"]:
        by = one["declared_by"] or "nobody named"
        yield (
            "domain",
            Message(
                "{one!r}: {one_2} values or cells, by {by!r}",
                one=Name(one["column"]),
                one_2=one["codes"],
                by=Argument(by),
            ),
        )
    for note in facts.get("amounts", ()):
        yield "amount", amount_words(note)
    for rule in facts["rules"]:
        broken = rule["violations"]
        breaches = (
            Message() if broken is None else Message(", broken by {broken}", broken=broken)
        )
        yield (
            "rule",
            Message(
                "{rule!r}, kept by {rule_2}{kept}",
                rule=Name(rule["rule"]),
                rule_2=rule["kept_by"],
                kept=breaches,
            ),
        )
    for prior in facts["priors"]:
        yield "published", repr(prior)
    for problem in facts.get("wrong", ()):
        yield Message("NOT RIGHT"), problem
