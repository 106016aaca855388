/**
 * A bound on real time, where the bound itself is what is promised. It is meant for a machine that
 * is free: on one that is shared it is stretched by the share of a processor that this thread gets
 * at that moment, and the best of a few tries counts. On a free machine it is the bound as it is
 * written.
 */
import assert from "node:assert/strict";

const triesMax = 5;
/** Long enough that others have their turn meanwhile. */
const probeMs = 10;

/** `attempt` gives how long it took. It is not made again once it was in time. */
export async function inTime(msMax: number, attempt: () => Promise<number>): Promise<void> {
  const tries: string[] = [];
  for (let count = 0; count < triesMax; count += 1) {
    const before = slowdown();
    const tookMs = await attempt();
    const allowedMs = msMax * Math.max(before, slowdown());
    if (tookMs <= allowedMs) return;
    tries.push(`${Math.round(tookMs)} ms where ${Math.round(allowedMs)} ms are allowed`);
  }
  assert.fail(tries.join("; "));
}

/** How many times as long as its processor time something takes: 1 where nobody else computes. */
function slowdown(): number {
  const startMs = performance.now();
  const start = process.threadCpuUsage();
  for (;;) {
    const { user, system } = process.threadCpuUsage(start);
    const usedMs = (user + system) / 1_000;
    if (usedMs >= probeMs) return Math.max(1, (performance.now() - startMs) / usedMs);
  }
}
