/** One case: draws it from its tape, runs it for real and naively, and compares. */
import { Drawing, type Kind, type PlanCase, Tape, type Value } from "./description.ts";
import { NaivePlan } from "./naive-plan.ts";
import { printSql } from "./print-sql.ts";
import { RealPlan } from "./run-real.ts";

export interface CheckedCase {
  readonly plan: PlanCase;
  readonly sql: string;
  readonly rowCount: number;
  /** `undefined` where both agree. */
  readonly difference: string | undefined;
}

export function drawCase(tape: readonly number[]): PlanCase {
  return new Drawing(new Tape(tape)).draw();
}

export function checkCase(tape: readonly number[]): CheckedCase {
  const plan = drawCase(tape);
  const sql = printSql(plan, (file) => `file${file}`);
  try {
    const naive = runNaively(plan);
    const wanted = sorted(naive.rows.map((row) => row.map((value) => cellText(value))));
    let difference: string | undefined;
    // Within the bound other buffers change nothing.
    for (const scale of plan.isWithin ? [1, 3] : [1]) {
      const real = runForReal(plan, sql, scale);
      const found = sorted(readOutput(real.output, plan));
      difference ??= compare(wanted, found);
      if (!joins(plan.query) && naive.late !== real.late) {
        difference ??= `${naive.late} late rows, the engine has ${real.late}`;
      }
    }
    return { plan, sql, rowCount: wanted.length, difference };
  } catch (thrown) {
    const text = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
    return { plan, sql, rowCount: 0, difference: text };
  }
}

/** Conditions move below joins, so what is late there may have been dropped before. */
function joins(node: PlanCase["query"]): boolean {
  if (node.op === "source") return false;
  if (node.op === "join" || node.op === "interval") return true;
  return joins(node.of) || ("other" in node && joins(node.other));
}

export function describeCase({ plan, sql, difference }: CheckedCase): string {
  const data = plan.files.map((_, file) => `file${file}:\n${contentOf(plan, file).text}`);
  const { buffers, restartAt, places } = plan;
  return [
    difference ?? "no difference",
    sql,
    ...data,
    JSON.stringify({ buffers, restartAt, places }),
  ].join("\n");
}

function contentOf(
  plan: PlanCase,
  file: number,
): { readonly text: string; readonly ends: number[] } {
  const { rows = [], source = 0 } = plan.files[file] ?? {};
  const tail = source === 0 ? "" : "2";
  const names = ["ts", "k", "v", "f", "t"].map((name) => `${name}${tail}`);
  let text = "";
  const ends: number[] = [];
  for (const row of rows) {
    text += plan.json
      ? `${JSON.stringify(Object.fromEntries(names.map((name, at) => [name, row[at]])))}\n`
      : `${row.map((value) => value ?? "").join(",")}\n`;
    ends.push(text.length);
  }
  return { text, ends };
}

function runNaively(plan: PlanCase): NaivePlan {
  const naive = new NaivePlan(plan);
  const contents = plan.files.map((_, file) => contentOf(plan, file));
  const given = contents.map(() => 0);
  const read = contents.map(() => 0);
  for (const [index, { file, bytes }] of plan.buffers.entries()) {
    given[file] = (given[file] ?? 0) + bytes;
    const { ends } = contents[file] as { readonly ends: number[] };
    const upTo = ends.filter((end) => end <= (given[file] ?? 0)).length;
    const rows = plan.files[file]?.rows.slice(read[file], upTo) ?? [];
    read[file] = upTo;
    naive.buffer(file, rows, nowOf(index));
  }
  for (const [file, { rows }] of plan.files.entries()) {
    const rest = rows.slice(read[file]);
    if (rest.length > 0) naive.buffer(file, rest, nowOf(plan.buffers.length));
    naive.end(file);
  }
  return naive;
}

/** The time at which a buffer is read. */
function nowOf(index: number): number {
  return 1_000 + index * 13;
}

function runForReal(plan: PlanCase, sql: string, scale: number): RealPlan {
  const contents = plan.files.map((_, file) =>
    new TextEncoder().encode(contentOf(plan, file).text),
  );
  const real = new RealPlan(sql, contents, plan.places, plan.isWithin);
  const restarts = plan.restartAt !== undefined && (plan.places === 1 || plan.isWithin);
  for (const [index, { file, bytes }] of plan.buffers.entries()) {
    // Smaller buffers, all of them at the moment of the large one.
    const part = Math.ceil(bytes / scale);
    for (let left = bytes; left > 0; left -= part) {
      real.buffer(file, Math.min(part, left), nowOf(index));
    }
    if (restarts && index === plan.restartAt) real.restart();
  }
  for (const file of plan.files.keys()) {
    real.buffer(file, 1_000_000, nowOf(plan.buffers.length));
    real.end(file, nowOf(plan.buffers.length));
  }
  return real;
}

/** Numbers to nine digits, and 0 where rounding alone is left; what else there is as it is. */
function cellText(value: Value): string {
  if (value === null) return "NULL";
  if (typeof value !== "number") return String(value);
  if (Math.abs(value) < 1e-20) return "0";
  return String(Number((value * 1.000_000_123_456_789).toPrecision(9)) + 0);
}

function readOutput(output: string, plan: PlanCase): string[][] {
  const { jsonOut, query } = plan;
  const lines = output.split("\n").filter((line) => line !== "");
  const typed = (text: string, kind: Kind): string =>
    text === "NULL" || kind === "text" ? text : cellText(Number(text));
  return lines.map((line) => {
    if (!jsonOut)
      return line.split(",").map((text, at) => typed(text, query.cols[at]?.kind ?? "text"));
    const record = JSON.parse(line) as Readonly<Record<string, Value>>;
    return query.cols.map(({ name }) => cellText(record[name] ?? null));
  });
}

function sorted(rows: readonly (readonly string[])[]): string[] {
  return rows.map((row) => row.join(" | ")).sort();
}

function compare(wanted: readonly string[], found: readonly string[]): string | undefined {
  const left = new Map<string, number>();
  for (const row of wanted) left.set(row, (left.get(row) ?? 0) + 1);
  for (const row of found) left.set(row, (left.get(row) ?? 0) - 1);
  const wrong = [...left].filter(([, count]) => count !== 0);
  if (wrong.length === 0) return undefined;
  const text = wrong
    .slice(0, 6)
    .map(([row, count]) => `${count > 0 ? "missing" : "surplus"}: ${row}`);
  return [`${wanted.length} rows, the engine gives ${found.length}`, ...text].join("\n");
}
