"""Ports that are free on this machine."""

from __future__ import annotations

import socket

__all__ = ["get_free_port", "get_socket_with_port"]


def get_socket_with_port() -> socket.socket:
    """Return a socket that listens at a port of the system's choice; closing it frees the port."""
    return socket.create_server(("localhost", 0), backlog=0)


def get_free_port() -> int:
    """Return a port that nobody listens at now."""
    with get_socket_with_port() as listening:
        return int(listening.getsockname()[1])
