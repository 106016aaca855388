/**
 * What a database that runs within a process of ours, DuckDB or SQLite, may take of that process's
 * memory. The process itself is bounded from outside; these limits make the statement fail first,
 * where the database can keep them. Rules: TM1 and TM2.
 */

import { OperatingError } from "../../../ground/kernel/errors.ts";
import { duckdbBytesOf } from "../../../ground/process/core/index.ts";

const mebibyte = 1024 ** 2;
/** SQLite's own maximum. */
const valueBytesMost = 1_000_000_000;
const valueShare = 8;
const units: Readonly<Record<string, number>> = { MB: 1_000_000, GB: 1_000_000_000 };

/**
 * The limit in DuckDB's syntax. Undefined means DuckDB's default. Throws `bad_request` for more
 * memory than the process has.
 */
export function duckdbMemoryLimit(
  given: string | undefined,
  processBytes: number | undefined,
): string | undefined {
  if (processBytes === undefined) return given;
  const bytesMax = duckdbBytesOf(processBytes);
  if (given === undefined) return `${Math.floor(bytesMax / mebibyte)}MiB`;
  const [, count = "", unit = ""] = /^(\d+)([A-Z]+)$/.exec(given) ?? [];
  if (Number(count) * (units[unit] ?? Infinity) <= bytesMax) return given;
  const message = `memory_limit=${given} is more than the ${Math.floor(bytesMax / mebibyte)} MiB that DuckDB may take in a load worker`;
  throw new OperatingError("bad_request", "never", message, {
    hint: "Give load workers more with --load-memory-limit.",
  });
}

/** TM2 */
export function sqliteValueBytes(processBytes: number | undefined): number {
  return Math.min(valueBytesMost, Math.floor((processBytes ?? Infinity) / valueShare));
}
