/** The workers that the sources and sinks of a plan name, by their setting PLACEMENT. */
import type { Plan, PlanNode, SinkOp, SourceOp } from "../../../language/core/index.ts";
import { findWorker } from "../find-worker.ts";
import type { Topology } from "../planner.ts";
import type { PlacementFailure } from "./explain-placement.ts";

/** A source or a sink that names its worker. */
export interface Pin {
  readonly op: SourceOp | SinkOp;
  /** Its place in the topology. */
  readonly worker: number;
}

export class Pins {
  readonly #workers: ReadonlyMap<string, number>;

  constructor(workers: ReadonlyMap<string, number>) {
    this.#workers = workers;
  }

  of(nodes: readonly PlanNode[]): readonly Pin[] {
    return nodes.flatMap(({ op }) => {
      const name = placementOf(op);
      const worker = name === undefined ? undefined : this.#workers.get(name);
      return worker === undefined || !isConnector(op) ? [] : [{ op, worker }];
    });
  }

  /** The workers that the nodes name. */
  workersOf(nodes: readonly PlanNode[]): ReadonlySet<number> {
    return new Set(this.of(nodes).map(({ worker }) => worker));
  }
}

export function pinsOf({ nodes }: Plan, { workers }: Topology): Pins | PlacementFailure {
  const found = new Map<string, number>();
  for (const { op } of nodes) {
    const name = placementOf(op);
    if (name === undefined || !isConnector(op)) continue;
    const worker = findWorker(workers, name);
    if (worker === undefined) {
      return {
        code: op.kind === "source" ? "WorkerDoesNotExistForPhysical" : "WorkerDoesNotExistForSink",
        message: `the ${op.kind} ${op.name} is placed on ${name}, and there is no such worker`,
        hint: undefined,
      };
    }
    found.set(name, workers.indexOf(worker));
  }
  return new Pins(found);
}

function isConnector(op: PlanNode["op"]): op is SourceOp | SinkOp {
  return op.kind === "source" || op.kind === "sink";
}

function placementOf(op: PlanNode["op"]): string | undefined {
  const name = isConnector(op) ? op.config.PLACEMENT : undefined;
  return typeof name === "string" ? name : undefined;
}
