"""Agents: one for each machine, which starts and watches its workers."""
