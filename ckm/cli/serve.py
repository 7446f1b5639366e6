"""``ckm serve`` and ``ckm token``: a service that answers table requests, and who may ask."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any

import click

from ckm.cli.terminal.click_group import PATH, Command, Group, with_terminal
from footing.messages import Argument, Message, Name, said

if TYPE_CHECKING:
    from pathlib import Path

    from ckm.cli.terminal.console import Terminal
    from ckm.service.access.tokens import TokenFile


_WEB = ("starlette", "uvicorn", "argon2", "prometheus_client")


def require_web() -> None:
    """Raise with the way to install what a service needs, where it is missing."""
    missing = [name for name in _WEB if importlib.util.find_spec(name) is None]
    if missing:
        raise click.ClickException(
            Message(
                "A service needs packages that are not installed: {names}.\n  hint: in the "
                "project's folder: pip install '.[web]'",
                names=Name.each(missing),
            )
        )


@click.command(cls=Command)
@click.argument("service", type=PATH, metavar="SERVICE.toml")
@click.option("--listen", help="Address to listen on, instead of that of the file.")
@click.option(
    "--port", type=click.IntRange(0, 65535), help="Port, instead of that of the file; 0: free."
)
@click.option("--dry-run", is_flag=True, help="Check that the service can start, then stop.")
@with_terminal
def serve(terminal: Terminal, /, *, service: Path, dry_run: bool, **address: Any) -> None:
    """Open protected microdata to table requests over HTTP.

    Examples
    --------
    ckm check service.toml
    ckm serve service.toml
    ckm serve service.toml --port 8090

    Stop it with Ctrl-C or SIGTERM: answers under way are finished first.
    """
    from ckm.config.service.service import read_service

    require_web()
    plan = read_service(service)
    settings = {k: v for k, v in address.items() if v is not None}
    plan = plan.changed(about=plan.about.changed(**settings))
    terminal.step(
        "service read",
        Message(
            "{service}: {number} variables",
            service=Name(service.name),
            number=len(plan.variables),
        ),
    )
    for caution in plan.cautions:
        terminal.warn("caution", caution)
    from ckm.service.process.server import rehearse_service, run

    if dry_run:
        rehearse_service(plan)
        terminal.step(
            "dry run complete",
            Message("dry run: the service can start; no request was answered"),
        )
        return

    run(
        plan,
        ready=lambda address: terminal.step(
            "serving", Message("serving at {address}", address=said(address))
        ),
        logs_json=terminal.is_json,
    )
    terminal.step("stopped", Message("stopped; all that was asked has been answered"))


@click.group(cls=Group)
def token() -> None:
    """Tokens of a service: access and limits of its users."""


def _file_of(service: Path) -> TokenFile:
    from ckm.config.service.service import read_service
    from ckm.errors import ConfigError
    from ckm.service.access.tokens import TokenFile

    require_web()
    path = read_service(service).access.tokens
    if path is None:
        raise ConfigError(
            Message("The service has no file of tokens."),
            hint=Message('add tokens = "tokens.json" to [access]'),
        )
    return TokenFile(path)


@token.command()
@click.argument("service", type=PATH, metavar="SERVICE.toml")
@click.option(
    "--role",
    type=click.Choice(["public", "researcher", "officer"]),
    default="public",
    help="Role of the token.",
)
@click.option("--label", required=True, help="Name of its holder.")
@click.option(
    "--requests-per-hour",
    type=click.IntRange(min=1),
    help="Its own limit of requests per hour.",
)
@click.option("--project", help="Whose filters count together; by default its own.")
@click.option("--dry-run", is_flag=True, help="Check everything, make no token.")
@with_terminal
def add(terminal: Terminal, /, *, service: Path, dry_run: bool, **owner: Any) -> None:
    """Make a token and print it.

    Example
    -------
    ckm token add service.toml --role researcher --label "A. Lovelace"

    The token is shown once and kept as a hash only.
    """
    file = _file_of(service)
    file.read()
    if dry_run:
        terminal.step("dry run complete", Message("dry run: a token would be made"))
        return
    token = file.add(**owner)
    terminal.step("token made", Message("give it to its owner; it cannot be shown again"))
    click.echo(token)


@token.command("list")
@click.argument("service", type=PATH, metavar="SERVICE.toml")
@with_terminal
def list_tokens(terminal: Terminal, *, service: Path) -> None:
    """List the tokens, without their secret part."""
    headings = ("id", "role", "label", "project", "made", Message("per hour"), "state")
    rows = []
    for entry in _file_of(service).read():
        budget = "" if entry.requests_per_hour is None else str(entry.requests_per_hour)
        state = "revoked" if entry.is_revoked else "valid"
        owner = entry.id, entry.role, entry.label, entry.project
        rows.append((*owner, entry.created, budget, state))
    terminal.table(headings, rows, left=headings)


@token.command()
@click.argument("service", type=PATH, metavar="SERVICE.toml")
@click.argument("id", metavar="ID")
@click.option("--dry-run", is_flag=True, help="Look for the token, leave it valid.")
@with_terminal
def revoke(terminal: Terminal, *, service: Path, id: str, dry_run: bool) -> None:  # noqa: A002
    """Take a token back; a service that runs notices at once."""
    from ckm.errors import ConfigError

    file = _file_of(service)
    is_there = any(e.id == id and not e.is_revoked for e in file.read())
    if not is_there:
        raise ConfigError(
            Message("There is no valid token {id!r}.", id=Argument(id)),
            hint=Message("see: ckm token list"),
        )
    if dry_run:
        terminal.step("dry run complete", Message("dry run: the token would be revoked"))
        return
    file.revoke(id)
    terminal.step("token revoked", Message("the token {id} is valid no longer", id=said(id)))
