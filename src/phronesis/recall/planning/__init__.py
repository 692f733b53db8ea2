"""The query planner: from a message to a retrieval plan, by rules or by a model."""
