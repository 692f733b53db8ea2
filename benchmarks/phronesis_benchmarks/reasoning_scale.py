"""How the reasoning bank's cost grows: many items of several claims, in English and Chinese, and runs to learn from."""

import json
import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from phronesis import Memory
from phronesis.errors import InputError
from phronesis.reasoning.learn_candidates import MAX_CANDIDATES
from phronesis_benchmarks.scale import HEAD, WARM, Latency, Progress, TimedEmbedder, draw_words, opened_place, spell
from phronesis_benchmarks.stopwatch import Duration, Stopwatch, per_second

_TENANT: Final = "reasoning-scale"
_NAMESPACE: Final = "bank"
_SCOPES: Final = ("tio2_expert", "orchestrator", "screening")
_METALS: Final = ("Cu", "Zn", "Ti", "Ag", "Au", "Bi", "Sn", "In")
_PRODUCTS: Final = (("formate", "甲酸"), ("CO", "一氧化碳"), ("ethylene", "乙烯"), ("methane", "甲烷"))
_MODIFIERS: Final = ("imidazole", "cysteamine", "benzoic acid", "melamine")
_WORDS: Final = 10
_QUESTION_WORDS: Final = 4
_MAX_CLAIMS: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningReport:
    """What one run measured, on one database. ``searches`` by what decides (words, vectors) and whether it is scoped.

    ``encoding`` is what the query's encoder took of the searches with vectors; their own figures hold it.
    """

    database: str
    items: int
    claims: int
    runs: int
    added_per_cpu_second: float
    searches: dict[str, Latency]
    encoding: Latency
    learn: Latency
    judged: float
    claims_per_second: float
    claims_per_cpu_second: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return asdict(self)

    def to_markdown(self) -> str:
        """Return the table."""
        rows = [(f"mem_search, {name}", one) for name, one in self.searches.items()]
        rows += [("of these, encoding the query", self.encoding), (f"learn on {MAX_CANDIDATES} candidates", self.learn)]
        return (
            f"{self.items:,} items of {self.claims} claims and {self.runs:,} runs on {self.database}; no model.\n\n"
            + HEAD
            + "".join(f"| {name} | {one.cells()} |\n" for name, one in rows)
            + f"\nreasoning.add: {self.added_per_cpu_second:.0f} items a CPU second. A learn judged {self.judged:.0f}"
            f" claims. reasoning.rebuild_index: {self.claims_per_second:,.0f} claims/s,"
            f" {self.claims_per_cpu_second:,.0f} a CPU second."
        )


def run_reasoning_scale(
    *,
    items: int = 10_000,
    claims: int = 5,
    runs: int = 1_000,
    calls: int = 100,
    url: str | None = None,
    seed: int = 0,
    on_progress: Progress = lambda *_: None,
) -> ReasoningReport:
    """Fill a store with ``items`` blocks of ``claims`` claims and ``runs`` runs; time ``calls`` searches and learns.

    Without ``url``, in a SQLite file of its own that is deleted afterwards; a given database must hold no store of
    this benchmark yet. InputError for counts that cannot be measured.
    """
    if items < 1 or not 1 <= claims <= _MAX_CLAIMS or calls <= WARM or runs < 0:
        raise InputError(f"items must be 1 at least, claims 1 to {_MAX_CLAIMS}, calls more than {WARM}", field="items")
    bank = Bank(random.Random(seed), on_progress)  # noqa: S311 - repeatable text, no secret
    with opened_place(url) as where:
        with Memory.open(where, tenant=_TENANT, policy={"embedder": "none"}) as memory:
            spent = bank.fill(memory, items, claims, runs)
            searches = bank.search(memory, "words", calls)
            learn, judged = bank.learn(memory, calls)
            watch = Stopwatch()
            rebuilt = memory.reasoning.rebuild_index()
            index = watch.read()
        encoder = TimedEmbedder()
        with Memory.open(where, tenant=_TENANT, embedder=encoder) as memory:
            on_progress("making vectors", 0, 1)
            memory.flush()
            searches |= bank.search(memory, "vectors", calls)
    return ReasoningReport(
        database=where.partition(":")[0],
        items=items,
        claims=claims,
        runs=runs,
        searches=searches,
        added_per_cpu_second=per_second(items, spent.cpu),
        encoding=Latency.of(encoder.times),
        learn=learn,
        judged=judged,
        claims_per_second=per_second(rebuilt.claims, index.wall),
        claims_per_cpu_second=per_second(rebuilt.claims, index.cpu),
    )


