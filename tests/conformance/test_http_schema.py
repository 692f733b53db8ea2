"""The server does what its OpenAPI document says: statuses, media types, schemas, headers, for drawn requests."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import hypothesis
import pytest
import schemathesis
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

from phronesis import Memory
from phronesis.config.server import Serving
from phronesis.interfaces.http import admin_routes
from phronesis.interfaces.http.app import ROUTES, make_app

OPERATIONS = sorted(
    (getattr(route, "path", ""), method)
    for router in (*ROUTES, admin_routes.health_router)
    for route in router.routes
    for method in getattr(route, "methods", ())
)
"""Every operation there is, by path and method."""


def subject_of(path: str) -> str:
    """Return the first part of a path that says what it is about."""
    return path.removeprefix("/api/v1").split("/")[1]


LEFT_OUT: list[Any] = [
    positive_data_acceptance,  # an id that fits the schema need not exist, nor a text be a time: the verbs say so
    negative_data_rejection,  # a parameter that is unknown in a URL is passed over
]
"""What is no promise of the document."""


@dataclass(frozen=True)
class Served:
    """The document of a server, and the headers that let an admin in."""

    document: schemathesis.BaseSchema
    headers: dict[str, str]


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with Memory.open("sqlite://", policy={"embedder": "none"}) as memory:
        memory.add("I live in Lyon. 我住在杭州。", user_id="lin")
        memory.ingest({"attempt": "pinned the kernel module", "source_ref": "r1"})
        token, _ = memory.admin.keys.create("admin", label="conformance")
        app = make_app(memory, Serving(allowed_hosts=("testserver",), access_log=False))
        document = schemathesis.openapi.from_asgi("/openapi.json", app)
        yield Served(document, {"Authorization": f"Bearer {token}"})


@pytest.mark.slow
@pytest.mark.parametrize("subject", sorted({subject_of(path) for path, _ in OPERATIONS}))
def test_the_document_is_kept(served: Served, subject: str) -> None:
    for path, method in OPERATIONS:
        if subject_of(path) == subject:
            keep(served, path, method)


def keep(served: Served, path: str, method: str) -> None:
    """Call an operation as its document allows, and as it does not."""
    operation = served.document[re.sub(r":\w+(?=})", "", path)][method]
    alone = not (operation.query or operation.headers or operation.body or operation.path_parameters)
    for mode in (GenerationMode.POSITIVE,) if alone else GenerationMode:  # what takes nothing cannot be called wrongly

        @hypothesis.settings(
            max_examples=4,
            derandomize=True,
            deadline=None,
            database=None,
            suppress_health_check=list(hypothesis.HealthCheck),
        )
        @hypothesis.given(operation.as_strategy(generation_mode=mode))
        def drawn(case: "schemathesis.Case[Any]") -> None:
            case.call_and_validate(headers=served.headers, excluded_checks=LEFT_OUT)

        drawn()
