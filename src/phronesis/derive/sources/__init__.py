"""Adapters: what a source wrote, read as attempts. One file or package each, behind the port of ``port``."""
