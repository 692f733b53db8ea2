"""Joining the retrievers that a policy names."""

from phronesis.config import Policy, remote_key
from phronesis.models.judge import Judge
from phronesis.recall.reranking import Search
from phronesis.recall.retrieving.local import MemoryRetriever, ResourceRetriever
from phronesis.recall.retrieving.port import Retriever
from phronesis.recall.retrieving.remote import RemoteRetriever
from phronesis.recall.retrieving.retrieving import Retrieving


def make_retrieving(searcher: Search, policy: Policy, judge: Judge | None) -> Retrieving:
    """Give who carries out plans: this store's memory and resources, and another server where the policy names one.

    ``searcher`` orders by its own score alone: ``judge`` reads what all retrievers found, once. InputError: the
    variable that holds the server's key is not set.
    """
    retrievers: list[Retriever] = [MemoryRetriever(searcher), ResourceRetriever(searcher)]
    remote, key = policy.resources.remote, remote_key(policy)
    if remote is not None:
        retrievers.append(RemoteRetriever(remote.url, None if key is None else key.get_secret_value(), remote.timeout))
    return Retrieving(retrievers, policy.fusion.rules(), judge)
