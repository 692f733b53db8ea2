"""Commands that install Phronesis in the agents that people use, remove it, and answer their hooks."""

import json
import shutil
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from phronesis.adapters.agent_hooks import answer_hook
from phronesis.adapters.hook_call import EVENTS, HookCall
from phronesis.config.locations import daemon_enabled, home_folder, login_name, store_name
from phronesis.interfaces.cli.options import DRY_RUN, Options, Store, with_owner, with_store
from phronesis.interfaces.cli.output import print_json, print_lines
from phronesis.interfaces.daemon_endpoint import START_SECONDS, connect_or_say_why

if TYPE_CHECKING:
    from phronesis.interfaces.hosts.config_files import Change

NAMES: Final = ("claude-code", "codex", "cursor", "vscode", "opencode", "hermes", "openclaw")
"""The keys of `phronesis.interfaces.hosts`' HOSTS, which is not imported for a hook; a test compares them."""

_HOST = click.argument("host", type=click.Choice(NAMES))


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
    _change(store, host, options, install=True, dry_run=dry_run)


@click.command()
@_HOST
@DRY_RUN
@with_store
def uninstall(*, store: Store, host: str, dry_run: bool) -> None:
    """Remove from an agent what install added.

    Memories stay, and so does everything else in its configuration files: each is again what it was before, with what
    you changed meanwhile.
    """
    _change(store, host, (), install=False, dry_run=dry_run)


def _options(store: Store, scope: Options) -> dict[str, str]:
    given = {
        "--user": scope.get("user_id"),
        "--namespace": scope.get("namespace"),
        "--url": store.url and store_name(store.url, None, None).url,  # the host starts us in any folder
        "--tenant": store.tenant,
        "--policy": None if store.policy is None else str(store.policy.absolute()),
    }
    return {name: value for name, value in given.items() if value is not None}


def _change(store: Store, name: str, options: Sequence[str], *, install: bool, dry_run: bool) -> None:
    from phronesis.interfaces.hosts import HOSTS, Caller  # noqa: PLC0415 - likewise
    from phronesis.interfaces.hosts.config_files import InstallRecord, changes  # noqa: PLC0415 - not for a hook

    found = shutil.which("phronesis", path=str(Path(sys.executable).parent)) or shutil.which("phronesis")
    program = [found] if found else [sys.executable, "-m", "phronesis"]  # the host starts us in any folder
    host = HOSTS[name]
    record = InstallRecord.of_host(name)
    made = changes(host.files(Caller(home_folder(), program, options)), record, install=install)
    record.program = program[0]
    if not dry_run:
        record.carry_out(made, install=install)
    facts = {"dry_run": dry_run, "changed": [str(change.path) for change in made]}
    store.answer(facts, lambda _facts: _show(made, dry_run=dry_run))
    if install and made and not store.as_json and host.remark:
        print_lines(host.remark)
    if install and host.starts_server and find_spec("mcp") is None:
        click.echo(f"{host.title} starts an MCP server, which needs: pip install 'phronesis[mcp]'", err=True)


def _show(made: "list[Change]", *, dry_run: bool) -> None:
    for change in made:
        click.echo(change.diff(), nl=False)
    verb = "would change" if dry_run else "changed"
    print_lines(f"{len(made)} files {verb}." if made else "Nothing to change.")


@click.command()
@click.argument("event", type=click.Choice(EVENTS))
@click.option("--host", default="claude-code", show_default=True, metavar="NAME", help="The agent that calls.")
@with_owner
@with_store
def hook(*, store: Store, scope: Options, event: str, host: str) -> None:
    """Answer a hook of a coding agent.

    The host's JSON is read from stdin, and the answer is written to stdout. A hook never stops its host: whatever goes
    wrong is one line on stderr, and the exit code is 0. --user is whose memory is meant (default: your login name),
    --namespace where the experience of tools is kept (default: the name of the project's folder).
    """
    try:
        payload = json.loads(sys.stdin.buffer.read() or b"{}")
        call = {
            "event": event,
            "host": host,
            "user_id": scope.get("user_id") or login_name(),
            "namespace": scope.get("namespace"),
        }
        answer = _answer(store, {**call, "payload": payload})
        if "error" in answer:
            click.echo(f"phronesis: {answer['error']}", err=True)
        elif answer:
            print_json(answer)
    except Exception as error:  # noqa: BLE001 - the interface edge: a hook fails open
        click.echo(f"phronesis: {type(error).__name__}: {error}", err=True)


def _answer(store: Store, message: dict[str, Any]) -> dict[str, Any]:
    connection = None
    if daemon_enabled():
        service = {"service": "hook"}
        connection = connect_or_say_why(store.name(), service, caller="hook", start_seconds=START_SECONDS)
    if connection is not None:
        try:
            connection.send_line(message)
            return connection.receive_line()
        finally:
            connection.close()
    with store.open() as memory:
        answer = answer_hook(memory, HookCall.read(message))
        memory.flush()  # there is no process that would interpret it later
        return answer
