"""The bare store: executes the work and looks at nothing. The bound for everything else."""

import gc
import time

from arm import GET, PUT, Store, read_work, serve


def prepare(order):
    store = Store(order["store"])
    sequences = read_work(order["work"], store.make)
    total = sum(len(ops) for _, _, ops in sequences)
    cls = store.cls

    def run(_):
        # As in the oracle: nothing here makes cycles, so nothing is collected.
        gc.collect()
        gc.disable()
        began = time.perf_counter()
        for slots, object_nbytes, ops in sequences:
            try:
                subject = cls(max_bytes=slots * object_nbytes, object_nbytes=object_nbytes)
            except ValueError:
                continue
            put, get = subject.put, subject.get_concatenated
            for op in ops:
                kind = op[0]
                try:
                    if kind == PUT:
                        put(op[1], retain_keys=op[2], release_keys=op[3])
                    elif kind == GET:
                        get(op[1])
                    else:
                        subject.close()
                except Exception:
                    pass
        return {"ops": total, "seconds": time.perf_counter() - began}

    return run


serve(prepare)
