import assert from "node:assert/strict";
import { after, test } from "node:test";
import { realClock } from "../../../ground/kernel/node/real-clock.ts";
import { startQueryThread } from "./query-threads.ts";

interface Grower {
  readonly requests: { grow(): number };
  readonly notes: Record<never, never>;
}

/**
 * Returns how large the young generation became after many objects, some of which survive for a
 * while.
 */
const source = `
  import { parentPort } from "node:worker_threads";
  import { getHeapSpaceStatistics } from "node:v8";
  parentPort.on("message", ({ kind, id }) => {
    if (kind === "stop") return parentPort.close();
    const recent = Array.from({ length: 200_000 });
    for (let count = 0; count < 3_000_000; count += 1) recent[count % recent.length] = [count];
    const young = getHeapSpaceStatistics().find(({ space_name }) => space_name === "new_space");
    parentPort.postMessage({ kind: "answer", id, answer: young.space_size });
  });
  parentPort.postMessage({ kind: "ready" });
`;

test("[QP33] a thread's young generation stays within 12 MiB, with a bound of the heap and without", async () => {
  for (const heapBytesMax of [undefined, 256 * 1024 ** 2]) {
    const thread = startQueryThread<Grower>({
      module: new URL(`data:text/javascript,${encodeURIComponent(source)}`),
      clock: realClock,
      ...(heapBytesMax === undefined ? {} : { heapBytesMax }),
    });
    after(() => thread.stop());
    const bytes = await thread.ask("grow", undefined);
    assert.ok(bytes > 0 && bytes <= 12 * 1024 ** 2, `${bytes} bytes`);
  }
});
