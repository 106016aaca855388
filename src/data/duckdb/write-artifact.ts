/** Runs a user's statement into a Parquet file. In the engine's process. */

import { readFileSync, rmSync } from "node:fs";
import { type DuckDBPreparedStatement, type DuckDBType, DuckDBTypeId } from "@duckdb/node-api";
import type { Clock } from "../../ground/kernel/clock.ts";
import { assert, OperatingError } from "../../ground/kernel/errors.ts";
import { artifactSchemaVersion, type ProducedFile } from "../../ground/work/core/index.ts";
import { checksumOfBytes, checksumOfFile } from "../../ground/work/index.ts";
import { quoteText } from "../sql/core/index.ts";
import { type ArtifactColumn, columnName, columnsMetadataKey } from "./artifact-columns.ts";
import { checkUserSql } from "./check-user-sql.ts";
import { isLossy, shapeOf, typeText } from "./column-shape.ts";
import { isInterrupt, placeOf, translateDuckDbError } from "./duckdb-error.ts";
import type { WriteOrder } from "./engine-messages.ts";
import { jsonText } from "./json-text.ts";
import { limitFileSize } from "./limit-file-size.ts";
import { withRelations } from "./relations.ts";
import { type Lane, onlyText } from "./statement-pool.ts";

/** A megabyte of `1 IN (1, 1, …)` takes ten seconds and more, this size less than one. */
const sqlBytesMax = 128 * 1024;
/** Files up to this size are hashed at once. */
const hashAtOnceBytesMax = 4 * 1024 * 1024;

export async function writeArtifact(
  lane: Lane,
  { sql, path, bytesMax, relations }: WriteOrder,
  clock: Clock,
): Promise<ProducedFile> {
  try {
    await parseStatement(lane, sql);
    const written = await withRelations(lane, relations, async () => {
      const columns = await describe(lane, sql);
      return await copy(lane, sql, columns, path, bytesMax, clock);
    });
    const checksum =
      written.sizeBytes <= hashAtOnceBytesMax
        ? checksumOfBytes(readFileSync(path))
        : await checksumOfFile(path);
    return { checksum, schemaVersion: artifactSchemaVersion, ...written };
  } catch (thrown) {
    rmSync(path, { force: true });
    // Interrupts stay as they are: whoever interrupted knows why.
    if (thrown instanceof OperatingError || isInterrupt(thrown)) throw thrown;
    throw translateDuckDbError(thrown, sql);
  }
}

/** DuckDB's syntax tree of a user's SELECT that may run; otherwise throws `bad_sql`. */
export async function parseStatement({ serializeSql }: Lane, sql: string): Promise<string> {
  if (Buffer.byteLength(sql) > sqlBytesMax) {
    throw badSql(`the statement is longer than ${sqlBytesMax} bytes`);
  }
  // DuckDB reads a text up to the first NUL, so nothing may follow unchecked.
  if (sql.includes("\0")) throw badSql("the statement contains a NUL character");
  serializeSql.bindVarchar(1, sql);
  const serialized = onlyText(await serializeSql.run());
  const problem = checkUserSql(serialized);
  if (problem !== undefined) throw badSql(problem.message + placeOf(sql, problem.position));
  return serialized;
}

interface ResultColumn {
  readonly name: string;
  readonly type: DuckDBType;
}

/** Binding the user's own text gives names, types, and errors with positions in that text. */
async function describe({ connection }: Lane, sql: string): Promise<readonly ResultColumn[]> {
  const statement: DuckDBPreparedStatement = await connection.prepare(sql);
  try {
    return Array.from({ length: statement.columnCount }, (_, index) => ({
      name: statement.columnName(index),
      type: statement.columnType(index),
    }));
  } finally {
    statement.destroySync();
  }
}

type Written = Pick<ProducedFile, "sizeBytes" | "rowCount" | "minTs" | "maxTs">;

async function copy(
  { connection }: Lane,
  sql: string,
  columns: readonly ResultColumn[],
  path: string,
  bytesMax: number,
  clock: Clock,
): Promise<Written> {
  const limit = limitFileSize(path, bytesMax, clock, () => connection.interrupt());
  try {
    const reader = await connection.runAndReadAll(copyStatement(sql, columns, path));
    const [row] = reader.getRowObjectsJson();
    assert(row !== undefined, "COPY with RETURN_STATS gives a row");
    const sizeBytes = Number(row.file_size_bytes);
    if (sizeBytes > bytesMax) throw tooLarge(bytesMax);
    const rowCount = Number(row.count);
    return { sizeBytes, rowCount, ...timeRange(columns, row.column_statistics) };
  } catch (thrown) {
    throw limit.exceeded() && isInterrupt(thrown) ? tooLarge(bytesMax) : thrown;
  } finally {
    limit.stop();
  }
}

