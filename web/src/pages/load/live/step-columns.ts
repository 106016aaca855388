/**
 * The steps of a search as a line over connections. When a number of connections repeats, its last
 * step counts. Pure.
 */
import type { FindMaxStep } from "../../../api/gen/types.ts";

export function stepColumns(steps: readonly FindMaxStep[]): {
  readonly connections: readonly number[];
  readonly qps: readonly (number | null)[];
} {
  const byConnections = new Map<number, number | null>();
  const inOrder = steps.toSorted((a, b) => a.step_number - b.step_number);
  for (const { total_target_connections: connections, qps } of inOrder) {
    byConnections.set(connections, qps);
  }
  const sorted = [...byConnections].sort(([a], [b]) => a - b);
  return { connections: sorted.map(([each]) => each), qps: sorted.map(([, qps]) => qps) };
}
