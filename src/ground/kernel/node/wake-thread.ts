/** Sleeps until the moment that it finds in shared memory, tells, and waits for another one. */
import { parentPort, workerData } from "node:worker_threads";
import { assert } from "../errors.ts";

const { shared, originMs } = workerData as {
  readonly shared: SharedArrayBuffer;
  readonly originMs: number;
};
const version = new Int32Array(shared, 0, 1);
const due = new Float64Array(shared, 8, 1);
// Each thread's clock begins at its own moment.
const shiftMs = performance.timeOrigin - originMs;
assert(parentPort !== null, "this is a thread");
const port = parentPort;

for (let seen = 0; ; ) {
  Atomics.wait(version, 0, seen);
  seen = Atomics.load(version, 0);
  for (;;) {
    const restMs = (due[0] ?? 0) - (performance.now() + shiftMs);
    if (restMs <= 0) {
      port.postMessage(0);
      break;
    }
    // A new moment wakes it.
    if (Atomics.wait(version, 0, seen, restMs) !== "timed-out") seen = Atomics.load(version, 0);
  }
}
