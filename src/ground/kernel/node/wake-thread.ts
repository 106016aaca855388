/** Sleeps until the moment in shared memory, notifies the other thread, and waits for the next. */
import { parentPort, workerData } from "node:worker_threads";
import { assert } from "../errors.ts";

const { shared, originMs } = workerData as {
  readonly shared: SharedArrayBuffer;
  readonly originMs: number;
};
const version = new Int32Array(shared, 0, 1);
const due = new Float64Array(shared, 8, 1);
// The clocks of two threads have different origins.
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
    // Setting a new moment wakes this thread.
    if (Atomics.wait(version, 0, seen, restMs) !== "timed-out") seen = Atomics.load(version, 0);
  }
}
