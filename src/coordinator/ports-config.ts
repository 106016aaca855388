/** What the answers to the HTTP surface are made from. */
import type { StatusBody } from "../api/index.ts";
import type { Clock } from "../kernel/clock.ts";
import type { HealthBoard } from "../kernel/health.ts";
import type { Logger } from "../kernel/logger.ts";
import type { Prng } from "../kernel/prng.ts";
import type { LakeStatements, Uploads } from "../lake/index.ts";
import type { LoadService } from "../load/index.ts";
import type { Metrics, Tracing } from "../observe/index.ts";
import type { Engine } from "../queries/index.ts";
import type { Store } from "../store/index.ts";
import type { ControllerNode } from "./controller-node.ts";
import type { DataCondition } from "./data-condition.ts";
import type { MetricsParts } from "./metrics-parts.ts";

export interface PortsConfig {
  readonly node: ControllerNode;
  readonly store: Store | undefined;
  readonly engine: Engine;
  /** `undefined`: this process has no store, and so no tables. */
  readonly statements: LakeStatements | undefined;
  readonly uploads: Uploads | undefined;
  readonly metrics: Metrics;
  readonly metricsParts: MetricsParts;
  /** `undefined`: this process has no store. */
  readonly load: LoadService | undefined;
  readonly tracing: Tracing;
  readonly health: HealthBoard;
  readonly condition: Pick<DataCondition, "counts">;
  readonly clock: Clock;
  readonly prng: Prng;
  readonly logger: Logger;
  readonly version: string;
  /** Of the lease that coordinators compete for. */
  readonly leaseName: string;
}

export function roleOf(node: ControllerNode): StatusBody["role"] {
  if (node.role === "query_api") return "query_api";
  // A lease that only cannot be renewed stands in our name: everything is still answered here, and
  // nothing is written.
  return node.leading() || node.lease?.standsAsOurs() === true ? "leader" : "standby";
}
