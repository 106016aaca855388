/** Runs a case in DuckDB: the refreshed table must equal the definition's result. */

import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { quoteName } from "../../../../data/sql/core/index.ts";
import { messageOf } from "../../../../ground/kernel/errors.ts";
import { type IncrementalPlan, planIncremental } from "../plan.ts";
import {
  initialSql,
  type PlantedError,
  type RefreshNames,
  type RefreshSql,
  refreshSettings,
  refreshSql,
} from "../refresh-sql.ts";
import { duckdbSqlTool, type SqlTool } from "../sql-tool.ts";
import type { Case, Row, State } from "./random-case.ts";

export interface TestDatabase {
  readonly connection: DuckDBConnection;
  readonly tool: SqlTool;
  close(): void;
}

export async function openTestDatabase(): Promise<TestDatabase> {
  const instance = await DuckDBInstance.create(":memory:", { threads: "1" });
  const connection = await instance.connect();
  for (const setting of refreshSettings) await connection.run(setting);
  const tool = duckdbSqlTool(async (sql) => (await connection.runAndReadAll(sql)).getRowObjects());
  return {
    connection,
    tool,
    close: () => {
      connection.closeSync();
      instance.closeSync();
    },
  };
}

export interface CaseResult {
  readonly kind: "equal" | "full" | "different";
  readonly note: string;
  readonly strategy: string | undefined;
  /** How each refresh was done. */
  readonly ways: readonly RefreshSql["way"][];
}

/** A source's table holds all images: `was` marks rows from before, `is` those of now. */
const images = {
  new: '"is"',
  old: '"was"',
  added: '"is" AND NOT "was"',
  removed: '"was" AND NOT "is"',
};

export const names: RefreshNames = {
  source: (source, rows) => `(SELECT * EXCLUDE (was, "is") FROM s${source} WHERE ${images[rows]})`,
  stored: "stored",
  storedKey: ["_row_id"],
  temporary: (name) => `x_${name}`,
};

export async function runCase(
  tested: Case,
  database: TestDatabase,
  planted?: PlantedError,
): Promise<CaseResult> {
  const { connection } = database;
  const result = (
    kind: CaseResult["kind"],
    note: string,
    ways: CaseResult["ways"],
  ): CaseResult => ({
    kind,
    note,
    strategy: plan.kind === "incremental" ? plan.strategy : undefined,
    ways,
  });
  const plan = await planIncremental(tested.definition, tested.sources, database.tool);
  if (plan.kind === "full") return result("full", plan.reason, []);
  const [first, ...later] = tested.states;
  if (first === undefined) return result("equal", "", []);
  const ways: RefreshSql["way"][] = [];
  let script = "";
  try {
    script = `${firstState(tested)};\n${create(plan)}`;
    await connection.run(script);
    let before = first;
    for (const [index, state] of later.entries()) {
      const facts = factsOf(before, state);
      const refresh = refreshSql(plan, names, facts, planted);
      ways.push(refresh.way);
      script = [fill(tested, before, state), apply(plan, refresh)]
        .filter((part) => part !== "")
        .join(";\n");
      await connection.run(script);
      before = state;
      if (facts.changes.every(({ added, removed }) => added + removed === 0)) continue;
      const isLast = index === later.length - 1;
      const found = await differences(plan, tested, isLast, connection);
      if (found !== "") {
        return result("different", `after refresh ${index + 1}: ${found}\n${script}`, ways);
      }
    }
  } catch (thrown) {
    return result("different", `${messageOf(thrown)}\n${script}`, ways);
  }
  return result("equal", "", ways);
}

/** Statements that create the sources' first state. */
export function firstState(tested: Case): string {
  const first = tested.states[0] ?? [];
  const parts = [
    setUp(tested),
    fill(
      tested,
      first.map(() => []),
      first,
    ),
  ];
  return parts.filter((part) => part !== "").join(";\n");
}

function setUp({ sources }: Case): string {
  return sources
    .flatMap(({ name, columns }, index) => {
      const list = columns.map((column) => `${quoteName(column.name)} ${column.type}`).join(", ");
      return [
        `CREATE OR REPLACE TEMP TABLE s${index} (${list}, _row_id BIGINT, was BOOLEAN, "is" BOOLEAN)`,
        `CREATE OR REPLACE TEMP VIEW ${name} AS SELECT * EXCLUDE (_row_id, was, "is") FROM s${index} WHERE "is"`,
      ];
    })
    .join(";\n");
}

/** An unchanged source keeps its old change marks, so that a read of its changes is detected. */
function fill({ sources }: Case, before: State, after: State): string {
  return sources
    .flatMap((_, index) => {
      const { same, added, removed } = change(before, after, index);
      if (added.length + removed.length === 0) return [];
      const text = ({ id, values }: Row, was: boolean, is: boolean) =>
        `(${[...values, id, was, is].join(", ")})`;
      const rows = [
        ...same.map((row) => text(row, true, true)),
        ...added.map((row) => text(row, false, true)),
        ...removed.map((row) => text(row, true, false)),
      ];
      return [`DELETE FROM s${index}`, `INSERT INTO s${index} VALUES ${rows.join(", ")}`];
    })
    .join(";\n");
}

