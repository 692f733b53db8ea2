"""The server, from the command line."""

import gc
import logging
import sys
from typing import Any

import click

from phronesis.interfaces.cli.options import Store, with_store
from phronesis.interfaces.cli.printing import say, say_json


@click.command()
@click.option("--host", metavar="NAME", help="Where it listens; default 127.0.0.1, this machine alone.")
@click.option("--port", type=int, metavar="NUMBER", help="The port; default 8765, 0 for one that is free.")
@click.option("--keys-required/--no-keys-required", default=None, help="Ask everybody for an API key.")
@click.option("--allow-host", "allowed_hosts", metavar="NAME", multiple=True, help="A name it answers to; repeatable.")
@click.option("--cors-origin", "cors_origins", metavar="URL", multiple=True, help="A site whose pages may call it.")
@with_store
def serve(*, store: Store, **options: Any) -> None:
    """Serve HTTP, until stopped.

    Without API keys only this machine reaches it. 'keys create' makes one; from then on everybody needs one, and
    --host 0.0.0.0 may be given. Ctrl-C or SIGTERM finishes what runs.
    """
    gc.disable()  # until it listens: nothing that is imported is garbage, and looking through it takes a twelfth
    try:
        _serve(store, {name: value for name, value in options.items() if value not in (None, ())})
    finally:
        gc.enable()


def _serve(store: Store, given: dict[str, Any]) -> None:
    from phronesis.config import load_settings  # noqa: PLC0415 - pydantic: not for --help
    from phronesis.interfaces.serving import serve as run  # noqa: PLC0415 - SQLAlchemy and numpy: the same

    policy = load_settings(store.url, tenant=store.tenant, policy=store.policy).policy
    serving = policy.server.overridden(given)
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(message)s")
    logging.getLogger("phronesis.access").setLevel(logging.INFO)
    with store.open() as memory:
        run(memory, serving, say=lambda url: _listens(store, url))


def _listens(store: Store, url: str) -> None:
    gc.freeze()
    gc.enable()
    if store.as_json:
        say_json({"url": url})
    else:
        say(f"Phronesis listens at {url}", f"    API        {url}/api/v1", f"    documented {url}/docs")
    sys.stdout.flush()
