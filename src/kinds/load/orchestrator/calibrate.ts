/**
 * How many connections one load worker drives well on this target, found by a short calibration at
 * Prepare: the run's own reading operations on a few connections. What an operation costs the
 * thread that sends it, and how long it takes, give how many connections keep a thread busy for its
 * share. Writing operations are never tried, since they would change the data before the run.
 */
import type { Clock } from "../../../ground/kernel/clock.ts";
import { AssertionError } from "../../../ground/kernel/errors.ts";
import { compileWorkload } from "../core/compile-workload.ts";
import { isRead, type ParameterValue } from "../core/operation.ts";
import type { Scenario } from "../core/scenario.ts";
import type { Target, TargetConnection } from "../core/target.ts";
import { type Calibration, capacityBy } from "../core/worker-targets.ts";

export interface CalibrationParts {
  readonly target: Target;
  readonly clock: Clock;
  /** CPU time of this thread so far, in milliseconds. */
  readonly threadCpuMs: () => number;
  readonly signal: AbortSignal;
}

const connectionsCount = 4;
const lengthMs = 300;

/** Undefined when no operation may be tried, or the target does not answer well enough. */
export async function calibrateCapacity(
  scenario: Scenario,
  parts: CalibrationParts,
): Promise<number | undefined> {
  const measured = await measure(scenario, parts).catch((thrown: unknown) => {
    if (thrown instanceof AssertionError) throw thrown;
    return undefined; // The run itself says what is wrong with its target.
  });
  return measured && capacityBy(scenario.target.kind, measured);
}

async function measure(
  { workload }: Scenario,
  { target, clock, threadCpuMs, signal }: CalibrationParts,
): Promise<Calibration | undefined> {
  const reads = workload.operations.filter(
    ({ kind, transaction, weight, parameters }) =>
      isRead(kind) &&
      !transaction &&
      weight > 0 &&
      Object.values(parameters).every((value) => value.kind !== "pool"),
  );
  if (reads.length === 0) return undefined;
  const compiled = compileWorkload(
    { ...workload, operations: reads },
    { groupId: 0, pools: new Map(), wallMs: () => clock.wallMs() },
  );
  const connections: TargetConnection[] = [];
  let [ops, failures, latencyMs, isOver] = [0, 0, 0, false];
  try {
    const drive = async (connection: TargetConnection): Promise<() => void> => {
      const prepared = await Promise.all(
        compiled.operations.map(({ operation }) => connection.prepare(operation)),
      );
      const next = (): void => {
        const index = compiled.choose();
        const each = compiled.operations[index];
        const values: ParameterValue[] = new Array(each?.operation.parameters.length ?? 0);
        each?.fill(values);
        const startMs = clock.nowMs();
        prepared[index]?.execute(values, (failure) => {
          if (isOver) return;
          ops += 1;
          failures += failure === undefined ? 0 : 1;
          latencyMs += clock.nowMs() - startMs;
          if (failures === 0) next();
        });
      };
      return next;
    };
    for (let count = 0; count < connectionsCount; count += 1) {
      connections.push(await target.connect(1, signal));
    }
    const loops = await Promise.all(connections.map(drive));
    const cpuBefore = threadCpuMs();
    for (const begin of loops) begin();
    await new Promise<void>((resolve) => clock.after(lengthMs, resolve));
    isOver = true;
    if (failures > 0 || ops === 0) return undefined;
    return { cpuMs: (threadCpuMs() - cpuBefore) / ops, latencyMs: latencyMs / ops };
  } finally {
    isOver = true;
    await Promise.all(connections.map((connection) => connection.close().catch(() => undefined)));
  }
}
