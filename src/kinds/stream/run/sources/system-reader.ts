/** Reads a stream that the cluster makes of itself, from its own process. Rules: SD80, SD81. */
import type { SourceOp } from "../../language/core/index.ts";
import type { Reading, SourceReader } from "../core/connector.ts";
import type { SystemCalls } from "../core/system-rows.ts";

export interface SystemReaderOptions {
  readonly op: SourceOp;
  readonly calls: SystemCalls;
  /** Where to go on; `undefined`: with what is made from now on. */
  readonly from: string | undefined;
}

export async function openSystemReader(options: SystemReaderOptions): Promise<SourceReader> {
  const { op, calls, from } = options;
  const { STREAM, COORDINATOR } = op.config;
  const about = {
    stream: String(STREAM),
    ...(COORDINATOR === undefined ? {} : { coordinator: String(COORDINATOR) }),
  };
  const closed = new AbortController();
  const encoder = new TextEncoder();
  let after = from ?? (await calls.systemRows({ ...about, after: undefined })).at;

  async function read(): Promise<Reading> {
    if (closed.signal.aborted) return { kind: "end" };
    try {
      const { lines, at } = await calls.systemRows({ ...about, after }, closed.signal);
      after = at;
      return lines === "" ? { kind: "idle" } : { kind: "bytes", bytes: encoder.encode(lines) };
    } catch (thrown) {
      if (closed.signal.aborted) return { kind: "end" };
      throw thrown;
    }
  }

  return {
    bounded: false,
    read,
    // Rows are given as whole lines, so nothing is pending when somebody asks.
    position: () => after,
    close: () => {
      closed.abort();
      return Promise.resolve();
    },
  };
}
