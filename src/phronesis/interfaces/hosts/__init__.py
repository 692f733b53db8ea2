"""Entries in the configuration files of agents that people use, so that they call Phronesis.

`config_files` changes JSON, TOML and whole files and leaves alone what is not ours; `host_table` says what each host
needs.
"""
