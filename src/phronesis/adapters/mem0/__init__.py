"""mem0's ``Memory`` and ``AsyncMemory`` over Phronesis: ``from phronesis.adapters.mem0 import Memory``.

The verbs, their arguments and the shapes of their results are mem0's (2.2); nothing of mem0 is imported.
"""

from phronesis.adapters.mem0.memory import AsyncMemory, Memory

__all__ = ["AsyncMemory", "Memory"]
