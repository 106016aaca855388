/** Reads a float sample of either remote write protocol. Only the second has start times. */
import type { BatchBuilder } from "../batch-builder.ts";
import type { ProtoReader } from "./proto-reader.ts";

/** `reader` is at the length of the message. A negative `series` takes no samples. */
export function readSample(
  reader: ProtoReader,
  builder: BatchBuilder,
  series: number,
  hasStart: boolean,
): void {
  const outerEnd = reader.enter();
  let value = 0;
  let stale = false;
  let ts = 0;
  let startTs = 0;
  for (let field = reader.nextField(); field !== 0; field = reader.nextField()) {
    if (field === 1) {
      value = reader.doubleField();
      stale = Number.isNaN(value) && reader.wasStaleMarker();
    } else if (field === 2) ts = reader.int64Field();
    else if (field === 3 && hasStart) startTs = reader.int64Field();
    else reader.skip();
  }
  reader.leave(outerEnd);
  if (series < 0) return;
  if (stale) builder.addStale(series, ts);
  else builder.addFloat(series, ts, value);
  if (startTs !== 0) builder.setStartTs(startTs);
}
