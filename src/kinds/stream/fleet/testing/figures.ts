/** Figures of a fragment, for tests of what becomes of them. */
import type { FragmentStatistics } from "../core/index.ts";

export function figuresOf(figures: Partial<FragmentStatistics>): FragmentStatistics {
  return {
    fragment: "f0",
    ...{ rowsIn: 0, bytesIn: 0, rowsOut: 0, rowsReceived: 0, lateRows: 0, malformed: 0 },
    ...{ stateBytes: 0, watermarkMs: undefined, bytesOut: 0, busyMs: 0, waitedMs: 0 },
    ...{ edges: [], slowest: undefined },
    ...figures,
  };
}
