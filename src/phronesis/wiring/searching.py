"""The components that search, joined."""

from typing import TYPE_CHECKING

from phronesis.config.policy_sections import Ranking
from phronesis.core.lazy_loading import lazy_module
from phronesis.engine.plugin import Platform
from phronesis.models.embedders import Embedders, load_embedders

if TYPE_CHECKING:
    from phronesis.models.embedder import Embedder
    from phronesis.models.rerankers import Judge
    from phronesis.reasoning import external_search
    from phronesis.reasoning.external_mirror import Mirror
    from phronesis.recall import hits, search
    from phronesis.recall.query import Search
else:
    hits = lazy_module("phronesis.recall.hits")
    search = lazy_module("phronesis.recall.search")
    external_search = lazy_module("phronesis.reasoning.external_search")


def make_embedders(given: "Embedder | Embedders | None", platform: Platform) -> Embedders:
    """Return the encoders: those given, else that of the role, else those that the policy names."""
    if isinstance(given, Embedders):
        return given
    own = given
    if own is None and platform.policy.gateways:
        own = platform.models.embedder()
    return load_embedders(platform.policy.embedder) if own is None else Embedders(own)


def make_search(platform: Platform, mirror: "Mirror | None") -> "Search":
    """Return the store's own search, over the external index where there is one."""
    database, embedders = platform.database, platform.embedders
    native = search.Searcher(database, embedders, platform.indexes, platform.clock, _formulas(platform.policy.ranking))
    return native if mirror is None else external_search.MirroredSearch(native, mirror, database, embedders)


def make_searcher(platform: Platform) -> "Search":
    """Return the search of the verbs, which reranks where the policy names a reranker."""
    judge = judge_of(platform)
    return platform.search if judge is None else hits.RerankedSearch(platform.search, judge)


def judge_of(platform: Platform) -> "Judge | None":
    """Return the policy's reranker; a policy without gateways has none."""
    return platform.models.judge() if platform.policy.gateways else None


def _formulas(own: Ranking) -> "search.Formulas":
    shipped = search.Formulas()
    return search.Formulas(
        shipped.words if own.words is None else own.words.formula(dense=False),
        shipped.dense if own.dense is None else own.dense.formula(dense=True),
    )
