/** How a host opens what the edges of a plan name. */
import type { Clock } from "../../../../ground/kernel/clock.ts";
import type { LookupTable, MemoryAccount } from "../../engine/core/index.ts";
import type {
  LookupJoinOp,
  QuerySettings,
  Schema,
  SinkOp,
  SourceOp,
} from "../../language/core/index.ts";
import type { SinkWriter, SourceReader } from "./connector.ts";
import type { QueryRun } from "./stream-host.ts";

export interface OpenSource {
  readonly op: SourceOp;
  readonly settings: QuerySettings;
  readonly clock: Clock;
  /** The position in a checkpoint to go on from. */
  readonly from: string | undefined;
}

export interface OpenSink {
  readonly op: SinkOp;
  /** The schema of the rows that the sink takes. */
  readonly schema: Schema;
  readonly from: string | undefined;
  readonly run: QueryRun;
}

export interface OpenTable {
  readonly op: LookupJoinOp;
  /** For the rows of the table. */
  readonly memory: MemoryAccount;
}

/** A table in memory that renews itself until it is closed. */
export interface OpenedTable {
  readonly table: LookupTable;
  /** Resolves when it is closed; rejects when it can no longer be renewed. */
  readonly ended: Promise<void>;
  close(): Promise<void>;
}

export interface Connectors {
  openSource(options: OpenSource): Promise<SourceReader>;
  openSink(options: OpenSink): Promise<SinkWriter>;
  /** The table of a lookup join; absent where there is no lake. */
  openTable?(options: OpenTable): Promise<OpenedTable>;
}
