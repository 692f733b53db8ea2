"""What a line of ``phronesis chat`` does: a message is answered and remembered, a command looks or takes back."""

import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from phronesis.core.context import ContextPackage
from phronesis.core.items import Item
from phronesis.errors import InputError, PhronesisError
from phronesis.interfaces.cli import render
from phronesis.interfaces.cli.options import Options, Store, complete_id, with_scope_of_context, with_store
from phronesis.interfaces.cli.output import clean, on_one_line, say, show_waiting

if TYPE_CHECKING:
    from phronesis.memory import Memory


ROLE: Final = "chat"
MAX_FOUND: Final = 5
"""Messages that ``/forget`` shows for a text, and other memories besides."""

HELP: Final = (
    "/why             what the last context stood on, with the words it was said in",
    "/context         the last context, as it is sent",
    "/forget TEXT     finds memories, and archives those that you name; or /forget ID",
    "/undo            takes back the last turn, or what was forgotten last",
    "/quit            ends; so does the end of the input",
)
_COMMAND: Final = re.compile(r"/(\w+)(?:\s+(.*))?", re.DOTALL)
_ID: Final = re.compile(r"(?:mem:)?[0-9a-f-]{8,36}")
_NUMBERS: Final = re.compile(r"\d{1,3}(?:[\s,]+\d{1,3})*")


class Conversation:
    """One session at the terminal. It keeps what ``/why`` tells of and ``/undo`` takes back."""

    def __init__(self, memory: "Memory", scope: Options, *, show: bool, as_json: bool) -> None:
        self._memory = memory
        self._named = dict(scope)
        started = memory.admin.components.clock().strftime("%Y%m%d-%H%M%S")
        self._session: str = self._named.pop("session_id", f"chat-{started}")
        self._show = show
        self._as_json = as_json
        self._model = memory.admin.components.roster.asker(ROLE)
        self._last: ContextPackage | None = None
        self._done: list[tuple[str, Sequence[str]]] = []
        self._commands: dict[str, Callable[[str, Iterator[str]], None]] = {
            "why": self._show_sources,
            "context": self._context,
            "forget": self._forget,
            "undo": self._undo,
            "help": self._help,
        }

    def greet(self, *, told: bool) -> None:
        """Say on stderr who answers; on a terminal (``told``) also where this is kept."""
        if told:
            click.echo(f"session {on_one_line(self._session)}; /help lists commands", err=True)
        if self._model is None:
            click.echo("no model has the role chat: what would be sent to one is shown", err=True)

    def take(self, line: str, following: Iterator[str]) -> bool:
        """Do what a line says; a command may ask for a ``following`` one. False: the conversation ends."""
        found = _COMMAND.fullmatch(line)
        name = found[1].lower() if found is not None else None
        if name in ("quit", "exit"):
            return False
        try:
            if found is None or name is None:
                self._answer(line)
            elif name in self._commands:
                self._commands[name]((found[2] or "").strip(), following)
            else:
                click.echo(f"there is no /{name}; /help lists what there is", err=True)
        except PhronesisError as error:
            click.echo(on_one_line(f"phronesis: {error.message} [{error.code}]"), err=True)
        return True

    def _answer(self, text: str) -> None:
        with show_waiting("composing"):
            package = self._last = self._memory.compose_context(self._session, text, **self._named)
        if not self._as_json and (self._show or self._model is None):
            render.say_context(package, form="text")
        said = [{"role": "user", "content": text}]
        answer = self._ask_model(package)
        if answer is not None and self._model is not None:
            said.append({"role": "assistant", "content": answer, "model": self._model.name})
            if not self._as_json:
                say(clean(answer))
        with show_waiting("remembering"):
            done = self._memory.commit_turn(
                self._session, {"messages": said}, **self._named, context_id=package.context_id
            )
        self._done.append(("turn", [done.entry_id]))
        render.say_degraded(done.degraded)
        if self._as_json:
            told = {
                "answer": answer,
                "context_id": package.context_id,
                "entry_id": done.entry_id,
                "citations": _citations(package),
                "aliases": dict(package.citations),
                "context": package.render("messages"),
            }
            say(json.dumps(told, ensure_ascii=False))

    def _ask_model(self, package: ContextPackage) -> str | None:
        """Return the model's answer; None, and why on stderr, when there is none.

        What was said is kept all the same.
        """
        from phronesis.errors import ModelError  # noqa: PLC0415
        from phronesis.models.structured_client import Message  # noqa: PLC0415 - numpy and all: not for --help

        if self._model is None:
            return None
        messages = [Message(one["role"], one["content"]) for one in package.render("messages")]
        try:
            with show_waiting(f"{self._model.name} answers"):
                return self._model.talk(self._memory.admin.tenant, messages)
        except ModelError as error:
            click.echo(f"chat: {self._model.name} gave no answer ({error.code})", err=True)
            return None

    def _show_sources(self, _rest: str, _following: Iterator[str]) -> None:
        """Show what the last context cited, each with its sources' own words."""
        package = self._last
        if package is None:
            click.echo("nothing was asked yet", err=True)
            return
        cited = _citations(package)
        if not cited:
            say("the last context cites no memory")
        names = {citation: alias for alias, citation in package.citations.items()}
        for citation in cited:
            explained = self._memory.explain(citation)
            alias = f"[{names[citation]}] " if citation in names else ""
            say(f"{alias}{on_one_line(explained.item.content)}", f"   {render.about(explained.item)}")
            for source in explained.sources:
                say(*render.source_lines(source))

    def _context(self, _rest: str, _following: Iterator[str]) -> None:
        if self._last is None:
            click.echo("nothing was asked yet", err=True)
        else:
            render.say_context(self._last, form="text")

    def _forget(self, rest: str, following: Iterator[str]) -> None:
        """Find, show, ask, archive."""
        if not rest:
            raise InputError("forget what? give words to find it by, or its id", field="forget")
        found = [self._memory.get(complete_id(self._memory, rest))] if _ID.fullmatch(rest) else self._find_items(rest)
        if not found:
            say("nothing like it is remembered")
            return
        for n, item in enumerate(found, start=1):
            say(f"{n}. {on_one_line(item.content)}", f"   {render.about(item)}")
        say("forget which? numbers, all, or anything else for none")
        chosen = _choose_items(next(following, ""), found)
        entries = [
            self._memory.delete(item.id, reason="forgotten in the chat", actor="user").entry_id for item in chosen
        ]
        if entries:
            self._done.append(("forget", entries))
        say(f"forgotten: {len(entries)}; /undo takes it back" if entries else "nothing was forgotten")

    def _find_items(self, text: str) -> list[Item]:
        """Return messages, and what else is remembered: one that a fact was taken from is as much to be forgotten."""
        said = self._memory.search(text, limit=MAX_FOUND, kinds=["message"], **self._named)
        held = self._memory.search(text, limit=MAX_FOUND, **self._named)
        return list({one.item.id: one.item for one in (*said, *held)}.values())

    def _undo(self, _rest: str, _following: Iterator[str]) -> None:
        if not self._done:
            say("there is nothing to take back")
            return
        what, entries = self._done[-1]
        for entry_id in reversed(entries):
            self._memory.rollback(entry_id, actor="user")
        self._done.pop()
        told = (
            "the last turn is not remembered any more" if what == "turn" else "what was forgotten is remembered again"
        )
        say(told)

    def _help(self, _rest: str, _following: Iterator[str]) -> None:
        say(*HELP)


