/**
 * Runs COPY … FROM on a worker: DuckDB reads the file into a table like the target, by its own
 * rules and options (LS5). No error shows the file's local path.
 */
import { basename } from "node:path";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import type { EngineSession } from "../../duckdb/index.ts";
import { quoteName, quoteText } from "../../sql/core/index.ts";
import type { LakeCopy } from "./lake-write.ts";

const linesShown = 20;
const lineCharsShown = 120;
/** Makes DuckDB keep a table of the lines that did not fit. */
const rejects = [
  "STORE_REJECTS true",
  "REJECTS_TABLE '_rejected'",
  "REJECTS_SCAN '_rejected_scans'",
];

/** Creates and fills the table `target`. Returns the number of lines left out. */
export async function copyInto(
  session: EngineSession,
  target: string,
  write: LakeCopy,
  localPath: string,
  signal: AbortSignal,
): Promise<number> {
  await session.run(copyTargetSql(write.table, target), signal);
  const ignores = write.options.some(
    ([name, value]) => name === "IGNORE_ERRORS" && !/^(false|0|off|no)$/i.test(value),
  );
  const isCsv = readsLines(write);
  const extra = isCsv && ignores ? rejects : [];
  try {
    await session.run(copySql(write, target, localPath, extra), signal);
  } catch (thrown) {
    if (!(thrown instanceof OperatingError) || thrown.code !== "bad_sql") throw thrown;
    const told = isCsv ? await badLines(session, write, localPath, signal) : undefined;
    const message = told ?? thrown.message.replaceAll(localPath, basename(write.source.path));
    throw new OperatingError("bad_sql", "never", message, { cause: thrown });
  }
  return extra.length === 0 ? 0 : (await rejectedOf(session, signal)).lineCount;
}

/** Reads the file once more to name the bad lines. Undefined when no line is to blame. */
async function badLines(
  session: EngineSession,
  write: LakeCopy,
  localPath: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const again = "_copied_again";
  const options = write.options.filter(([name]) => name !== "IGNORE_ERRORS");
  try {
    await session.run(copyTargetSql(write.table, again), signal);
    await session.run(copySql({ ...write, options }, again, localPath, rejects), signal);
  } catch (thrown) {
    if (thrown instanceof OperatingError && thrown.code === "bad_sql") return undefined;
    throw thrown;
  }
  const { lineCount, shown } = await rejectedOf(session, signal);
  if (lineCount === 0) return undefined;
  const rest = lineCount > shown.length ? [`and ${lineCount - shown.length} more`] : [];
  const what = lineCount === 1 ? "a line does not fit" : `${lineCount} lines do not fit`;
  const hint = "COPY … (IGNORE_ERRORS) copies the others.";
  return [`${what}, and nothing was copied. ${hint}`, ...shown, ...rest].join("\n");
}

async function rejectedOf(
  session: EngineSession,
  signal: AbortSignal,
): Promise<{ readonly lineCount: number; readonly shown: readonly string[] }> {
  const [counted] = await session.run("SELECT count(DISTINCT line) FROM _rejected", signal);
  const rows = await session.run(
    `SELECT line, first(error_message), first(csv_line) FROM _rejected GROUP BY line ORDER BY line LIMIT ${linesShown}`,
    signal,
  );
  const shown = rows.map(([line, why, text]) => {
    const written = String(text ?? "");
    const cut = written.length > lineCharsShown ? `${written.slice(0, lineCharsShown)}…` : written;
    return `line ${line}: ${why}: ${cut}`;
  });
  return { lineCount: Number(counted?.[0] ?? 0), shown };
}

/** DuckDB recognizes a format by its option or by the end of the name. */
function readsLines({ options, source }: LakeCopy): boolean {
  const format = options.find(([name]) => name === "FORMAT")?.[1];
  if (format !== undefined) return format.toLowerCase() === "csv";
  return !/\.(parquet|json|jsonl|ndjson)(\.[a-z0-9]+)?$/.test(source.path);
}

/** A table like the target. DuckDB casts to its types and names lines that do not fit. */
function copyTargetSql(table: LakeCopy["table"], name: string): string {
  const columns = table.columns.map((column) => {
    const fallback = column.defaultValue === undefined ? "" : ` DEFAULT ${column.defaultValue}`;
    return `${quoteName(column.name)} ${column.type}${column.nullable ? "" : " NOT NULL"}${fallback}`;
  });
  return `CREATE TEMP TABLE ${name} (${columns.join(", ")})`;
}

/** DuckDB's options about reading a file. */
const copyOptions: ReadonlySet<string> = new Set([
  "ALLOW_QUOTED_NULLS",
  "AUTO_DETECT",
  "BINARY_AS_STRING",
  "COMMENT",
  "COMPRESSION",
  "DATEFORMAT",
  "DECIMAL_SEPARATOR",
  "DELIM",
  "DELIMITER",
  "ENCODING",
  "ESCAPE",
  "FORCE_NOT_NULL",
  "FORMAT",
  "HEADER",
  "IGNORE_ERRORS",
  "MAX_LINE_SIZE",
  "NEW_LINE",
  "NULL",
  "NULL_PADDING",
  "NULLSTR",
  "QUOTE",
  "SAMPLE_SIZE",
  "SEP",
  "SKIP",
  "STRICT_MODE",
  "THOUSANDS",
  "TIMESTAMPFORMAT",
]);

function copySql(
  { columns, options }: LakeCopy,
  target: string,
  localPath: string,
  extra: readonly string[] = [],
): string {
  const names = columns === undefined ? "" : ` (${columns.map(quoteName).join(", ")})`;
  const given = [...options.map(([name, value]) => optionSql(name, value)), ...extra];
  const list = given.length === 0 ? "" : ` (${given.join(", ")})`;
  return `COPY ${target}${names} FROM ${quoteText(localPath)}${list}`;
}

const item = String.raw`(?:'(?:[^']|'')*'|"(?:[^"]|"")*"|[\p{L}\p{N}_.+-]+)`;
const itemList = new RegExp(String.raw`^[[(]\s*(${item}(?:\s*,\s*${item})*)?\s*[\])]$`, "u");

/** An option becomes part of our SQL: a text, or a list of texts, numbers and names. */
function optionSql(name: string, value: string): string {
  if (!copyOptions.has(name)) {
    const known = [...copyOptions].join(", ");
    const message = `COPY has no option ${name} here`;
    throw new OperatingError("bad_sql", "never", message, { hint: `there are ${known}` });
  }
  if (!/^[[(]/.test(value)) return `${name} ${quoteText(value)}`;
  const list = itemList.exec(value);
  if (list === null) {
    const message = `the option ${name} takes a text, a number, or a list of them`;
    throw new OperatingError("bad_sql", "never", message);
  }
  // DuckDB takes column names in round brackets, and texts in square ones.
  return name.startsWith("FORCE_") ? `${name} (${list[1]})` : `${name} [${list[1] ?? ""}]`;
}
