"""An encoder behind a server: within the budget, with the manners of its server, and every try written down."""

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from phronesis.models.calls import Limits
from phronesis.models.conduct import Conduct
from phronesis.models.embedder import Embedder, Floats
from phronesis.models.purse import Purse
from phronesis.models.token_counter import TokenCounter

T = TypeVar("T")

ROLE: Final = "embed"
"""The role's name in the policy and the ledger."""


class MeteredEmbedder:
    """An `Embedder` whose calls are counted, under ``model``, the name that has a price.

    They are charged to the tenant that opened the Memory: the port knows none.
    """

    def __init__(
        self,
        inner: Embedder,
        *,
        model: str,
        conduct: Conduct,
        purse: Purse,
        counter: Callable[[], TokenCounter],
        tenant: str,
    ) -> None:
        self._inner = inner
        self._model = model
        self._conduct = conduct
        self._purse = purse
        self._counter = counter
        self._tenant = tenant

    @property
    def name(self) -> str:
        """The encoder's identity."""
        return self._inner.name

    @property
    def dimension(self) -> int:
        """Numbers per vector. ModelError when it is not known and the server does not say."""
        return self._inner.dimension

    @property
    def prefix_scheme(self) -> str:
        """How queries and documents are told apart."""
        return self._inner.prefix_scheme

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Give a float32 matrix (n, dimension), rows of L2 length 1 or 0. ModelError when the server gives none."""
        return self._measured(texts, lambda: self._inner.embed_documents(texts))

    def embed_query(self, text: str) -> Floats:
        """Give a float32 vector (dimension,) of L2 length 1 or 0. ModelError when the server gives none."""
        return self._measured([text], lambda: self._inner.embed_query(text))

    def _measured(self, texts: Sequence[str], encode: Callable[[], T]) -> T:
        counter = self._counter()
        tokens = sum(counter.count(text) for text in texts)
        self._purse.allow(self._tenant, model=self._model, prompt_tokens=tokens, max_tokens=0)

        def once(_limits: Limits) -> T:
            with self._purse.recorded(self._tenant, role=ROLE, model=self._model, prompt_tokens=tokens):
                return encode()

        return self._conduct.run(once, self._conduct.limits())
