"""What every script here shares: orders come in on standard input, figures go out on standard output.

The first line in is one JSON object, the order. The script gets ready, which is
not timed, and says so in one line. Then each line in is one round and says what
is particular to it, if anything; it is answered by one line of figures. `oracle_server` is the oracle's own file: stores are found
and loaded the same way.
"""

import importlib.util
import json
import platform
import sys

import oracle_server
from oracle_server import CLOSE, GET, PUT


class Skip(Exception):
    """Why this script cannot run here, in one line."""


def serve(prepare):
    """prepare(order) gives a function of a round's line that returns its figures."""
    order = json.loads(sys.stdin.readline())
    out, sys.stdout = sys.stdout, sys.stderr
    ready = {"python": platform.python_version()}
    try:
        run = prepare(order)
    except Skip as why:
        ready["skip"] = str(why)
    except oracle_server.Refusal as why:
        ready["error"] = str(why)
    print(json.dumps(ready), file=out, flush=True)
    if len(ready) > 1:
        return
    for line in sys.stdin:
        print(json.dumps(run(json.loads(line))), file=out, flush=True)


class Store:
    """A store class, how to make its objects, and the layout of its attributes."""

    def __init__(self, config):
        module, _, _ = oracle_server.load_module(config)
        self.cls = oracle_server.find_class(module, config.get("class"))
        self.make = oracle_server.object_class(module)
        self.layout = oracle_server.pick_layout(self.cls, self.make)

    def new(self, slots, object_nbytes):
        return self.cls(max_bytes=slots * object_nbytes, object_nbytes=object_nbytes)

    def parts(self):
        """The attributes of a store that hold its state, or why they are not known."""
        if self.layout is None:
            raise Skip(f"the layout of {self.cls.__name__} is not known, so its state cannot be read")
        return self.layout


def need(package):
    if importlib.util.find_spec(package) is None:
        raise Skip(f"{package} is not installed in {sys.executable}")


def read_work(path, make):
    """The sequences of a trace file as (slots, object_nbytes, ops), with every object made.

    Equal keys are one string, as they are in a caller that holds on to its keys.
    """
    keys, sequences = {}, []

    def all_of(names):
        return [keys.setdefault(name, name) for name in names]

    with open(path, encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            if "diffstore_trace" in row:
                ops = []
                sequences.append((row["slots"], row["object_nbytes"], ops))
            elif "get" in row:
                ops.append((GET, all_of(row["get"])))
            elif "close" in row:
                ops.append((CLOSE,))
            else:
                objects = [make(keys.setdefault(key, key), bytes.fromhex(text)) for key, text in row.get("put", ())]
                ops.append((PUT, objects, all_of(row.get("retain", ())), all_of(row.get("release", ()))))
    return sequences
