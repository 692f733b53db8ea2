"""The pages of reference, made from the code: ``python -m phronesis.interfaces.reference docs`` writes them.

Commands, verbs, records, errors, and the fields of a policy with their schema.
"""

import dataclasses
import inspect
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import click
import pydantic

import phronesis
from phronesis import errors
from phronesis.config import effective_policy
from phronesis.config.model_roles import EmbedRole, ExtractRole, Gateway
from phronesis.config.policy_sections import Origin
from phronesis.core import context as records_of_contexts
from phronesis.core import results, retrieval_plan
from phronesis.interfaces.cli.command_tree import FORMER, SECTIONS
from phronesis.interfaces.cli.commands import cli, every_command, find_command, lines_of
from phronesis.interfaces.http.problems import status_of
from phronesis.memory import Memory
from phronesis.memory.admin import Admin
from phronesis.memory.entities import Entities
from phronesis.memory.items import Items, Quarantine
from phronesis.memory.reading import Sessions
from phronesis.memory.resources import Resources
from phronesis.memory.runs import Reasoning, Runs
from phronesis.memory.traits import Traits
from phronesis.wiring import find_engines

MADE: Final = (
    "<!-- Made from the code by `python -m phronesis.interfaces.reference docs`; edit the docstrings, not this. -->"
)
_ROLE: Final = re.compile(r"``([^`\n]+)``")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table; what would end a cell is escaped."""
    lines = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(" ".join(cell.replace("|", "\\|").split()) for cell in line) + " |" for line in lines]


def prose(docstring: str | None) -> str:
    """Return a docstring as Markdown: code in single backticks, sections as bold words and lists."""
    lines = []
    for line in _ROLE.sub(r"`\1`", inspect.cleandoc(docstring or "")).splitlines():
        section = re.fullmatch(r"(Args|Attributes|Raises|Returns|Yields):", line)
        named = re.fullmatch(r" {4}([\w.* ,]+): (.*)", line)
        if section:
            lines += [f"**{section[1]}**", ""]
        elif named:
            lines.append(f"- `{named[1]}`: {named[2]}")
        elif line.startswith("        "):
            lines.append(f"  {line.strip()}")
        else:
            lines.append(line)
    return "\n".join(lines).strip()


def _page(title: str, *lines: str) -> str:
    return "\n".join([MADE, "", f"# {title}", "", *lines]).rstrip() + "\n"


def first_line(value: Any) -> str:
    """Return the first paragraph of a thing's docstring, on one line."""
    return " ".join(prose(inspect.getdoc(value)).partition("\n\n")[0].split())


# The page of the command line, made from the click tree.

_OWNER: Final = ("--user", "--namespace")
_COMMON: Final = (*_OWNER, "--url", "--tenant", "--policy", "--json")
"""Options that most commands have, which the page explains once."""


def commands_page() -> str:
    """Return ``docs/reference/cli.md``: every command under its heading, with its options and examples."""
    lines = [
        "`phronesis --help` lists the commands, `phronesis COMMAND --help` says what one does. Errors are one line on",
        "stderr; the exit code is 0, 1 (it failed, or found something wrong), 2 (it was called wrongly) or 130",
        "(interrupted). Results go to stdout, everything else to stderr.",
        "",
        "An ID may be shortened to any beginning or end of it, from four digits on, that no other id has; commands",
        "print the last eight. If several ids have it, the error lists them.",
        "",
        "These options mean the same for every command that has them; all commands on a store have the last four:",
        "",
        *table(("option", "what it does"), _options(find_command(["get"])[0], common=True)),
        "",
    ]
    for title, commands in SECTIONS.items():
        lines += [f"## {title}", ""]
        for path, command in every_command(cli):
            if path.split()[0] in commands:
                lines += _command(path, command)
    former = [(f"`{name}`", f"`{' '.join(now)}`") for name, now in FORMER.items()]
    lines += ["## Former names", "", "They still run.", "", *table(("former name", "now"), former)]
    return _page("The command line", *lines)


def _command(path: str, command: click.Command) -> Iterator[str]:
    yield from (f"### phronesis {path}", "", inspect.cleandoc(command.help or ""), "")
    if isinstance(command, click.Group):
        if command.commands:
            yield from ("Commands: " + ", ".join(f"`{name}`" for name in command.commands) + ".", "")
        return
    if rows := list(_options(command, common=False)):
        yield from (*table(("option", "what it does"), rows), "")
    if owner := [f"`{name}`" for parameter in command.params for name in parameter.opts if name in _OWNER]:
        yield from (f"{'Also' if rows else 'Options:'} {', '.join(owner)}.", "")
    yield from ("```sh", *lines_of(path), "```", "")


