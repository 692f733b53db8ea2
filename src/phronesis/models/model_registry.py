"""The models that a policy assigns to roles, connected to their servers; and their health check."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Final, Protocol, TypeVar, cast

import pydantic

from phronesis.config.model_roles import RULES, ChatName, ChatRole, EmbedRole, Gateway, RerankRole, Role
from phronesis.config.policy import ROLES, Policy
from phronesis.core.reports import ModelUsage, Price
from phronesis.errors import InputError
from phronesis.models.call_policy import Allowance, CallPolicy, Ledger, SpendingLimit
from phronesis.models.decision import ROLE as DECIDE
from phronesis.models.decision import ChatDecider, Decider, DecisionServer, Question
from phronesis.models.embedder import Embedder
from phronesis.models.embedders import ROLE as EMBED
from phronesis.models.in_process import (
    load_cross_encoder,
    load_fastembed_embedder,
    load_fastembed_reranker,
    load_sentence_transformer,
)
from phronesis.models.openai_models import OpenAIChat, OpenAIEmbedder
from phronesis.models.rerankers import ROLE as RERANK
from phronesis.models.rerankers import ChatReranker, HttpReranker, Judge, Reranker
from phronesis.models.structured_client import StructuredClient, Task
from phronesis.models.token_counter import TokenCounter
from phronesis.models.transport import Gateway as Server
from phronesis.models.transport import ModelHttp


class _Client(Protocol):
    def close(self) -> None: ...


T = TypeVar("T")
C = TypeVar("C", bound=_Client)


@dataclass(frozen=True, slots=True)
class EffectiveRole:
    """The model of a role, as gateway and name, or ``rules``."""

    role: str
    by: str


class ModelRegistry:
    """The models of one policy, each created on first use. ``close`` cancels running calls."""

    def __init__(
        self,
        policy: Policy,
        keys: Mapping[str, pydantic.SecretStr | None],
        *,
        tenant: str,
        ledger: Ledger,
        clock: Callable[[], datetime],
        counter: Callable[[], TokenCounter],
    ) -> None:
        self._policy = policy
        self._keys = keys
        self._tenant = tenant
        self._counter = counter
        self._stop = threading.Event()
        limits = policy.limits
        self._purse = SpendingLimit(
            ledger,
            clock,
            Allowance(limits.tokens_per_call, limits.tokens_per_day, limits.cost_per_day),
            {name: Price(price.input, price.output) for name, price in policy.prices.items()},
        )
        self._conducts = {name: self._conduct(gateway) for name, gateway in policy.gateways.items()}
        self._closing: list[Callable[[], None]] = []
        self._making = threading.Lock()
        self._made: dict[tuple[str, str], Any] = {}

    def effective(self) -> list[EffectiveRole]:
        """Return the model of each role, in the order of the roles."""
        asked = self._policy.roles_with_models()
        return [
            EffectiveRole(role, f"{asked[role].gateway}/{asked[role].model}" if role in asked else "rules")
            for role in ROLES
        ]

    def spent(self, tenant: str, role: str | None = None) -> ModelUsage:
        """Return the cost of a tenant's calls today, in UTC, of a role if one is named."""
        return self._purse.today(tenant, role)

    def list_models_without_price(self) -> list[str]:
        """Return the models in use without a price, if the policy limits a day's cost."""
        served = [name for name, gateway in self._policy.gateways.items() if not gateway.in_process]
        return sorted(
            {one.by for one in self.effective() if one.by.partition("/")[0] in served and self._purse.is_free(one.by)}
        )

    def asker(self, role: ChatName, reference: str | None = None) -> StructuredClient | None:
        """Return the language model of a role, or the one that ``reference`` names for one call; None: rules.

        InputError if the reference names no model: see `reference`.
        """
        chosen = self._policy.role(role) if reference is None else self._policy.named(role, reference)
        if chosen is None:
            return None
        return self._once(role, f"{chosen.gateway}/{chosen.model}", lambda: self._make_asker(role, chosen))

    def _make_asker(self, role: ChatName, chosen: ChatRole) -> StructuredClient:
        return StructuredClient(
            role=role,
            model=self._closed_later(
                OpenAIChat(self._server(chosen.gateway), chosen.model, temperature=chosen.temperature)
            ),
            conduct=self._conducts[chosen.gateway],
            purse=self._purse,
            counter=self._counter(),
            max_tokens=chosen.max_tokens,
        )

    def max_concurrent_calls(self, role: ChatName) -> int:
        """Return how many calls of a role may be under way at once; 1 where rules do it."""
        chosen = self._policy.role(role)
        return 1 if chosen is None else self._policy.gateways[chosen.gateway].concurrency

    def reference(self, role: ChatName, given: str) -> str:
        """Return a caller's name of a model as ``gateway/model``, or ``rules``.

        InputError if the policy has no such gateway, or the variable of its key is not set.
        """
        chosen = self._policy.named(role, given)
        if chosen is None:
            return RULES
        variable = self._policy.gateways[chosen.gateway].api_key_env
        if variable is not None and self._keys.get(chosen.gateway) is None:
            raise InputError(
                f"model: gateway {chosen.gateway!r} takes its key from the environment variable {variable}, which is"
                " not set",
                field="model",
            )
        return f"{chosen.gateway}/{chosen.model}"

    def decider(self) -> Decider | None:
        """Return the model of the role ``decide``, or None."""
        chosen = self._policy.role("decide")
        if chosen is None:
            return None
        if self._policy.gateways[chosen.gateway].kind == "decision":
            return self._once(DECIDE, "decider", lambda: self._decision_server(chosen))
        client = self.asker("decide")
        return None if client is None else self._once(DECIDE, "decider", lambda: ChatDecider(client))

    def judge(self) -> Judge | None:
        """Return the reranker, or None if the fused order stays."""
        chosen = self._policy.role("rerank")
        return None if chosen is None else self._once(RERANK, "", lambda: self._make_judge(chosen))

    def embedder(self) -> Embedder | None:
        """Return the encoder of the role, or None if the policy's embedder is used."""
        chosen = self._policy.role("embed")
        return None if chosen is None else self._once(EMBED, "", lambda: self._make_embedder(chosen))

    def close(self) -> None:
        """Cancel running calls and close the connections."""
        self._stop.set()
        with self._making:
            while self._closing:
                self._closing.pop()()

    def _once(self, role: str, name: str, make: Callable[[], T]) -> T:
        """Return what ``make`` gives at the first call for a role and name."""
        with self._making:
            if (role, name) not in self._made:
                self._made[role, name] = make()
            made: T = self._made[role, name]
            return made

    def _closed_later(self, client: C) -> C:
        """Return a client whose connections are closed with the registry."""
        self._closing.append(client.close)
        return client

    def _make_embedder(self, chosen: EmbedRole) -> Embedder:
        kind = self._policy.gateways[chosen.gateway].kind
        if kind == "fastembed":
            return load_fastembed_embedder(chosen.model)
        if kind == "sentence-transformers":
            return load_sentence_transformer(chosen.model)
        return self._closed_later(
            OpenAIEmbedder(
                self._server(chosen.gateway),
                chosen.model,
                dimension=chosen.dimension,
                prefix_scheme=chosen.prefix_scheme,
                conduct=self._conducts[chosen.gateway],
                purse=self._purse,
                counter=self._counter,
                tenant=self._tenant,
            )
        )

    def _make_judge(self, chosen: RerankRole) -> Judge:
        return Judge(
            reranker=self._reranker(chosen),
            conduct=self._conducts[chosen.gateway],
            purse=self._purse,
            counter=self._counter(),
            candidates=chosen.candidates,
        )

    def _reranker(self, chosen: RerankRole) -> Reranker:
        kind = self._policy.gateways[chosen.gateway].kind
        if kind == "fastembed":
            return load_fastembed_reranker(chosen.model)
        if kind == "sentence-transformers":
            return load_cross_encoder(chosen.model)
        # Ollama has no rerank endpoint; a reranking model there answers yes or no.
        kind_of_server = ChatReranker if kind == "ollama" else HttpReranker
        return self._closed_later(kind_of_server(self._server(chosen.gateway), chosen.model))

    def _decision_server(self, chosen: Role) -> DecisionServer:
        return DecisionServer(
            http=self._closed_later(ModelHttp(self._server(chosen.gateway))),
            model=chosen.model,
            conduct=self._conducts[chosen.gateway],
            purse=self._purse,
            counter=self._counter(),
        )

    def _server(self, name: str) -> Server:
        gateway = self._policy.gateways[name]
        key = self._keys.get(name)
        return Server(name, gateway.base_url or "", None if key is None else key.get_secret_value())

    def _conduct(self, gateway: Gateway) -> CallPolicy:
        return CallPolicy(
            timeout=gateway.timeout, tries=gateway.tries, concurrency=gateway.concurrency, cancelled=self._stop.is_set
        )


