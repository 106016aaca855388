import assert from "node:assert/strict";
import { test } from "node:test";
import { describeFact } from "./describe-fact.ts";

const cases: readonly (readonly [string, string, string])[] = [
  ["cpu_ratio", "0.25", "CPU: 25 %"],
  ["spool_free_bytes", "1048576", "Spool free: 1.0 MiB"],
  ["event_loop_delay_ms", "1.5", "Event loop delay: 1.5 ms"],
  ["completed_work_total", "12000", "Completed work: 12,000"],
  ["queue_depth", "3", "Queue depth: 3"],
  ["zone", "eu-1", "Zone: eu-1"],
  ["memory_bytes", "", "Memory: "],
];
for (const [name, text, want] of cases) {
  test(`[WEB6] fact ${name}=${text}`, () => {
    const fact = describeFact(name, text);
    assert.equal(`${fact.name}: ${fact.value}`, want);
  });
}