def _options(command: click.Command, *, common: bool) -> Iterator[tuple[str, str]]:
    """Yield a command's own options, or those in common with other commands, each with its help."""
    context = click.Context(command)
    for parameter in command.params:
        record = parameter.get_help_record(context) if isinstance(parameter, click.Option) else None
        if record is not None and (parameter.opts[0] in _COMMON) is common:
            yield f"`{record[0]}`", record[1].strip()


_MODULE: Final = re.compile(r"(?<![\w.])(?:\w++\.)+(?=[A-Za-z_]\w*)")
"""The modules before a type's name: a reader knows a Mapping without them."""


GROUPS: Final[Mapping[str, type]] = {
    "items": Items,
    "entities": Entities,
    "sessions": Sessions,
    "traits": Traits,
    "resources": Resources,
    "reasoning": Reasoning,
    "runs": Runs,
    "quarantine": Quarantine,
    "admin": Admin,
}
"""The groups of verbs of a ``Memory``, by its attribute."""

_MOVES: Final = (
    ("`archive unarchive pin unpin retract delete_all due`", "`memory.items`"),
    ("`list_sessions`, `get_turns`", "`memory.sessions.list`, `.turns`"),
    (
        "`get_trait_evidence`, `correct_trait`, `list_reflections`",
        "`memory.traits.evidence`, `.correct`, `.reflections`",
    ),
    ("`ingest_resource`, `get_resource`", "`memory.resources.ingest`, `.get`"),
    ("`ingest_source get_source get_episode`", "`memory.resources`"),
    (
        "`add_reasoning`, `check_claims`, `mem_get`, `rebuild_claim_index`",
        "`memory.reasoning.add`, `.check`, `.get`, `.rebuild_index`",
    ),
    (
        "`record_run`, `run_feedback`, `list_runs`, `get_run`, `review_run`",
        "`memory.runs.record`, `.feedback`, `.list`, `.get`, `.review`",
    ),
    ("`quarantine_list`, `quarantine_release`, `quarantine_reject`", "`memory.quarantine.list`, `.release`, `.reject`"),
    ("`rebuild rederive retry reembed doctor jobs overview keys`", "`memory.admin`"),
    ("`migrate_memories`, `list_users`", "`memory.admin.migrate`, `.users`"),
)


def memory_page() -> str:
    """Return ``docs/reference/memory.md``: every verb of Memory with its signature and what it promises."""
    lines = [
        prose(inspect.getdoc(Memory)),
        "",
        "`AsyncMemory` has the same verbs as coroutines, and `Client` those that a server offers. Every result is a",
        "[record](records.md) with `to_dict()`, every error one of [these](errors.md).",
        "",
    ]
    for part in (Memory, *Memory.__mro__[1:-2]):
        lines += _verbs(part, "memory")
    for group, part in GROUPS.items():
        lines += [f"## memory.{group}", "", prose(inspect.getdoc(part)), ""]
        for owner in part.__mro__[:-2]:  # without the base of every group
            lines += _verbs(owner, f"memory.{group}")
    lines += [
        "## What moved",
        "",
        "Earlier development versions had these verbs on `Memory` itself; there are no aliases.",
        "",
        *table(("before", "now"), _MOVES),
    ]
    return _page("Memory", *lines)


def records_page() -> str:
    """Return ``docs/reference/records.md``: the fields of every record that a verb gives."""
    named = {getattr(phronesis, name) for name in phronesis.__all__}
    modules = (results, retrieval_plan, records_of_contexts)
    named |= {one for module in modules for one in vars(module).values() if isinstance(one, type)}
    named.remove(records_of_contexts.Candidates)  # what is chosen from, which no verb gives
    records = {one.__name__: one for one in named if dataclasses.is_dataclass(one) and isinstance(one, type)}
    lines = ["Frozen, typed, with `to_dict()` for plain JSON values.", ""]
    for name, record in sorted(records.items()):
        rows = [
            (f"`{field.name}`", f"`{_type(field.type)}`", _default(field))
            for field in dataclasses.fields(record)
            if not field.name.startswith("_")
        ]
        lines += [f"## {name}", "", prose(inspect.getdoc(record)), "", *table(("field", "type", "default"), rows), ""]
    return _page("Records", *lines)


def errors_page() -> str:
    """Return ``docs/reference/errors.md``: every error with its code."""
    found = [one for one in vars(errors).values() if isinstance(one, type) and issubclass(one, errors.PhronesisError)]
    rows = []
    for one in found:
        status, base = str(int(status_of(one("")))), one.__bases__[0].__name__
        rows.append((f"`{one.__name__}`", f"`{one.code}`", status, f"`{base}`", first_line(one)))
    return _page(
        "Errors",
        "A message names the field and the remedy; `code` is for programs and does not change. `details` and `field`",
        "are of the error too, and `to_dict()` gives all of it. HTTP is the status with which a server answers.",
        "",
        *table(("error", "code", "HTTP", "is a", "when"), rows),
    )


