"""A look at everything that can be wrong with a store, each with what to do about it. It changes nothing."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from phronesis.config.roles import RULES
from phronesis.core.results import Check, DoctorReport, PolicyValue
from phronesis.derive.handler import DEGRADED_ROLE, Registry
from phronesis.derive.jobs import failed_entries, without_vector
from phronesis.errors import HandlerMissing, IndexUnavailable, MissingExtra, ModelError, PhronesisError, StorageError
from phronesis.index.mirror import Mirror
from phronesis.models.embedders import Embedders
from phronesis.models.roster import Effective, Roster
from phronesis.models.token_counter import TokenCounter
from phronesis.models.trial import try_role
from phronesis.storage import health
from phronesis.storage.database import Database, Mode, Unit
from phronesis.storage.documents import active_model
from phronesis.storage.lanes import Lane, list_behind, list_lanes
from phronesis.storage.migrate import HEAD, read_version
from phronesis.storage.migrate import REMEDY as UPGRADE
from phronesis.storage.transfer import last_seq
from phronesis.truth.chain import Break
from phronesis.truth.reader import check_chain, load_entries

ENOUGH_BYTES: Final = 100_000_000
"""Free space below which a store will soon stop taking writes."""

NAMED: Final = 5
"""Ids named in a detail; the count tells the rest."""

_WANTED: Final[tuple[tuple[Mode, str, str, str], ...]] = (
    ("append", "synchronous", "2", "an acknowledged entry could be lost with the power"),
    ("read", "journal_mode", "wal", "readers and writers wait for each other"),
    ("read", "secure_delete", "1", "what is erased could be read in the file"),
)
"""SQLite's settings as they must be: transaction, pragma, value, what another value means."""


