"""``ckm completion``: let the shell complete verbs, options and files."""

import click
from click.shell_completion import get_completion_class

from ckm.cli.terminal.click_group import Command, common_options
from footing.messages import Message, said


@click.command(cls=Command)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@common_options
@click.pass_context
def completion(ctx: click.Context, *, shell: str) -> None:
    """Print the script for completion in a shell.

    Examples
    --------
    ckm completion bash >> ~/.bashrc
    ckm completion zsh  >> ~/.zshrc
    ckm completion fish > ~/.config/fish/completions/ckm.fish
    """
    kind = get_completion_class(shell)
    if kind is None:  # not before click knows the shells above no longer
        ctx.fail(Message("No completion for {shell}.", shell=said(shell)))
    script = kind(ctx.find_root().command, {}, "ckm", "_CKM_COMPLETE")
    click.echo(script.source_template % script.source_vars())
