/** Runs one script: its statements make a catalog, its cases run one after the other. */
import { mkdir, readFile } from "node:fs/promises";
import {
  DialectError,
  type DialectSettings,
  LocalCatalog,
  type Plan,
  parseStatements,
  planQuery,
  suiteDialect,
  withBufferSize,
} from "../../../src/kinds/stream/language/core/index.ts";
import { AttachedData } from "./attach-data.ts";
import { type CaseOutcome, judgeCase } from "./judge-case.ts";
import type { StreamScript } from "./parse-script.ts";

/** Runs a plan to its end; the sinks' files have everything then. */
export type RunPlan = (plan: Plan, testdata: string) => Promise<void>;

export interface CaseResult {
  readonly line: number;
  /** The settings that it ran with, where there are several. */
  readonly settings: string;
  /** Why it failed; `undefined` when it passed. */
  readonly failure: string | undefined;
}

interface Configuration {
  readonly name: string;
  readonly dialect: DialectSettings;
}

const caseMsMax = 60_000;

export async function runScript(
  script: StreamScript,
  suiteDir: string,
  dir: string,
  run: RunPlan,
): Promise<readonly CaseResult[]> {
  await mkdir(dir, { recursive: true });
  const results: CaseResult[] = [];
  const data = new AttachedData({ suiteDir, dir });
  try {
    let configurations: readonly Configuration[] = [{ name: "", dialect: suiteDialect }];
    const catalog = new LocalCatalog(suiteDialect);
    for (const item of script.items) {
      if (item.kind === "configuration") {
        configurations = configurations.flatMap((each) =>
          item.values.map((value) => configured(each, item.key, value)),
        );
      } else if (item.kind === "statement") {
        for (const statement of parseStatements(item.text)) {
          const attached = await data.attach(statement, item.attached);
          // A script may declare a sink twice; the later one counts.
          if (attached.kind === "createSink") dropSink(catalog, attached.name.text);
          catalog.apply(attached);
        }
      } else {
        for (const { name, dialect } of configurations) {
          const failure = await within(
            judgeCase(item, (text) => perform(text, catalog, dialect, data, run)),
          );
          results.push({ line: item.line, settings: name, failure });
        }
      }
    }
  } catch (thrown) {
    results.push({ line: 0, settings: "", failure: `the script stopped: ${String(thrown)}` });
  } finally {
    data.close();
  }
  return results;
}

function dropSink(catalog: LocalCatalog, name: string): void {
  const quoted = `"${name.replaceAll('"', '""')}"`;
  for (const drop of parseStatements(`DROP SINK IF EXISTS ${quoted};`)) catalog.apply(drop);
}

function configured(base: Configuration, key: string, value: string): Configuration {
  const last = key.split(".").at(-1) ?? key;
  const name = [base.name, `${last}=${value}`].filter((part) => part !== "").join(" ");
  return last === "operator_buffer_size"
    ? { name, dialect: withBufferSize(base.dialect, Number(value)) }
    : { name, dialect: base.dialect };
}

async function within(running: Promise<string | undefined>): Promise<string | undefined> {
  const late = Promise.withResolvers<string>();
  const timer = setTimeout(() => late.resolve(`no end after ${caseMsMax} ms`), caseMsMax);
  try {
    return await Promise.race([running, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

async function perform(
  text: string,
  catalog: LocalCatalog,
  dialect: DialectSettings,
  data: AttachedData,
  run: RunPlan,
): Promise<CaseOutcome> {
  try {
    const [statement, ...more] = parseStatements(text);
    if (statement?.kind !== "query" || more.length > 0) {
      throw new DialectError(2000, "a case is one query");
    }
    const sinks = data.withPlaces(statement.query.sinks);
    const plan = planQuery({ ...statement.query, sinks }, catalog, dialect);
    await run(plan, data.testdata);
    return await readResult(plan);
  } catch (thrown) {
    if (thrown instanceof DialectError) return { error: thrown.number, message: thrown.message };
    return { error: 0, message: String(thrown) };
  }
}

async function readResult({ nodes }: Plan): Promise<CaseOutcome> {
  const sink = nodes.find(({ op }) => op.kind === "sink");
  if (sink?.op.kind !== "sink") throw new Error("a plan has a sink");
  const path = sink.op.config.FILE_PATH;
  if (typeof path !== "string") return { rows: undefined, columnCount: 0 };
  const text = await readFile(path, "utf8");
  const isChecksum = sink.op.type.toUpperCase() === "CHECKSUM";
  const rows = text.split("\n");
  if (rows.at(-1) === "") rows.pop();
  return { rows, columnCount: isChecksum ? 2 : sink.schema.length };
}
