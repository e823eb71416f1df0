"""Devices by name, their dispatch keys, and the threads of the CPU."""
