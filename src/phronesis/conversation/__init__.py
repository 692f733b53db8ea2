"""Conversation memory: extraction, consolidation and entity resolution of what people say."""