def _citations(package: ContextPackage) -> list[str]:
    """Return the memories that a context cites, in its order, each once."""
    blocks = [*package.system_blocks, *package.working_summary]
    cited = [citation for block in blocks for citation in block.citations if citation.startswith("mem:")]
    return list(dict.fromkeys([*cited, *(evidence.item.citation for evidence in package.evidence)]))


def _choose_items(answer: str, found: Sequence[Item]) -> list[Any]:
    """Return the items that an answer names: by number, or all of them (yes, where there is one)."""
    word = answer.strip().lower()
    if word in ("all", "全部") or (word in ("y", "yes", "是") and len(found) == 1):
        return list(found)
    if not _NUMBERS.fullmatch(word):
        return []
    numbers = dict.fromkeys(int(one) for one in re.findall(r"\d+", word))
    return [found[n - 1] for n in numbers if 1 <= n <= len(found)]


# ``phronesis chat``: a conversation on the terminal, over any configured model or none.

PROMPT: Final = "> "


@click.command()
@with_scope_of_context
@click.option("--show", is_flag=True, help="Print each composed context before its answer.")
@with_store
def chat(*, store: Store, scope: Options, show: bool) -> None:
    """Chat with a model that remembers.

    Each line is a message: its context is composed, the model of the role chat answers, and both are remembered.
    Without a model the context is printed instead. /help lists the commands; the end of input, Ctrl-C or /quit ends
    it. In a pipe only the answers are printed; with --json each is one line of JSON.
    """
    with store.open() as memory:
        talk = Conversation(memory, scope, show=show, as_json=store.as_json)
        talk.greet(told=sys.stdin.isatty())
        lines = _lines()
        for line in lines:
            try:
                if not talk.take(line, lines):
                    break
            except KeyboardInterrupt:
                click.echo("interrupted", err=True)
        memory.flush()


def _lines() -> Iterator[str]:
    """Return the input line by line, with a prompt on a terminal; it ends with the input, or with Ctrl-C."""
    asked = sys.stdin.isatty()
    while True:
        if asked:
            click.echo(PROMPT, nl=False, err=True)
        try:
            line = sys.stdin.readline()
        except KeyboardInterrupt:
            line = ""
        if not line:
            if asked:
                click.echo(err=True)
            return
        if line.strip():
            yield line.strip()
