"""Asking a reranker: within the budget, with the manners of its server, and every try written down."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from phronesis.models.calls import Limits
from phronesis.models.conduct import Conduct
from phronesis.models.purse import Purse
from phronesis.models.reranker import Reranker
from phronesis.models.token_counter import TokenCounter

ROLE: Final = "rerank"
"""The role's name in the policy and the ledger."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """A reranker in its role; ``candidates`` is how many texts it is shown. Thread-safe."""

    reranker: Reranker
    conduct: Conduct
    purse: Purse
    counter: TokenCounter
    candidates: int

    @property
    def name(self) -> str:
        """Gateway and model."""
        return self.reranker.name

    def judge(self, tenant: str, query: str, texts: Sequence[str]) -> list[float]:
        """Give a score from 0 to 1 for each text; ModelError when there is none."""
        # A reranker reads the question once with every text.
        read = self.counter.count(query) * len(texts) + sum(self.counter.count(text) for text in texts)
        self.purse.allow(tenant, model=self.name, prompt_tokens=read, max_tokens=0)

        def once(limits: Limits) -> list[float]:
            with self.purse.recorded(tenant, role=ROLE, model=self.name, prompt_tokens=read):
                return self.reranker.rerank(query, texts, limits=limits)

        return self.conduct.run(once, self.conduct.limits())
