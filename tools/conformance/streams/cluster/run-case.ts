/**
 * One case: its script's definitions are created, its query runs to its end, and all of it is
 * dropped again, so that no case sees another one's.
 */
import { splitRow } from "../compare-rows.ts";
import { type CaseOutcome, judgeCase } from "../judge-case.ts";
import type { StreamCase } from "../parse-script.ts";
import { type CasePlaces, CaseStatements, type Definition } from "./case-statements.ts";
import type { AddedSetting } from "./edit-statements.ts";
import type { QueryWatch, WatchedQuery } from "./query-watch.ts";
import {
  type Created,
  type QueryDetail,
  RefusedError,
  type StreamRequests,
} from "./stream-requests.ts";

export interface ClusterCase {
  readonly definitions: readonly Definition[];
  readonly item: StreamCase;
  /** Settings that its script asks for. */
  readonly settings: readonly AddedSetting[];
}

export interface CaseTools {
  readonly requests: StreamRequests;
  readonly watch: QueryWatch;
  /** Hears of every query that ran to its end. */
  readonly ended: (queryId: string, deployed: QueryDetail["deployed"]) => void;
}

const caseMsMax = 60_000;
const spread: AddedSetting = { section: "QUERY", key: "PARALLELISM", value: 2 };

/** Why it failed; `undefined` when it passed. */
export async function runCase(
  { definitions, item, settings }: ClusterCase,
  places: CasePlaces,
  tools: CaseTools,
): Promise<string | undefined> {
  const statements = new CaseStatements(places);
  try {
    await statements.open();
    const texts: string[] = [];
    for (const each of definitions) texts.push(await statements.definition(each));
    const created = await tools.requests.bundle(texts);
    const judged = await judgeCase(item, (text) => perform(text, settings, statements, tools));
    await tools.requests.bundle(dropsOf(created));
    return judged;
  } catch (thrown) {
    return String(thrown);
  } finally {
    statements.close();
  }
}

async function perform(
  text: string,
  settings: readonly AddedSetting[],
  statements: CaseStatements,
  { requests, watch, ended }: CaseTools,
): Promise<CaseOutcome> {
  const { text: edited, output } = statements.query(text, [...settings, spread]);
  let queryId: string;
  try {
    const [created] = await requests.bundle([edited]);
    if (created === undefined) throw new Error("a query that is accepted has an id");
    queryId = created.id;
  } catch (thrown) {
    if (!(thrown instanceof RefusedError)) throw thrown;
    return { error: thrown.number, message: thrown.message };
  }
  const row = await watch.until(queryId, hasEnded, caseMsMax);
  if (row !== "late" && row !== undefined && row.state !== "FAILED") {
    ended(queryId, (await requests.query(queryId)).deployed);
  }
  await requests.statement(`DROP QUERY WHERE ID = '${queryId}'`);
  const left = await watch.until(queryId, (still) => still === undefined, caseMsMax);
  if (left === "late") throw new Error(`the query ${queryId} does not go when it is dropped`);
  if (row === "late") throw new Error(`the query ${queryId} does not end`);
  if (row === undefined) throw new Error(`the query ${queryId} is gone`);
  if (row.state === "FAILED") return { error: row.error_number ?? 0, message: row.state_reason };
  const rows = output === undefined ? undefined : await statements.read(output);
  const [first] = rows ?? [];
  return { rows, columnCount: first === undefined ? 0 : splitRow(first).length };
}

function hasEnded(row: WatchedQuery | undefined): boolean {
  return row === undefined || row.state === "TERMINATED" || row.state === "FAILED";
}

/** Drops in the reverse order of creation. */
function dropsOf(created: readonly Created[]): readonly string[] {
  return [...created].reverse().map(({ object, name, id }) => {
    if (object === "physical source") return `DROP PHYSICAL SOURCE '${id}'`;
    return `DROP ${object.toUpperCase()} "${(name ?? "").replaceAll('"', '""')}"`;
  });
}
