"""Drives the store in the file named by the first argument and prints what it shows.

The second argument, if any, is a folder of recorded runs, which are replayed.
"""

import gzip
import importlib.util
import json
import pathlib
import sys

spec = importlib.util.spec_from_file_location("store", sys.argv[1])
store = importlib.util.module_from_spec(spec)
spec.loader.exec_module(store)


def build(slots, object_nbytes=4):
    return store.BlockObjectStore(max_bytes=slots * object_nbytes, object_nbytes=object_nbytes)


def attempt(call, *args, **kwargs):
    try:
        return call(*args, **kwargs)
    except Exception as error:
        return error


def put(subject, keys="", payload=b"old.", retain="", release=""):
    objects = [store.BlockObject(key=key, payload=payload) for key in keys.split()]
    return attempt(subject.put, objects, retain_keys=retain.split(), release_keys=release.split())


def stored(subject, keys):
    gets = [(key, attempt(subject.get_concatenated, [key])) for key in keys.split()]
    return " ".join(key for key, got in gets if isinstance(got, bytes))


def show(title, answer):
    if isinstance(answer, Exception):
        answer = f"{type(answer).__name__}: {answer}"
    print(f"{title}: {answer}")


def order():
    subject = build(3)
    put(subject, "a b c")
    subject.get_concatenated(["a"])
    put(subject, "d")
    show("a b c, get a, put d keeps", stored(subject, "a b c d"))


def after_key_error():
    subject = build(2)
    put(subject, "a b", retain="a")
    show("unknown release", put(subject, release="a nope"))
    put(subject, "c")
    show("then put c keeps", stored(subject, "a b c"))
    subject = build(2)
    put(subject, "a b", retain="a")
    put(subject, "c")
    put(subject, release="a nope")
    put(subject, "d")
    show("the same after an eviction, put d keeps", stored(subject, "a b c d"))


def full():
    subject = build(1)
    put(subject, "a", retain="a")
    show("put into referenced slots", put(subject, "b"))
    show("missing", attempt(subject.get_concatenated, ["nope"]))


def rewrite():
    subject = build(2)
    put(subject, "a b", retain="b")
    put(subject, "a b", b"new.")
    show("put again, b referenced", subject.get_concatenated(["a", "b"]))


def errors():
    subject = build(1)
    show("wrong size", put(subject, "a", b"toolong"))
    subject.close()
    subject.close()
    show("closed", attempt(subject.get_concatenated, []))
    show("no room", attempt(build, 0))
    show("no size", attempt(build, 1, 0))


class CountingKey(str):
    hashes = 0

    def __hash__(self):
        CountingKey.hashes += 1
        return str.__hash__(self)

    __eq__ = str.__eq__


def rescan():
    subject = build(1000)
    held = [CountingKey(i) for i in range(900)]
    subject.put([store.BlockObject(key, b"held") for key in held], retain_keys=held)
    put(subject, " ".join(f"u{i}" for i in range(100)))
    CountingKey.hashes = 0
    for i in range(100):
        put(subject, f"n{i}")
    # An interpreter may hash more or less often, so only the order of magnitude is told.
    words = ((0, "none"), (9_000, "those of one put"))
    word = next((word for limit, word in words if CountingKey.hashes <= limit), "those of every put")
    show("hashes of 900 referenced keys over 100 puts", word)


def outcome(subject, step):
    """What a step of a recorded run did, in the words of its want."""
    try:
        if "get" in step:
            return {"payload": subject.get_concatenated(step["get"]).hex()}
        if "close" in step:
            subject.close()
        else:
            objects = [store.BlockObject(key, bytes.fromhex(payload)) for key, payload in step.get("put", ())]
            subject.put(objects, retain_keys=step.get("retain", ()), release_keys=step.get("release", ()))
    except Exception as error:
        return {"error": (type(error).__name__, str(error))}
    return {}


def state(subject):
    order = subject._order
    return {
        "stored": sorted(order),
        "queue": [key for key in order if key not in subject._counts],
        "refs": subject._counts,
        "slots": dict(order),
        "free": subject._free,
        "next": subject._next,
    }


def replay(folder):
    ops = 0
    for path in sorted(pathlib.Path(folder).glob("*.jsonl*")):
        opened = gzip.open if path.suffix == ".gz" else open
        with opened(path, "rt", encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                step = json.loads(line)
                if "diffstore_trace" in step:
                    subject = build(step["slots"], step["object_nbytes"])
                    continue
                want = step.pop("want")
                want.pop("victims")
                want["stored"].sort()
                if "error" in want:
                    want["error"] = (want["error"]["type"], want["error"]["message"])
                got = {**outcome(subject, step), **state(subject)}
                if got != want:
                    sys.exit(f"{path.name}:{number}: {step}\n got {got}\nwant {want}")
                ops += 1
    if not ops:
        sys.exit(f"no recorded runs in {folder}")


for part in (order, after_key_error, full, rewrite, errors, rescan):
    part()
if len(sys.argv) > 2:
    replay(sys.argv[2])
