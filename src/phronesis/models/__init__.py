"""Models: language models, encoders, rerankers and token counters behind small ports, with budgets and a ledger."""