@dataclass(frozen=True, slots=True)
class Doctor:
    """Checks one tenant's store, and tells the policy in force."""

    database: Database
    registry: Registry
    embedders: Embedders
    counter: Callable[[], TokenCounter]
    roster: Roster
    mirror: Mirror | None = None
    policy: Sequence[PolicyValue] = ()

    def examine(self, tenant: str) -> DoctorReport:
        """Run every check; one that cannot be run has failed, and says why."""
        checks = (
            self._schema, self._settings, self._isolation, self._writable, self._space, self._imports, self._chain,
            self._pending, self._failed, self._degraded, self._embedder, self._vectors, self._index, self._tokens,
            self._roles, self._spending,
        )  # fmt: skip
        found: list[Check] = []
        for check in checks:
            try:
                found += (replace(said, remedy=None) if said.ok else said for said in check(tenant))
            except PhronesisError as error:
                found.append(Check(check.__name__.strip("_"), ok=False, detail=error.message, remedy=error.code))
        return DoctorReport(tuple(found), tuple(self.policy))

    def _schema(self, _tenant: str) -> Iterator[Check]:
        version = read_version(self.database)
        yield Check("schema", version == HEAD, f"the database is at {version}, this version needs {HEAD}", UPGRADE)

    def _settings(self, tenant: str) -> Iterator[Check]:
        """On SQLite, the pragmas that durability, concurrency and erasure stand on."""
        if self.database.dialect != "sqlite":
            return
        for mode, name, wanted, otherwise in _WANTED:
            held = health.sqlite_settings(self.database, tenant, mode)[name]
            in_memory = self.database.path is None and name == "journal_mode"
            remedy = f"{otherwise}: put the file on a local disk, and let only Phronesis open it"
            yield Check(name, held == wanted or in_memory, f"{name} is {held} in a transaction that may {mode}", remedy)

    def _isolation(self, tenant: str) -> Iterator[Check]:
        """On PostgreSQL, row-level security."""
        if self.database.dialect == "postgresql":
            open_ones = health.unprotected_tables(self.database, tenant)
            detail = f"row-level security does not hold for: {', '.join(open_ones) or 'nothing'}"
            yield Check("isolation", not open_ones, detail, f"connect as another role, or {UPGRADE}")

    def _writable(self, tenant: str) -> Iterator[Check]:
        try:
            health.try_writing(self.database, tenant)
        except StorageError as error:
            yield Check(
                "writable", ok=False, detail=error.message, remedy="mend the cause; nothing is recorded until then"
            )
        else:
            yield Check("writable", ok=True, detail="a row was written and deleted")

    def _space(self, _tenant: str) -> Iterator[Check]:
        free = health.free_bytes(self.database)
        if free is not None:
            yield Check("space", free >= ENOUGH_BYTES, f"{free // 1_000_000:,} MB are free", "free space on this disk")

    def _imports(self, tenant: str) -> Iterator[Check]:
        with self.database.transaction(tenant, "read") as unit:
            staged = [lane.lane_id for lane in list_lanes(unit) if last_seq(unit, lane.lane_id) > lane.head_seq]
        detail = f"{len(staged)} lanes hold entries of an import that was not finished"
        yield Check("imports", not staged, detail, "import the same file again: it goes on where it stopped")

    def _chain(self, tenant: str) -> Iterator[Check]:
        broken: list[Break] = []
        with self.database.transaction(tenant, "read") as unit:
            lanes = list_lanes(unit)
            for lane in lanes:
                broken += check_chain(unit, lane)
        named = "; ".join(f"lane {b.lane_id} seq {b.seq}: {b.problem}" for b in broken[:NAMED])
        detail = f"{len(broken)} breaks in {len(lanes)} lanes{': ' if named else ''}{named}"
        yield Check("chain", not broken, detail, "restore the database from a copy or an export; the log was altered")

    def _pending(self, tenant: str) -> Iterator[Check]:
        with self.database.transaction(tenant, "read") as unit:
            behind = list_behind(unit)
            stuck = [reason for lane in behind if (reason := self._stuck(unit, lane)) is not None]
        count = sum(lane.head_seq - lane.applied_seq for lane in behind)
        detail = f"{count} entries in {len(behind)} lanes wait for their interpretation"
        yield Check("pending", not count, detail, stuck[0] if stuck else "call flush(), or run `phronesis worker`")

    def _stuck(self, unit: Unit, lane: Lane) -> str | None:
        """Say why a lane's next entry cannot be interpreted here, if it cannot."""
        entry = load_entries(unit, lane, after=lane.applied_seq, until=lane.head_seq, limit=1)[0]
        try:
            self.registry[entry.verb].apply_of(entry.handler_version)
        except HandlerMissing as error:
            return error.message
        return None

    def _failed(self, tenant: str) -> Iterator[Check]:
        with self.database.transaction(tenant, "read") as unit:
            open_ones = [entry.id for entry in failed_entries(unit)]
        detail = f"{len(open_ones)} entries could not be interpreted{': ' if open_ones else ''}"
        remedy = f"mend the cause, then call retry('{open_ones[0]}')" if open_ones else None
        yield Check("failed", not open_ones, detail + ", ".join(open_ones[:NAMED]), remedy)

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
        yield Check("embedder", fits, detail, "open with the encoder that made the vectors, or call reembed(model)")

    def _vectors(self, tenant: str) -> Iterator[Check]:
        with self.database.transaction(tenant, "read") as unit:
            missing = without_vector(unit, self.embedders)
        yield Check("vectors", not missing, f"{missing} documents have no vector yet", "call flush()")

    def _index(self, tenant: str) -> Iterator[Check]:
        """Say where claims are searched; of an index outside the database, how far behind and how right it is."""
        if self.mirror is None:
            yield Check("index", ok=True, detail="claims are searched in the database itself")
            return
        name = self.mirror.index.name
        try:
            found = self.mirror.standing(tenant)
        except IndexUnavailable as error:
            yield Check(
                "index", ok=False, detail=error.message, remedy="mend the cause; until then the database answers"
            )
            return
        wrong = 0 if found.behind else found.missing + found.strange
        detail = (
            f"claims are searched in {name}: {found.documents} documents, {found.behind} lanes not followed to their"
            f" end, {found.missing} documents missing or altered, {found.strange} that belong to nothing"
        )
        remedy = "call flush()" if found.behind else "call rebuild_claim_index()"
        yield Check("index", not found.behind and not wrong, detail, remedy)

    def _tokens(self, _tenant: str) -> Iterator[Check]:
        counter = self.counter()
        kind = "exact for its vocabulary" if counter.exact else "an upper bound for any model"
        yield Check("tokens", ok=counter.count("one two") > 0, detail=f"the token counter is {counter.name}, {kind}")

    def _degraded(self, tenant: str) -> Iterator[Check]:
        """Tell of entries that rules interpreted because a model was away: complete, and perhaps not the best."""
        with self.database.transaction(tenant, "read") as unit:
            count = len(health.entries_with_outcome(unit, DEGRADED_ROLE))
        detail = f"{count} entries were interpreted by rules because their model was away"
        yield Check("degraded", ok=True, detail=f"{detail}; rederive asks again" if count else detail)

    def _roles(self, tenant: str) -> Iterator[Check]:
        """Say of every role who does its work, and ask each model that something uses."""
        for one in self.roster.effective():
            name = f"role.{one.role}"
            if one.by == RULES:
                detail = "by rules" if one.used else "by rules; nothing asks a model for it yet"
                yield Check(name, ok=True, detail=detail)
            elif not one.used:
                yield Check(name, ok=True, detail=f"{one.by} is configured, and nothing asks it yet")
            else:
                yield self._tried(name, one, tenant)

    def _tried(self, name: str, one: Effective, tenant: str) -> Check:
        try:
            try_role(self.roster, one.role, tenant)
        except (ModelError, MissingExtra) as error:
            remedy = f"start or mend the gateway of {one.by}; until then rules stand in, and results say so"
            return Check(name, ok=False, detail=f"{one.by}: {error.message}", remedy=remedy)
        return Check(name, ok=True, detail=f"{one.by} answers")

    def _spending(self, tenant: str) -> Iterator[Check]:
        """Tell what models have taken today, and which of them a bound of money cannot hold."""
        spent, free = self.roster.spent(tenant), self.roster.without_price()
        detail = f"today {spent.calls:,} calls to models took {spent.tokens:,} tokens and cost {spent.cost:.4f}"
        unknown = f"; {', '.join(free)} has no price and counts as free" if free else ""
        yield Check("spending", not free, detail + unknown, "add it under prices, or take limits.cost_per_day away")
