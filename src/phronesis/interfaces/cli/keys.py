"""Who may come in through the server: make keys, list them, end them."""

from collections.abc import Mapping, Sequence
from typing import Any

import click

from phronesis.core.keys import ApiKey
from phronesis.interfaces.cli.options import Store, with_store
from phronesis.interfaces.cli.printing import say
from phronesis.interfaces.cli.text import on_one_line, table


@click.group()
def keys() -> None:
    """Decide who may come in through the server.

    As long as there is no key, only this machine reaches a server, and needs none.
    """


@keys.command()
@click.option("--role", type=click.Choice(["read", "write", "admin"]), required=True, help="What the key may do.")
@click.option("--label", metavar="TEXT", required=True, help="Whose it is, or what for.")
@click.option("--actor", metavar="NAME", default="agent", show_default=True, help="Whom the history names.")
@with_store
def create(*, role: str, label: str, actor: str, store: Store) -> None:
    """Make a key, and print its token: once.

    read searches and composes, write stores and changes, admin also erases, exports and looks across users. As soon as
    a tenant has a key, its server asks everybody for one.
    """
    with store.open() as memory:
        token, key = memory.keys.create(role, label=label, actor=actor)
    store.answer({"token": token, "key": key}, say_created)


@keys.command("list")
@with_store
def list_keys(*, store: Store) -> None:
    """List the keys, revoked ones too.

    Each with its id, role, label and actor; no token can be had again.
    """
    with store.open() as memory:
        found = memory.keys.list()
    store.answer(found, say_keys)


@keys.command()
@click.argument("key_id", metavar="ID")
@with_store
def revoke(key_id: str, *, store: Store) -> None:
    """End a key: soon no server takes it any more.

    It stays in the list, with the time, and cannot be brought back: make another.
    """
    with store.open() as memory:
        key = memory.keys.revoke(key_id)
    store.answer(key, lambda one: say_keys([one]))


def say_created(made: Mapping[str, Any]) -> None:
    """Print a token for the one time that it can be had."""
    key = made["key"]
    say(
        made["token"],
        f"    {key.role.name.lower()} key {key.id} of tenant {key.tenant}; it is not kept: copy it now",
    )


def say_keys(keys: Sequence[ApiKey]) -> None:
    """Print keys, one a line."""
    if not keys:
        say("there are no keys: the server takes anybody on this machine, and nobody else")
        return
    rows = [
        (one.id, one.role.name.lower(), one.actor, f"{one.created_at:%Y-%m-%d}", _state(one), on_one_line(one.label))
        for one in keys
    ]
    say(*table(rows, head=("id", "role", "actor", "made", "state", "label")))


def _state(key: ApiKey) -> str:
    return "active" if key.revoked_at is None else f"revoked {key.revoked_at:%Y-%m-%d}"
