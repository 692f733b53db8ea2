"""Fetching documents from the web, by rules that say from where, how much and how long."""

from phronesis.derive.resources.fetching.fetcher import WebFetcher
from phronesis.derive.resources.fetching.rules import Fetched, Fetcher, FetchRules

__all__ = ["FetchRules", "Fetched", "Fetcher", "WebFetcher"]