function change(before: State, after: State, index: number) {
  const old = before[index] ?? [];
  const now = after[index] ?? [];
  const isIn = (row: Row, rows: readonly Row[]) =>
    rows.some(({ id, values }) => id === row.id && values.join() === row.values.join());
  return {
    same: now.filter((row) => isIn(row, old)),
    added: now.filter((row) => !isIn(row, old)),
    removed: old.filter((row) => !isIn(row, now)),
  };
}

function factsOf(before: State, after: State) {
  return {
    changes: after.map((_, index) => {
      const { added, removed } = change(before, after, index);
      return { added: added.length, removed: removed.length };
    }),
  };
}

function create(plan: IncrementalPlan): string {
  return (
    "CREATE OR REPLACE TEMP SEQUENCE row_ids; " +
    `CREATE OR REPLACE TEMP TABLE stored AS SELECT nextval('row_ids') AS _row_id, * FROM (${initialSql(plan, names)})`
  );
}

function apply({ allColumns }: IncrementalPlan, refresh: RefreshSql): string {
  const columns = allColumns.map(({ name }) => quoteName(name)).join(", ");
  return [
    ...refresh.statements.map((sql) => sql.replace("CREATE TEMP", "CREATE OR REPLACE TEMP")),
    `DELETE FROM stored WHERE _row_id IN (${refresh.deletes})`,
    `INSERT INTO stored (_row_id, ${columns}) SELECT nextval('row_ids'), ${columns} FROM (${refresh.inserts})`,
  ].join(";\n");
}

/** Compares visible columns with the definition; at the end all columns with an initial refresh. */
async function differences(
  plan: IncrementalPlan,
  { definition }: Case,
  withState: boolean,
  connection: DuckDBConnection,
): Promise<string> {
  const list = (columns: IncrementalPlan["columns"]) =>
    columns.map(({ name }) => quoteName(name)).join(", ");
  const all = list(plan.allColumns);
  const difference = (left: string, right: string) =>
    `(SELECT first(CAST(r AS VARCHAR)) FROM (FROM (${left}) EXCEPT ALL FROM (${right})) AS r)`;
  // With equal row counts and nothing missing in one, both are equal.
  const sql = `WITH wanted AS MATERIALIZED (${definition})
    SELECT ${difference("FROM wanted", `SELECT ${list(plan.columns)} FROM stored`)} AS missing,
    ${withState ? difference(`SELECT ${all} FROM stored`, `SELECT ${all} FROM (${initialSql(plan, names)})`) : "NULL"} AS state,
    (SELECT count(*) FROM stored) AS stored, (SELECT count(*) FROM wanted) AS wanted`;
  const [row] = (await connection.runAndReadAll(sql)).getRowObjects();
  const isEqual = row?.missing === null && row.state === null && row.stored === row.wanted;
  if (isEqual) return "";
  return Object.entries(row ?? {})
    .map(([name, value]) => `${name} ${String(value)}`)
    .join(", ");
}

/** Removes refreshes and rows as long as the case still fails. */
export async function shrinkCase(failing: Case, database: TestDatabase): Promise<Case> {
  let smallest = failing;
  let attempts = 300;
  const tries = async (candidate: Case): Promise<boolean> => {
    attempts -= 1;
    if (attempts < 0) return false;
    if ((await runCase(candidate, database)).kind !== "different") return false;
    smallest = candidate;
    return true;
  };
  for (let progress = true; progress; ) {
    progress = false;
    for (let index = smallest.states.length - 1; index >= 0; index -= 1) {
      if (smallest.states.length < 2) break;
      const states = smallest.states.filter((_, position) => position !== index);
      if (await tries({ ...smallest, states })) progress = true;
    }
    const ids = new Set(smallest.states.flat(2).map(({ id }) => id));
    for (const id of ids) {
      const states = smallest.states.map((state) =>
        state.map((rows) => rows.filter((row) => row.id !== id)),
      );
      if (await tries({ ...smallest, states })) progress = true;
    }
  }
  return smallest;
}

export function printCase({ seed, sources, definition, states }: Case): string {
  const tables = sources.map(
    ({ name, columns }) =>
      `${name}(${columns.map((column) => `${column.name} ${column.type}`).join(", ")})`,
  );
  const steps = states.map(
    (state, step) =>
      `${step === 0 ? "at first" : `refresh ${step}`}:\n${state
        .map((rows, index) => {
          const texts = rows.map(({ id, values }) => `#${id}(${values.join(", ")})`);
          return `  ${sources[index]?.name}: ${texts.join(" ")}`;
        })
        .join("\n")}`,
  );
  return [`seed ${seed}`, ...tables, definition, ...steps].join("\n");
}
