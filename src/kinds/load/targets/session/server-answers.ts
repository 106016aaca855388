/** What servers that are asked in SQL answer, in the port's terms. */
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import type { ServerPoll, StatementFigures } from "../../core/target.ts";
import type { Row } from "./driver-session.ts";

/** Of a server that has no clusters. */
export function serverPoll(
  name: string,
  running: number,
  queued: number,
  raw: ServerPoll["raw"],
): ServerPoll {
  const none = { startedClusters: null, minClusterCount: null, maxClusterCount: null };
  return { name, running, queued, ...none, scalingPolicy: null, raw };
}

/** Rows of text, calls, milliseconds and rows. */
export function figuresOfRows(rows: readonly Row[]): StatementFigures[] {
  return rows.map(([text, calls, totalMs, rowCount]) => ({
    text: String(text),
    calls: Number(calls),
    totalMs: Number(totalMs),
    rows: Number(rowCount),
  }));
}

export function noFigures(why: string, hint: string): OperatingError {
  return new OperatingError("unsupported", "never", `no figures of statements: ${why}`, { hint });
}
