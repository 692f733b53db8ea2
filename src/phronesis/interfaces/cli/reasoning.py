"""Commands of the reasoning bank."""

from collections.abc import Sequence
from typing import IO, Any

import click

from phronesis.core.results import ClaimIndexResult
from phronesis.errors import Violation
from phronesis.interfaces.cli.options import JSON, Store, with_store
from phronesis.interfaces.cli.printing import say, say_json
from phronesis.interfaces.cli.progress import waiting
from phronesis.interfaces.cli.text import on_one_line, read_text


@click.command("check-claims")
@click.argument("file", type=click.File(encoding="utf-8"), default="-")
@click.option("--status", default="active", show_default=True, help="Of the item: active or archived.")
@JSON
@click.pass_context
def check_claims(ctx: click.Context, *, file: IO[str], status: str, as_json: bool) -> None:
    """Say what a block of claims breaks, before it is stored.

    FILE is a text of RBMEM_CLAIMS_V1, by default standard input. The exit code is 1 when it would be refused.
    """
    from phronesis.derive.claims_gate.gate import gate  # noqa: PLC0415 - its tables of patterns: not for --help

    violations = gate(read_text(file), status)
    (say_json if as_json else say_violations)(violations)
    if violations:
        ctx.exit(1)


@click.command("rebuild-claim-index")
@with_store
def rebuild_claim_index(*, store: Store) -> None:
    """Make the search documents of reasoning anew.

    From the items, where the index differs from them; an index outside the database is filled anew. Tells how many were
    wrong.
    """
    with store.open() as memory:
        with waiting("looking at every claim"):
            result = memory.rebuild_claim_index()
        memory.flush()
    store.answer(result, say_reindexed)


def say_violations(violations: Sequence[Violation]) -> None:
    """Print what is broken, each with its place."""
    if not violations:
        say("lawful")
    say(*map(violation_line, violations))


def violation_line(violation: Violation) -> str:
    """Give one violation: the line, the rule, the claim, what is wrong."""
    named: list[Any] = [f"line {violation.line}" if violation.line is not None else None, violation.rule]
    named.append(f"claim {violation.claim_id}" if violation.claim_id is not None else None)
    return on_one_line(" ".join(str(name) for name in named if name is not None) + f": {violation.message}")


def say_reindexed(result: ClaimIndexResult) -> None:
    """Print how much there is, and how much was wrong."""
    say(
        f"{result.items} items with {result.claims} claims, {result.documents} search documents:"
        + (f" {result.repaired} put right" if result.repaired else " nothing was wrong")
    )
    if result.repaired_outside is not None:
        say(f"in the index outside the database {result.repaired_outside} were put right")
