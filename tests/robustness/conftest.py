"""The tables and the server are read by the test: there is nothing to collect in them."""

collect_ignore_glob = ["calls_*.py", "files.py", "files_*.py", "server.py", "table.py", "tables.py"]
