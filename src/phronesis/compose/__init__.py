"""Contexts: evidence rendered within exact token budgets, cited and stable for prompt caches."""
