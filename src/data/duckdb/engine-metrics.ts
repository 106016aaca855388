/** Metrics of the engine's processes, and of the memory of a process tree. */

import { ownTreeMemory } from "../../ground/kernel/node/process-memory.ts";
import type { Metrics } from "../../ground/observe/index.ts";
import type { EngineObserver } from "./core/index.ts";

export function createEngineMetrics(metrics: Metrics, memoryLimitBytes: number): EngineObserver {
  metrics
    .gauge("memory_limit_bytes", "What this process and all that descend from it may take.")
    .set(memoryLimitBytes);
  metrics.gauge(
    "memory_tree_bytes",
    "Memory of this process and all that descend from it: summed PSS, on Linux; 0 elsewhere.",
    [],
    async () => (await ownTreeMemory.bytes()) ?? 0,
  );
  const started = metrics.histogram("engine_start_seconds", "Starts of a process for DuckDB.");
  const lost = metrics.counter("engine_lost_total", "Processes of DuckDB that were lost.", [
    "reason",
  ]);
  for (const reason of ["memory", "cancel", "crash"]) lost.inc({ reason }, 0);
  const repeated = metrics.counter(
    "engine_repeated_total",
    "Statements that were run again because their process was lost, or its memory.",
  );
  const atFault = metrics.counter(
    "engine_faults_total",
    "Statements that failed for what they did to a process in which they ran alone.",
    ["code"],
  );
  return {
    processStarted: (tookMs) => started.observe(tookMs / 1000),
    processLost: (reason) => lost.inc({ reason }),
    statementRepeated: () => repeated.inc(),
    statementAtFault: (code) => atFault.inc({ code }),
  };
}
