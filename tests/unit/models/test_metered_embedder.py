"""A served encoder's call has one time for all that it asks, and each request its row in the ledger."""

import contextlib
from collections.abc import Iterator

from fake_models import NOON, MemoryLedger
from model_server import Behaviour, ModelServer, embed_each
from phronesis.models.call_policy import Allowance, CallPolicy, SpendingLimit
from phronesis.models.embedders import BATCH, MeteredEmbedder
from phronesis.models.openai_models import OpenAIEmbedder
from phronesis.models.token_counter import ByteBound
from phronesis.models.transport import Gateway

VECTORS = embed_each(lambda text: [1.0, float(len(text))])


@contextlib.contextmanager
def opened(*behaviours: Behaviour, timeout: float = 30.0) -> Iterator[tuple[MeteredEmbedder, MemoryLedger]]:
    ledger, conduct = MemoryLedger(), CallPolicy(timeout=timeout, tries=3, concurrency=2)
    with ModelServer(*behaviours) as server:
        inner = OpenAIEmbedder(
            Gateway("local", server.base_url), "m", dimension=None, prefix_scheme="none", limits_for=conduct.limits
        )
        with contextlib.closing(inner):
            purse = SpendingLimit(ledger, lambda: NOON, Allowance())
            metered = MeteredEmbedder(
                inner, model="local/m", conduct=conduct, purse=purse, counter=ByteBound, tenant="acme"
            )
            yield metered, ledger


def test_many_texts_are_several_calls_each_with_its_time() -> None:
    with opened(VECTORS) as (metered, ledger):
        assert metered.embed_documents(["tea"] * (2 * BATCH + 1)).shape == (2 * BATCH + 1, 2)
        assert [call.prompt_tokens for _, call in ledger.calls] == [4 * BATCH, 4 * BATCH, 4]
        assert metered.embed_documents([]).shape == (0, 2)