def policy_page() -> str:
    """Return ``docs/reference/policy.md``: every field of a policy with its default and what it says."""
    policy = find_engines().policy
    rows: list[tuple[str, str, str]] = []
    before = ""
    for one in effective_policy(policy(), Origin()):
        text = _field_description(policy, one.path)
        value = json.dumps(one.value, ensure_ascii=False)
        rows.append((f"`{one.path}`", f"`{value}`", "" if text == before else text))
        before = text
    lines = [
        "What stands in force when a `brain.yml` says nothing. [The policy file](../how-to/policies.md) explains the",
        "choices, [models](../how-to/models.md) the roles; `phronesis doctor` prints this table for your own file.",
        "",
        *table(("field", "default", "what it says"), rows),
        "",
    ]
    for title, part in (("A gateway", Gateway), ("A role", ExtractRole), ("The role embed", EmbedRole)):
        members = [(f"`{name}`", field.description or "") for name, field in part.model_fields.items()]
        lines += [f"## {title}", "", first_line(part), "", *table(("member", "what it says"), members), ""]
    return _page("Fields of a policy", *lines)


def _field_description(policy: type[pydantic.BaseModel], path: str) -> str:
    """Return what a field says of itself: of the innermost model on its path that is a part of the policy."""
    part, text = policy, ""
    for name in path.split("."):
        if name not in part.model_fields:
            break
        field = part.model_fields[name]
        text = field.description or text
        inner = field.annotation
        if not (isinstance(inner, type) and issubclass(inner, pydantic.BaseModel)):
            break
        part = inner
    return " ".join(prose(text).split())


def policy_schema() -> str:
    """Return ``docs/brain.schema.json``, by which editors check and complete a brain.yml."""
    return json.dumps(find_engines().policy.model_json_schema(), indent=2) + "\n"


def _verbs(part: type, owner: str) -> Iterator[str]:
    for name, verb in vars(part).items():
        if name.startswith("_"):
            continue
        if isinstance(verb, property):
            yield from (f"### {owner}.{name}", "", prose(inspect.getdoc(verb)), "")
        elif isinstance(verb, staticmethod):
            yield from _verb(name, getattr(part, name), owner="Memory", static=True)
        elif callable(verb):
            yield from _verb(name, verb, owner=owner)


def _verb(name: str, verb: Any, *, owner: str, static: bool = False) -> Iterator[str]:
    heading = f"## {name}" if owner in {"memory", "Memory"} else f"### {owner}.{name}"
    yield from (heading, "", "```python", *_signature(name, verb, owner=owner, static=static), "```", "")
    yield from (prose(inspect.getdoc(verb)), "")


def _signature(name: str, verb: Any, *, owner: str, static: bool) -> Iterator[str]:
    signature = inspect.signature(verb)
    annotation = signature.return_annotation
    gives = "" if annotation is inspect.Parameter.empty else f" -> {_type(annotation)}"
    parameters = list(signature.parameters.values())[0 if static else 1 :]
    if not parameters:
        yield f"{owner}.{name}(){gives}"
        return
    yield f"{owner}.{name}("
    starred = False
    for parameter in parameters:
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            starred = True
            yield "    *,"
        default = "" if parameter.default is parameter.empty else f" = {parameter.default!r}"
        yield f"    {parameter.name}: {_type(parameter.annotation)}{default},"
    yield f"){gives}"


def _type(annotation: Any) -> str:
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return _MODULE.sub("", text).replace("'", "")


def _default(field: "dataclasses.Field[Any]") -> str:
    if field.default is not dataclasses.MISSING:
        return f"`{field.default!r}`"
    if field.default_factory is not dataclasses.MISSING:
        return f"`{field.default_factory()!r}`"
    return "required"


PAGES: Final[Mapping[str, Callable[[], str]]] = {
    "reference/cli.md": commands_page,
    "reference/memory.md": memory_page,
    "reference/records.md": records_page,
    "reference/errors.md": errors_page,
    "reference/policy.md": policy_page,
    "brain.schema.json": policy_schema,
}
"""Of each page: its path under ``docs/``, and what gives its text."""


def write_pages(folder: Path) -> None:
    """Write every page under ``folder``, over what stands there."""
    for path, page in PAGES.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(page(), "utf-8", newline="\n")


if __name__ == "__main__":
    write_pages(Path(sys.argv[1] if len(sys.argv) > 1 else "docs"))
