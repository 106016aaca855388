/** How a host opens what the edges of a plan name. */
import type { Clock } from "../../../../ground/kernel/clock.ts";
import type { QuerySettings, Schema, SinkOp, SourceOp } from "../../language/core/index.ts";
import type { SinkWriter, SourceReader } from "./connector.ts";

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
}

export interface Connectors {
  openSource(options: OpenSource): Promise<SourceReader>;
  openSink(options: OpenSink): Promise<SinkWriter>;
}
