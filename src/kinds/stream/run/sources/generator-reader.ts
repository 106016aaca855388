/** A source that makes its rows, as fast as they are taken or at a rate. */
import { type Clock, sleep } from "../../../../ground/kernel/clock.ts";
import { batchRowsMax, RowGenerator, type RowGeneratorOptions } from "../../engine/core/index.ts";
import type { Reading, SourceReader } from "../core/connector.ts";

export interface GeneratorReaderOptions extends RowGeneratorOptions {
  /** Rows a second; `undefined`: no limit. */
  readonly rate: number | undefined;
  readonly from: string | undefined;
  readonly clock: Clock;
}

/**
 * How long a reader with a rate waits before it gives the next rows: until the next one is due, but
 * not for each of many, and not so long that its silence looks like that of a source without rows.
 */
const paceMs = { min: 10, max: 100 };

export function openGeneratorReader(options: GeneratorReaderOptions): SourceReader {
  const { rate, clock } = options;
  const generator = new RowGenerator(options, batchRowsMax);
  const firstRow = options.from === undefined ? 0 : Number(options.from);
  const startMs = clock.nowMs();
  let row = firstRow;
  const closed = new AbortController();

  async function read(): Promise<Reading> {
    let due = Number.POSITIVE_INFINITY;
    if (rate !== undefined) {
      due = firstRow + Math.floor(((clock.nowMs() - startMs) / 1000) * rate) - row;
      if (due <= 0) {
        const nextMs = ((row + 1 - firstRow) / rate) * 1000 - (clock.nowMs() - startMs);
        const waitMs = Math.min(paceMs.max, Math.max(paceMs.min, Math.ceil(nextMs)));
        await sleep(clock, waitMs, closed.signal);
        return { kind: closed.signal.aborted ? "end" : "idle" };
      }
    }
    if (closed.signal.aborted) return { kind: "end" };
    const batch = generator.make(row, due);
    if (batch === undefined) return { kind: "end" };
    row += batch.rowCount;
    return { kind: "rows", batch };
  }

  return {
    bounded: rate === undefined && Number.isFinite(generator.rowsMax),
    read,
    position: () => `${row}`,
    close: () => {
      closed.abort();
      return Promise.resolve();
    },
  };
}
