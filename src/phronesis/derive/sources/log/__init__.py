"""Output of programs: test reports, consoles, stack traces, compilers, build logs."""

from phronesis.derive.sources.log.source import LogSource

__all__ = ["LogSource"]