# Health check: one minimal question to a role's model, for ``doctor``.

_TEXTS: Final = ("Tea is served at four.", "The train leaves at nine.")
_CHOICE: Final = Question(
    kind="probe",
    instructions="Is the text about tea or about trains?",
    options={"tea": "about tea", "trains": "about trains"},
    texts={"text": _TEXTS[0]},
    seed="probe",
)


class ProbeAnswer(pydantic.BaseModel, title="Ready"):
    """The answer asked for."""

    model_config = pydantic.ConfigDict(extra="forbid")

    word: Annotated[str, pydantic.Field(max_length=40)]


def try_role(model_registry: ModelRegistry, role: str, tenant: str) -> None:
    """Call a role's model; ModelError or MissingExtra if it does not answer. Does nothing for rules."""
    if role == EMBED:
        embedder = model_registry.embedder()
        if embedder is not None:
            embedder.embed_query(_TEXTS[0])
    elif role == RERANK:
        judge = model_registry.judge()
        if judge is not None:
            judge.judge(tenant, "When is tea?", _TEXTS)
    elif role == DECIDE:
        decider = model_registry.decider()
        if decider is not None:
            decider.decide(tenant, _CHOICE)
    else:
        asker = model_registry.asker(cast("ChatName", role))
        answer = None if asker is None else asker.ask(tenant, Task("Answer with the word ready.", "Go.", ProbeAnswer))
        if answer is not None and answer.error is not None:
            raise answer.error
