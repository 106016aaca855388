/** The smallest workload: one operation without parameters. */
import type { Workload } from "../core/workload.ts";

export function oneOperation(): Workload {
  return {
    operations: [
      {
        operation: {
          name: "look",
          kind: "POINT_LOOKUP",
          parameters: [],
          statements: [{ texts: ["SELECT 1"], parameters: [] }],
          isTransaction: false,
        },
        weight: 1,
        fill: () => undefined,
      },
    ],
    choose: () => 0,
  };
}
