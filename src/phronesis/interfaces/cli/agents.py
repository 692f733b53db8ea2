"""Commands that install Phronesis in the agents that people use, and remove it."""

import shutil
import sys
from pathlib import Path

import click

from phronesis.config.locations import data_folder, home_folder, store_name
from phronesis.interfaces.cli.options import DRY_RUN, Options, Store, with_owner, with_store
from phronesis.interfaces.cli.output import say
from phronesis.interfaces.hosts.config_files import Change, InstallRecord, changes
from phronesis.interfaces.hosts.host_table import HOSTS, Caller

_HOST = click.argument("host", type=click.Choice(tuple(HOSTS)))


@click.command()
@_HOST
@DRY_RUN
@with_owner
@with_store
def install(*, store: Store, scope: Options, host: str, dry_run: bool) -> None:
    """Install memory in an agent: its hooks, and the MCP server.

    The changes of its configuration files are shown as they are made. What is there already stays, and a second call
    changes nothing. --user, --namespace and --url are what the agent passes on.
    """
    options = [word for name, value in _options(store, scope).items() for word in (name, value)]
    made = _change(store, host, Caller(home_folder(), _program(), options), install=True, dry_run=dry_run)
    if made and not store.as_json and HOSTS[host].remark:
        say(HOSTS[host].remark)


@click.command()
@_HOST
@DRY_RUN
@with_store
def uninstall(*, store: Store, host: str, dry_run: bool) -> None:
    """Remove from an agent what install added.

    Memories stay, and so does everything else in its configuration files: each is again what it was before, with what
    you changed meanwhile.
    """
    _change(store, host, Caller(home_folder(), _program()), install=False, dry_run=dry_run)


def _options(store: Store, scope: Options) -> dict[str, str]:
    given = {
        "--user": scope.get("user_id"),
        "--namespace": scope.get("namespace"),
        "--url": store.url and store_name(store.url, None, None).url,  # the host starts us in any folder
        "--tenant": store.tenant,
        "--policy": None if store.policy is None else str(store.policy.absolute()),
    }
    return {name: value for name, value in given.items() if value is not None}


def _program() -> list[str]:
    """Return the words that start this program from any folder."""
    found = shutil.which("phronesis", path=str(Path(sys.executable).parent)) or shutil.which("phronesis")
    return [found] if found else [sys.executable, "-m", "phronesis"]


def _change(store: Store, host: str, caller: Caller, *, install: bool, dry_run: bool) -> list[Change]:
    record = InstallRecord.read(data_folder() / "hosts" / f"{host}.json")
    made = changes(HOSTS[host].files(caller), record, install=install)
    if not dry_run:
        record.carry_out(made, install=install)
    facts = {"dry_run": dry_run, "changed": [str(change.path) for change in made]}
    store.answer(facts, lambda _facts: _show(made, dry_run=dry_run))
    return made


def _show(made: list[Change], *, dry_run: bool) -> None:
    for change in made:
        click.echo(change.diff(), nl=False)
    verb = "would change" if dry_run else "changed"
    say(f"{len(made)} files {verb}." if made else "Nothing to change.")
