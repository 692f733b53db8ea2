"""The source ``log``: test reports, consoles, stack traces, compilers and build logs."""

from phronesis.experience.sources.log.log_source import LogSource

__all__ = ["LogSource"]
