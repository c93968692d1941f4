"""What a put costs in one Python store of a given size.

A round names the size and the traffic; the store is filled for it and dropped
afterwards. The traffic is the one of bench/traffic.go: each put brings new keys,
retains them and releases as many of the oldest, so a full store evicts as many.
"""

import gc
import time

from arm import Store, serve

FILL = 1000  # keys a put while the store is filled
LEAST = 8  # puts measured however long they take


def prepare(order):
    store = Store(order["store"])
    names = []

    def run(what):
        slots, held, payload = what["slots"], what["held"], bytes(what["payload"])
        while len(names) < 2 * slots:
            names.append(f"vllm-artifact/1/{len(names) * 0x9E3779B1:064x}")
        ring, make = 2 * slots, store.make
        objects = [make(name, payload) for name in names[:ring]]
        subject = store.new(slots, what["payload"])
        put, at = subject.put, 0

        def arguments(count):
            first = at % ring
            if first + count > ring:
                count = ring - first
            old = [names[i % ring] for i in range(at - held, at - held + count)] if at >= held else []
            return objects[first : first + count], names[first : first + count], old

        while at < slots:
            batch, retain, release = arguments(min(FILL, slots - at, held - at if at < held else FILL))
            put(batch, retain_keys=retain, release_keys=release)
            at += len(batch)
        out = []
        for size in what["batches"]:
            took = []
            gc.collect()
            gc.disable()
            end = time.perf_counter() + what["seconds"]
            while len(took) < LEAST or time.perf_counter() < end:
                batch, retain, release = arguments(size)
                "".join(retain)  # whoever brings keys has just made them: their text is near
                began = time.perf_counter()
                put(batch, retain_keys=retain, release_keys=release)
                took.append(time.perf_counter() - began)
                at += len(batch)
            gc.enable()
            out.append({"puts": len(took), "seconds": sum(took), "median": sorted(took)[len(took) // 2], "worst": max(took)})
        subject.close()
        return out

    return run


serve(prepare)
