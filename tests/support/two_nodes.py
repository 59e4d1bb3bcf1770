"""`examples/two_nodes/run.py` as a module, for tests that run the chat of two nodes."""

import importlib.util
import os
import pathlib

from server_process import need

ROOT = pathlib.Path(__file__).resolve().parents[2]

os.environ["PATH"] += ":/usr/sbin:/sbin"
need("redis-server", "haproxy")
_spec = importlib.util.spec_from_file_location("two_nodes_example", ROOT / "examples/two_nodes/run.py")
two_nodes = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(two_nodes)
