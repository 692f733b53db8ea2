"""Identifiers are found as they are written: the exact one comes first, before texts that hold its parts."""

from collections.abc import Iterator

import pytest

from phronesis import Memory
from phronesis.index.tokens import pack_terms, tokenize
from phronesis.recall.scoring.text_properties import WHOLE_TERMS
from phronesis.store.schema import search_documents

TEXTS = (
    "The staging repo is called lumen-cloud-dev and mirrors prod every night.",
    "lumen-cloud is the product name.",
    "The build uses lumen cloud runners, dev machines are separate.",
    "Branch feature/login-fix is merged.",
    "The login feature needs a fix.",
    "Fix the feature flag for login, then login again to the feature page.",
    "Release v1.2.3 broke login.",
    "v1.2 was fine, 3 bugs though, v1 as well",
    "The proxy answered ERR_SSL_PROTOCOL_ERROR.",
    "An SSL error: the protocol of the proxy had an error, err.",
    "Mail bob.lee@corp.example.com for access.",
    "Bob Lee has an example of corp mail, com.",
    "com.acme.billing.Invoice leaks memory.",
    "acme billing sent an invoice: com, acme",
    "样品先做12套，8个颜色。",
    "最后确认的是8套。",
    "I love 🍣!",
)


@pytest.fixture
def memory(database_url: str) -> Iterator[Memory]:
    """A memory of the texts."""
    with Memory.open(database_url, policy={"embedder": "none"}) as opened:
        for text in TEXTS:
            opened.add(text, user_id="ann", infer=False)
        yield opened


def test_the_exact_identifier_is_first(memory: Memory) -> None:
    cases: list[tuple[str, int]] = [
        ("lumen-cloud-dev", 0),
        ("feature/login-fix", 3),
        ("ERR_SSL_PROTOCOL_ERROR", 8),
        ("8套", 15),
        ("🍣", 16),
    ]
    for question, first in cases:
        found = memory.search(question, user_id="ann")
        assert found[0].item.content == TEXTS[first]
        assert not found.abstained


def test_documents_of_an_older_version_are_searched_by_todays_terms(memory: Memory, database_url: str) -> None:
    documents = search_documents
    with memory._runtime._components.database.transaction(memory._runtime.tenant, "derive") as unit:
        own = documents.c.tenant_id == unit.tenant
        for row in unit.run(documents.select().where(own)).all():
            old = {
                "marks": bytes([row.marks[0] & ~WHOLE_TERMS]) + row.marks[1:],
                "terms": pack_terms(tokenize(memory.get(row.item_id).content)),
            }
            unit.run(documents.update().where(own, documents.c.id == row.id).values(old))
    with Memory.open(database_url, policy={"embedder": "none"}) as opened:
        assert opened.search("feature/login-fix", user_id="ann")[0].item.content == TEXTS[3]
        assert not opened.admin.rebuild(verify=True).equal
        opened.admin.rebuild()
        assert opened.admin.rebuild(verify=True).equal
