"""Commands of traits: reflect on what was learned of a user, and read and correct what came of it."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final, cast

import click

from phronesis.errors import NotFound
from phronesis.interfaces.cli import render_traits
from phronesis.interfaces.cli.options import AS_OF, LIMIT, REASON, Store, complete_id, with_store
from phronesis.interfaces.cli.output import show_waiting
from phronesis.interfaces.cli.render import say_edited

if TYPE_CHECKING:
    from phronesis.memory import Memory
    from phronesis.traits.laws.records import Trait


STAGES: Final = ("trend", "candidate", "emerging", "established", "core")
SUBTYPES: Final = ("behavior", "preference", "core")
CONTEXTS: Final = ("work", "personal", "social", "learning", "general")
FACETS: Final = ("personality", "value")
"""The words of `phronesis.traits.laws`, which is not imported for ``--help``; a test holds them together."""

PERSON = click.option("--user", "user_id", metavar="ID", required=True, help="Whose traits.")
_TRAIT = click.argument("trait_id", metavar="ID")


@click.command()
@PERSON
@click.option("--force", is_flag=True, help="Reflect whether it is due or not.")
@click.option("--session-ended", is_flag=True, help="Reflect because a session has ended.")
@click.option("--check", is_flag=True, help="Print only whether it is due; change nothing.")
@with_store
@click.pass_context
def reflect(ctx: click.Context, *, user_id: str, force: bool, session_ended: bool, check: bool, store: Store) -> None:
    """Derive traits from what a user says again and again.

    Only when it is due: enough is new, or the last time is long ago. 'rollback' takes it back. The exit code is 1 when
    a model gave no answer and the round was skipped.
    """
    with store.open() as memory:
        found = memory.should_reflect(user_id)
        if check:
            store.answer(found, render_traits.say_due)
            return
        before = memory.get_user_traits(user_id, STAGES[0])
        with show_waiting("reflecting"):
            cycle = memory.reflect(user_id, force=force, session_ended=session_ended, actor="user")
            memory.flush()
        after = memory.get_user_traits(user_id, STAGES[0])
    store.answer(cycle, lambda one: render_traits.say_reflected(one, found, render_traits.changed_lines(before, after)))
    if cycle.status == "failed":
        ctx.exit(1)


@click.command()
@PERSON
@click.option("--min-stage", type=click.Choice(STAGES), default="emerging", show_default=True, help="At least this.")
@click.option("--subtype", type=click.Choice(SUBTYPES), help="Only these.")
@click.option("--context", type=click.Choice(CONTEXTS), help="Only what shows there.")
@AS_OF
@with_store
def list_traits(
    *, user_id: str, min_stage: str, subtype: str | None, context: str | None, as_of: str | None, store: Store
) -> None:
    """List a user's traits, the surest first.

    Trends and candidates are guesses, and shown only when --min-stage asks for them.
    """
    store.run(
        lambda memory: memory.get_user_traits(user_id, min_stage, subtype, context, as_of=as_of),
        render_traits.say_traits,
    )


@click.command()
@_TRAIT
@AS_OF
@with_store
def show_trait(trait_id: str, *, as_of: str | None, store: Store) -> None:
    """Show a trait with the memories for and against it.

    With its stage and confidence, what it was made of, and what was made of it.
    """
    with store.open() as memory:
        trait_id = complete_id(memory, trait_id)
        rows = memory.traits.evidence(trait_id, as_of=as_of)
        trait = replace(_read(memory, trait_id, as_of), evidence=tuple(rows))
        family = render_traits.Family(
            parents=_find_traits(memory, trait.parent_ids, as_of),
            children=_find_traits(memory, trait.data.get("children", ()), as_of),
        )
    store.answer(trait, lambda one: render_traits.say_trait(one, family))


@click.command()
@_TRAIT
@click.option("--content", metavar="TEXT", help="What is true instead, in one sentence.")
@click.option("--context", type=click.Choice(CONTEXTS), help="Where it shows.")
@click.option("--facet", type=click.Choice(FACETS), help="Of a core trait.")
@REASON
@with_store
def correct_trait(
    trait_id: str, *, content: str | None, context: str | None, facet: str | None, reason: str | None, store: Store
) -> None:
    """Correct a trait; no later reflection writes over it.

    Correct its words, its context or its facet. The history keeps what it was.
    """
    store.run(
        lambda memory, one: memory.traits.correct(
            one, content=content, context=context, facet=facet, reason=reason, actor="user"
        ),
        say_edited,
        trait_id,
        flush=True,
    )


@click.command()
@_TRAIT
@REASON
@with_store
def delete_trait(trait_id: str, *, reason: str | None, store: Store) -> None:
    """Say that a trait is wrong: it does not come back.

    Neither the same words nor the same memories make it again. Its history stays; 'delete --erase' removes it too.
    """
    store.run(lambda memory, one: memory.traits.delete(one, reason=reason, actor="user"), say_edited, trait_id)


@click.command()
@PERSON
@LIMIT
@with_store
def list_cycles(*, user_id: str, limit: int, store: Store) -> None:
    """List the reflections on a user, newest first.

    Each with what set it off, how many memories it looked at and what came of it.
    """
    store.run(lambda memory: memory.traits.reflections(user_id, limit=limit), render_traits.say_cycles)


def _read(memory: "Memory", trait_id: str, as_of: str | None) -> "Trait":
    return cast("Trait", memory.get(trait_id, as_of=as_of))


def _find_traits(memory: "Memory", ids: Iterable[str], as_of: str | None) -> "list[Trait]":
    """Return traits by their ids, but those that were erased, or did not exist yet."""
    found = []
    for one in ids:
        with suppress(NotFound):
            found.append(_read(memory, one, as_of))
    return found
