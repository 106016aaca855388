/**
 * Runs a step function until it says stop, with the microtask queue empty between any two steps.
 *
 * Node drains all microtasks whenever its next-tick queue has run dry, and then looks at the
 * next-tick queue again. So a step that runs as a tick and asks for the next tick from a microtask
 * gets exactly one full drain in between, for a seventh of what a `setImmediate` turn costs (0.2 µs
 * against 1.4 µs). This is the only file of the simulator that touches the event loop.
 */

/** Calls `step` until it returns `false`. Whatever it throws rejects the promise. */
export function drive(step: () => boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    const tick = (): void => {
      try {
        if (step()) queueMicrotask(next);
        else resolve();
      } catch (thrown) {
        reject(thrown);
      }
    };
    const next = (): void => process.nextTick(tick);
    next();
  });
}

/** One turn of the event loop: promises that were rejected and never handled are reported in it. */
export function turn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
