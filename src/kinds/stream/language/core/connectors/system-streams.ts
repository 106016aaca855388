/**
 * The streams that a cluster makes of itself. They are sources that nobody has created: their names
 * begin with `system.`, which no other name does, and a worker gives their rows as JSON.
 */
import type { LogicalSource, PhysicalSource } from "../catalog.ts";
import type { Field, Schema, TypeName } from "../data-type.ts";
import type { Guarantee } from "./descriptor.ts";
import { inputFormats } from "./formats.ts";
import { readFormat } from "./read-settings.ts";

export interface SystemColumn {
  readonly name: string;
  readonly type: TypeName;
  readonly nullable?: true;
  readonly description: string;
}

export interface SystemStream {
  /** Without the prefix. */
  readonly name: string;
  readonly description: string;
  /** Each worker has rows of its own, or the coordinator has all of them. */
  readonly madeBy: "worker" | "coordinator";
  readonly guarantee: Guarantee;
  readonly columns: readonly SystemColumn[];
}

export const systemPrefix = "system.";
/** The type of a source in a plan; no statement can name it. */
export const systemType = "System";

const workerColumns: readonly SystemColumn[] = [
  { name: "worker_id", type: "VARSIZED", description: "The worker." },
  { name: "timestamp", type: "UINT64", description: "When the row was made, by its clock." },
];

export const systemStreams: readonly SystemStream[] = [
  {
    name: "worker_statistics",
    description: "What the fragments of a worker have done, once a second.",
    madeBy: "worker",
    guarantee: "at most once",
    columns: [
      ...workerColumns,
      { name: "fragments", type: "UINT64", description: "Fragments that run there." },
      {
        name: "records_processed",
        type: "UINT64",
        description:
          "Rows that they took in since the row before: from sources, and from other fragments.",
      },
      {
        name: "records_read",
        type: "UINT64",
        description: "Those of them that came from sources.",
      },
      { name: "bytes_read", type: "UINT64", description: "Bytes of sources since the row before." },
      {
        name: "records_written",
        type: "UINT64",
        description: "Rows that went to sinks since the row before.",
      },
      { name: "late_records", type: "UINT64", description: "Late rows since the row before." },
      {
        name: "malformed_records",
        type: "UINT64",
        description: "Records that could not be read since the row before.",
      },
      { name: "state_bytes", type: "UINT64", description: "What the fragments keep in memory." },
    ],
  },
  {
    name: "worker_resources",
    description: "What a worker uses of its machine, once a second.",
    madeBy: "worker",
    guarantee: "at most once",
    columns: [
      ...workerColumns,
      {
        name: "cpu_usage",
        type: "FLOAT64",
        description: "Percent of the machine's cores in the last second: 100 is all of them.",
      },
      { name: "memory_bytes", type: "UINT64", description: "The memory of its processes." },
      {
        name: "event_loop_delay_ms",
        type: "FLOAT64",
        description: "How late its thread of sessions was, in the slowest hundredth.",
      },
      { name: "running_work", type: "UINT64", description: "Work items of ask that run there." },
      { name: "queue_depth", type: "UINT64", description: "Work items of ask that wait there." },
    ],
  },
  {
    name: "heartbeats",
    description: "Each heartbeat that a worker answered, by the clock of the coordinator.",
    madeBy: "coordinator",
    guarantee: "at most once",
    columns: [
      {
        name: "sequence",
        type: "UINT64",
        description: "Counts all heartbeats of one run of a coordinator.",
      },
      { name: "worker_id", type: "VARSIZED", description: "The worker." },
      { name: "timestamp", type: "UINT64", description: "When the answer came." },
      { name: "incarnation", type: "VARSIZED", description: "The run of the worker's process." },
      { name: "round_trip_ms", type: "FLOAT64", description: "How long the answer took." },
    ],
  },
  {
    name: "query_events",
    description: "Each change of a query's state, and the removal of its row.",
    madeBy: "coordinator",
    guarantee: "exactly once",
    columns: [
      {
        name: "revision",
        type: "UINT64",
        description: "The revision of the catalog, as in WATCH.",
      },
      { name: "timestamp", type: "UINT64", description: "When it was committed." },
      { name: "query_id", type: "VARSIZED", description: "The query." },
      { name: "query_name", type: "VARSIZED", nullable: true, description: "Its name, if any." },
      { name: "epoch", type: "UINT64", description: "Its epoch then." },
      {
        name: "from_state",
        type: "VARSIZED",
        nullable: true,
        description: "The state before; NULL: it was created.",
      },
      {
        name: "to_state",
        type: "VARSIZED",
        nullable: true,
        description: "The state from then on; NULL: its row was removed.",
      },
      { name: "reason", type: "VARSIZED", description: "Why." },
    ],
  },
];

/** The same streams, in the spelling of names that other systems have. */
export const systemViews: readonly { readonly name: string; readonly definition: string }[] =
  systemStreams.map(({ name, columns }) => {
    const items = columns.map((column) => `${column.name} AS ${camelCase(column.name)}`);
    return { name, definition: `SELECT ${items.join(", ")} FROM ${systemPrefix}${name}` };
  });

function camelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

export function isSystemName(name: string): boolean {
  return name.toLowerCase().startsWith(systemPrefix);
}

export function findSystemStream(name: string): SystemStream | undefined {
  if (!isSystemName(name)) return undefined;
  const own = name.slice(systemPrefix.length).toLowerCase();
  return systemStreams.find((stream) => stream.name === own);
}

/** How much later than others a row may come: the clocks of workers differ. */
const boundMs = 1_000;

export function systemSource({ name, columns }: SystemStream): LogicalSource {
  const column = columns.findIndex((one) => one.name === "timestamp");
  return {
    name: `${systemPrefix}${name}`,
    schema: schemaOf(columns),
    watermark: { column, boundMs },
    query: undefined,
  };
}

function schemaOf(columns: readonly SystemColumn[]): Schema {
  return columns.map(
    ({ name, type, nullable = false }): Field => ({ name, type: { name: type, nullable } }),
  );
}

/** Rows of a worker's own streams are read on that worker, all others on any. */
export function systemPhysical(
  { name, madeBy }: SystemStream,
  workerId: string | undefined,
): PhysicalSource {
  const isPlaced = madeBy === "worker" && workerId !== undefined;
  return {
    id: isPlaced ? `${systemPrefix}${name}@${workerId}` : `${systemPrefix}${name}`,
    logical: `${systemPrefix}${name}`,
    type: systemType,
    config: { STREAM: name, ...(isPlaced ? { PLACEMENT: workerId } : {}) },
    parser: readFormat(inputFormats, "JSON", [], {}, 2021, undefined),
  };
}
