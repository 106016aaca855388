/** Snapshots for tests of planning: the rows that the store would make of statements. */
import type { CatalogChange } from "../core/changes.ts";
import { findWorker } from "../core/find-worker.ts";
import type { CatalogSnapshot, Topology } from "../core/planner.ts";
import { planStatements } from "../core/planning/plan-statements.ts";
import type { LogicalSourceRow, PhysicalSourceRow, SinkRow } from "../core/tables.ts";
import { topology } from "./placed-plans.ts";

type Tables = NonNullable<CatalogSnapshot["tables"]>;

export function emptySnapshot(on: Topology = topology(["w1", "w2"]), tables?: Tables) {
  const rows = { logicalSources: [], physicalSources: [], sinks: [] };
  return { version: 1, ...rows, tables, topology: on } satisfies CatalogSnapshot;
}

/** The catalog behind these CREATE statements; ids are `1`, `2` and so on, in their order. */
export function snapshotOf(text: string, on?: Topology, tables?: Tables): CatalogSnapshot {
  const empty = emptySnapshot(on, tables);
  const logicalSources: LogicalSourceRow[] = [];
  const physicalSources: PhysicalSourceRow[] = [];
  const sinks: SinkRow[] = [];
  const idOf = (written: string): string => String(Number(written.slice("new:".length)) + 1);
  for (const [at, planned] of planStatements([text], empty).entries()) {
    if (planned.kind !== "change") throw new Error("only changes make a snapshot");
    add(planned.change, String(at + 1));
  }
  return { ...empty, logicalSources, physicalSources, sinks };

  function add(change: CatalogChange, id: string): void {
    const more = { superseded_by: null, created_at_ms: 0 };
    const workerOf = (placement: string | undefined): string | null =>
      (placement && findWorker(empty.topology.workers, placement)?.workerId) || null;
    if (change.kind === "createLogicalSource") {
      const { name, watermark, definition } = change;
      logicalSources.push({
        ...{ source_id: id, name, name_key: name.toUpperCase(), kind: change.sourceKind },
        source_schema: JSON.stringify(change.schema),
        watermark: watermark === undefined ? null : JSON.stringify(watermark),
        ...{ definition: definition ?? null, ...more },
      });
    } else if (change.kind === "createPhysicalSource") {
      physicalSources.push({
        ...{ physical_source_id: id, source_id: idOf(change.sourceId) },
        ...{ worker_id: workerOf(change.placement), source_type: change.type.toUpperCase() },
        source_config: JSON.stringify(change.config),
        parser_config: JSON.stringify(change.parser),
        ...{ description_key: id, ...more },
      });
    } else if (change.kind === "createSink") {
      const { name, schema } = change;
      sinks.push({
        ...{ sink_id: id, name, name_key: name.toUpperCase() },
        sink_schema: schema === undefined ? null : JSON.stringify(schema),
        ...{ worker_id: workerOf(change.placement), sink_type: change.type.toUpperCase() },
        sink_config: JSON.stringify(change.config),
        formatter_config: JSON.stringify(change.formatter),
        ...more,
      });
    } else throw new Error(`${change.kind} makes no row here`);
  }
}
