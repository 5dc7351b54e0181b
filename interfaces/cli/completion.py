"""The command that prints the script for a shell's Tab key: completion."""

from __future__ import annotations

import os
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from recollect.interfaces.cli.app import json_option, main, to_json

VARIABLE = "_RECOLLECT_COMPLETE"
_ENDS = {
    "bash": 'eval "$(recollect completion bash)"      # in ~/.bashrc',
    "zsh": 'eval "$(recollect completion zsh)"       # in ~/.zshrc',
    "fish": "recollect completion fish | source       # in ~/.config/fish/config.fish",
}


@main.command()
@click.argument("shell", type=click.Choice(sorted(_ENDS)), required=False)
@json_option
def completion(shell: str | None, as_json: bool) -> None:
    """Print the script that completes commands, options, formulas and memories with Tab.

    SHELL is the one you are in if it is not given.

    \b
    Example:
      eval "$(recollect completion bash)"      # in ~/.bashrc
      eval "$(recollect completion zsh)"       # in ~/.zshrc
      recollect completion fish | source       # in ~/.config/fish/config.fish
    """
    chosen = shell or Path(os.environ.get("SHELL", "")).name
    found = get_completion_class(chosen) if chosen in _ENDS else None
    if found is None:
        raise click.UsageError(f"name a shell: {', '.join(sorted(_ENDS))}")
    script = found(main, {}, "recollect", VARIABLE).source_template % {
        "complete_func": "_recollect_completion",
        "complete_var": VARIABLE,
        "prog_name": "recollect",
    }
    if as_json:
        click.echo(to_json({"shell": chosen, "enable": _ENDS[chosen], "script": script}))
    else:
        click.echo(script)