/**
 * The user's text is in a string literal, which `query` parses by itself, so it cannot become part
 * of the statement around it.
 */
function copyStatement(sql: string, columns: readonly ResultColumn[], path: string): string {
  const names = columns.map((_, index) => columnName(index));
  const values = columns.map(({ type }, index) => {
    const name = columnName(index);
    return isLossy(type) ? `${jsonText(shapeOf(type), name)} AS ${name}` : name;
  });
  const described = columns.map(
    ({ name, type }): ArtifactColumn => ({
      name,
      type: typeText(type),
      shape: isLossy(type) ? "encoded" : shapeOf(type),
    }),
  );
  const metadata = `{${columnsMetadataKey}: ${quoteText(JSON.stringify(described))}}`;
  const options = `FORMAT parquet, USE_TMP_FILE false, RETURN_STATS, KV_METADATA ${metadata}`;
  const from = `query(${quoteText(sql)}) AS t(${names.join(", ")})`;
  return `COPY (SELECT ${values.join(", ")} FROM ${from}) TO ${quoteText(path)} (${options})`;
}

const timeTypes: ReadonlySet<DuckDBTypeId> = new Set([
  DuckDBTypeId.TIMESTAMP,
  DuckDBTypeId.TIMESTAMP_S,
  DuckDBTypeId.TIMESTAMP_MS,
  DuckDBTypeId.TIMESTAMP_NS,
  DuckDBTypeId.TIMESTAMP_TZ,
]);

/** The range of the column `ts`, if any: a timestamp, or a BIGINT of milliseconds. */
function timeRange(
  columns: readonly ResultColumn[],
  statistics: unknown,
): Pick<Written, "minTs" | "maxTs"> {
  const unknownRange = { minTs: undefined, maxTs: undefined };
  const index = columns.findIndex(({ name }) => name === "ts");
  const typeId = columns[index]?.type.typeId;
  if (typeId === undefined) return unknownRange;
  const parse = timeTypes.has(typeId)
    ? parseTimestamp
    : typeId === DuckDBTypeId.BIGINT
      ? parseInteger
      : undefined;
  const ofColumn = entryOf(statistics, `"${columnName(index)}"`);
  const [minText, maxText] = [entryOf(ofColumn, "min"), entryOf(ofColumn, "max")];
  if (parse === undefined || typeof minText !== "string" || typeof maxText !== "string") {
    return unknownRange;
  }
  const [minTs] = parse(minText);
  const [, maxTs] = parse(maxText);
  return Number.isSafeInteger(minTs) && Number.isSafeInteger(maxTs)
    ? { minTs, maxTs }
    : unknownRange;
}

/** The milliseconds rounded down and up; NaN where there are none. */
type Bounds = readonly [floor: number, ceiling: number];

function parseInteger(text: string): Bounds {
  return [Number(text), Number(text)];
}

/** Parses DuckDB's text in UTC, except infinities and years outside ISO 8601. */
function parseTimestamp(text: string): Bounds {
  const match = /^(\d{4}-\d{2}-\d{2}) (\d{2}:\d{2}:\d{2})(?:\.(\d+))?(?:\+00)?$/.exec(text);
  if (match === null) return [Number.NaN, Number.NaN];
  const [, date, time, fraction = ""] = match;
  const digits = fraction.padEnd(3, "0");
  const floor = Date.parse(`${date}T${time}.${digits.slice(0, 3)}Z`);
  return [floor, /[1-9]/.test(digits.slice(3)) ? floor + 1 : floor];
}

/** The value of a key in a DuckDB MAP as JSON: a list of `{key, value}`. */
function entryOf(map: unknown, key: string): unknown {
  if (!Array.isArray(map)) return undefined;
  const entries = map as readonly { readonly key?: unknown; readonly value?: unknown }[];
  return entries.find((entry) => entry.key === key)?.value;
}

function badSql(message: string): OperatingError {
  return new OperatingError("bad_sql", "never", message);
}

function tooLarge(bytesMax: number): OperatingError {
  const message = `the result is larger than ${bytesMax} bytes`;
  const hint = "ask for fewer rows or columns, or give workers more disk";
  return new OperatingError("query_too_large", "never", message, { hint });
}