@dataclass(slots=True)
class Bank:
    """Blocks of claims and runs, the same for one seed, and the calls that are timed on them."""

    draw: random.Random
    on_progress: Progress = lambda *_: None
    _by_pair: dict[tuple[str, str], list[str]] = field(default_factory=dict)

    def fill(self, memory: Memory, items: int, claims: int, runs: int) -> Duration:
        """Add the blocks, and the runs with their feedback; gives what the blocks took."""
        watch = Stopwatch()
        for n in range(items):
            pair = self._pair()
            made = memory.reasoning.add(self._block(pair, claims, n), namespace=_NAMESPACE)
            self._by_pair.setdefault(pair, []).append(made.id)
            self.on_progress("adding items", n, items)
        spent = watch.read()
        for n in range(runs):
            self._run(memory, f"early-{n}", self._pair(), ())
            self.on_progress("recording runs", n, runs)
        return spent

    def search(self, memory: Memory, name: str, calls: int) -> dict[str, Latency]:
        """Time searches, over all items and over those of one SCOPE line."""
        out = {}
        for suffix, scope in (("", None), (", scoped", _SCOPES[0])):
            times = []
            for n in range(calls):
                question = self._question()
                watch = Stopwatch()
                memory.mem_search(question, namespace=_NAMESPACE, scope=scope)
                times.append(watch.read())
                self.on_progress(f"searching by {name}{suffix}", n, calls)
            out[f"{name}{suffix}"] = Latency.of(times)
        return out

    def learn(self, memory: Memory, calls: int) -> tuple[Latency, float]:
        """Time learns from runs that name as many items as candidates may be; gives how many claims each judged."""
        times, judged = [], 0
        for n in range(calls):
            pair = self.draw.choice(sorted(self._by_pair))
            named = self._by_pair[pair]
            run_id = f"late-{self.draw.getrandbits(64):016x}"
            self._run(memory, run_id, pair, self.draw.sample(named, min(MAX_CANDIDATES, len(named))))
            watch = Stopwatch()
            result = memory.learn(run_id, namespace=_NAMESPACE)
            times.append(watch.read())
            judged += len(result.judged)
            self.on_progress("learning", n, calls)
        return Latency.of(times), judged / calls

    def _run(self, memory: Memory, run_id: str, pair: tuple[str, str], named: Sequence[str]) -> None:
        output = {
            "M1": pair[0],
            "M2": pair[1],
            "atomic_ratio": f"{self.draw.randint(1, 9)}:1",
            "modifier": self.draw.choice(_MODIFIERS),
        }
        shares = [self.draw.random() for _ in _PRODUCTS]
        products = [
            {"name": english, "value": round(10 * share, 2), "fraction": round(share / sum(shares), 3)}
            for (english, _), share in zip(_PRODUCTS, shares, strict=True)
        ]
        run = {"run_id": run_id, "output": output, "raw": self._text(50), "memory_ids": list(named)}
        memory.runs.record(run, namespace=_NAMESPACE)
        memory.runs.feedback(run_id, {"products": products, "pros": self._text(_WORDS)}, namespace=_NAMESPACE)

    def _block(self, pair: tuple[str, str], claims: int, n: int) -> str:
        members = [
            {
                "claim_id": f"c{at + 1}",
                "status": self.draw.choice(("hypothesis", "conclusion")),
                "facts": {"source_run_ids": [f"source-{n}"]},
                **self._claim(at, pair, chinese=n % 2 == 1),
            }
            for at in range(claims)
        ]
        scope = self.draw.choice(_SCOPES)
        return (
            f"RBMEM_CLAIMS_V1\nTOPIC={pair[0]}–{pair[1]} {n}\nSCOPE={scope}\nCLAIMS_JSON="
            f"{json.dumps(members, ensure_ascii=False)}"
        )

    def _claim(self, at: int, pair: tuple[str, str], *, chinese: bool) -> dict[str, Any]:
        """Return a claim by its place: a comparison in words, one as a test, one with other runs, two without any."""
        m1, m2 = pair
        product, translated = self.draw.choice(_PRODUCTS)
        share = round(self.draw.uniform(0.05, 0.6), 2)
        if at % 5 == 0:
            told = f"{m1}–{m2} 体系中{translated}的选择性不低于 {share}。"
            return {
                "inference": told if chinese else f"With {m1}–{m2} the selectivity of {product} is at least {share}."
            }
        claim: dict[str, Any] = {"inference": self._mechanism(pair, product, translated, chinese=chinese)}
        test = {"metric": "fraction", "product": product, "op": ">=", "given": {"M1": m1, "M2": m2}}
        if at % 5 == 1:
            return claim | {"test": {**test, "value": share}}
        if at % 5 == 2:  # noqa: PLR2004 - the third
            other = {"M1": self.draw.choice([one for one in _METALS if one not in pair]), "M2": m2}
            return claim | {"test": {**test, "op": ">", "versus": other}}
        return claim | {"conditions": [f"{self.draw.choice(_MODIFIERS)} as modifier"]}

    def _mechanism(self, pair: tuple[str, str], product: str, translated: str, *, chinese: bool) -> str:
        if chinese:
            return f"{translated}可能来自与{pair[1]}相邻的{pair[0]}位点上的中间体 {self._text(_WORDS)}。"
        return f"{product} probably forms on {pair[0]} next to {pair[1]}, as {self._text(_WORDS)} suggests."

    def _question(self) -> str:
        product, translated = self.draw.choice(_PRODUCTS)
        pair = self._pair()
        return f"{self.draw.choice((product, translated))} {pair[0]} {pair[1]} {self._text(_QUESTION_WORDS)}"

    def _pair(self) -> tuple[str, str]:
        m1, m2 = self.draw.sample(_METALS, 2)
        return m1, m2

    def _text(self, words: int) -> str:
        return " ".join(map(spell, draw_words(self.draw, words)))
