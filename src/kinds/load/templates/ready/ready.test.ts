/**
 * Every ready template on real databases: its data is made, and each of its operations does what it
 * says.
 */
import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { after, before, describe, test } from "node:test";
import { DuckDBInstance } from "@duckdb/node-api";
import { realClock } from "../../../../ground/kernel/node/real-clock.ts";
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from "../../../../ground/store/testing/embedded-postgres.ts";
import { compileWorkload } from "../../core/compile-workload.ts";
import type { Operation, ParameterValue } from "../../core/operation.ts";
import type { Scenario } from "../../core/scenario.ts";
import { createPostgresTarget } from "../../targets/postgres/postgres-target.ts";
import { execute } from "../../targets/testing/operations.ts";
import { withSettings, withTarget } from "../change-template.ts";
import type { TargetKind } from "../document.ts";
import { parseTemplate } from "../parse-template.ts";
import { resolveScenario } from "../resolve.ts";
import { formatTemplateYaml, parseTemplateYaml } from "../template-yaml.ts";
import { readyTemplates } from "./index.ts";

const times = 10;
const ready = readyTemplates();
const { signal } = new AbortController();

interface Engine {
  run(sql: string): Promise<unknown>;
  /** The rows that it read or changed. */
  execute(operation: Operation, values: readonly ParameterValue[]): Promise<number>;
}

function scenarioFor(templateId: string, url: string, scale: number): Scenario {
  const template = ready.find(({ template_id: id }) => id === templateId);
  assert.ok(template !== undefined);
  return resolveScenario(withSettings(withTarget(template, url), [`scale=${scale}`]));
}

async function tryTemplate(engine: Engine, { target, workload }: Scenario): Promise<void> {
  const compiled = compileWorkload(workload, {
    groupId: 1,
    pools: new Map(),
    wallMs: () => realClock.wallMs(),
  });
  for (const sql of target.loadSql) await engine.run(sql);
  for (const { operation, fill } of compiled.operations) {
    let rows = 0;
    for (let turn = 0; turn < times; turn += 1) {
      const values: ParameterValue[] = [];
      fill(values);
      rows += await engine.execute(operation, values);
    }
    const least = operation.name === "stock_level" ? 1 : times;
    assert.ok(rows >= least, `${operation.name} touched ${rows} rows`);
  }
  for (const sql of target.resetSql) await engine.run(sql);
  // Again: it makes its tables anew.
  for (const sql of target.loadSql.slice(0, -2)) await engine.run(sql);
}

test("[RT1] the ready templates are those that were promised, and each is a template like any other", () => {
  assert.deepEqual(
    ready.map(({ template_id: id }) => id),
    [
      "demo",
      "tpcb-like",
      "select-only",
      ...["a", "b", "c", "d", "e", "f"].map((letter) => `ycsb-${letter}`),
      ...["only", "heavy"].map((how) => `mix-read-${how}`),
      "mix-mixed",
      ...["heavy", "only"].map((how) => `mix-write-${how}`),
      "tpcc-derived",
    ],
  );
  for (const template of ready) {
    assert.deepEqual(parseTemplate(template), template);
    const { template_id: _, ...rest } = template;
    const { template_id: __, ...read } = parseTemplateYaml(formatTemplateYaml(template));
    assert.deepEqual(read, rest);
    for (const kind of ["postgres", "mysql", "sqlite", "duckdb"] satisfies TargetKind[]) {
      const { workload } = scenarioFor(template.template_id, `${kind}://localhost/x`, 2);
      compileWorkload(workload, { groupId: 0, pools: new Map(), wallMs: () => 0 });
    }
  }
});

test("[TF8] settings are changed by their short names or their paths", () => {
  const [demo] = ready;
  assert.ok(demo !== undefined);
  const changed = withSettings(demo, [
    "duration=7.5",
    "qps=50",
    "scaling.mode=FIXED",
    "min_workers=2",
    "scaling.min_connections=3",
  ]);
  assert.equal(changed.workload.duration_seconds, 7.5);
  assert.deepEqual([changed.workload.load_mode, changed.workload.target_qps], ["QPS", 50]);
  assert.deepEqual([changed.scaling.mode, changed.scaling.min_workers], ["FIXED", 2]);
  assert.throws(() => withSettings(demo, ["druation=5"]), /did you mean duration\?/);
  assert.throws(() => withSettings(demo, ["max_error_rate_pct=5"]), /find_max.* or guardrails/);
  assert.throws(() => withSettings(demo, ["duration=soon"]), /duration_seconds: expected/);
  assert.throws(() => withTarget(demo, "postgres://a:b@c/d"), /password_env/);
});

describe("on Postgres", () => {
  let postgres: EmbeddedPostgres;
  before(async () => {
    postgres = await startEmbeddedPostgres();
  });
  after(() => postgres.stop());

  for (const { template_id: id } of ready) {
    test(`[RT2] ${id}: data and operations (postgres)`, async () => {
      const url = await postgres.createDatabase();
      const target = createPostgresTarget(url, realClock);
      const connection = await target.connect(1, signal);
      try {
        await tryTemplate(
          {
            run: (sql) => target.run(sql, [], signal),
            execute: async (operation, values) => {
              const prepared = await connection.prepare(operation);
              const { failure, rowCount } = await execute(prepared, values);
              assert.equal(failure, undefined, `${operation.name}: ${failure?.message}`);
              return rowCount;
            },
          },
          scenarioFor(id, url, 1),
        );
      } finally {
        await target.close();
      }
    });
  }
});

/** With `?1` for the operation's first parameter. */
function numbered({ texts, parameters }: Operation["statements"][number], mark: string): string {
  return texts
    .map((text, at) => (at === 0 ? text : `${mark}${(parameters[at - 1] ?? 0) + 1}${text}`))
    .join("");
}

for (const { template_id: id } of ready) {
  test(`[RT2] ${id}: data and operations (sqlite)`, async () => {
    const database = new DatabaseSync(":memory:");
    const changes = (): number =>
      Number(database.prepare("SELECT total_changes() AS n").get()?.n ?? 0);
    await tryTemplate(
      {
        run: async (sql) => database.exec(sql),
        execute: async ({ statements }, values) => {
          const before = changes();
          const given = Object.fromEntries(values.map((value, at) => [`?${at + 1}`, value]));
          const rows = statements.map((each) => {
            const used = Object.entries(given).filter((_, at) => each.parameters.includes(at));
            return database
              .prepare(numbered(each, "?"))
              .all(Object.fromEntries(used) as Record<string, string | number>).length;
          });
          return rows.reduce((sum, count) => sum + count, 0) + changes() - before;
        },
      },
      scenarioFor(id, "sqlite:x.db", 2),
    );
    database.close();
  });

  test(`[RT2] ${id}: data and operations (duckdb)`, async () => {
    const instance = await DuckDBInstance.create(":memory:");
    const connection = await instance.connect();
    await tryTemplate(
      {
        run: (sql) => connection.run(sql),
        execute: async ({ statements, isTransaction }, values) => {
          let rows = 0;
          if (isTransaction) await connection.run("BEGIN");
          for (const each of statements) {
            const used = [...new Set(each.parameters)];
            const renumbered = each.parameters.map((parameter) => used.indexOf(parameter));
            const result = await connection.runAndReadAll(
              numbered({ ...each, parameters: renumbered }, "$"),
              used.map((parameter) => values[parameter] ?? null),
            );
            rows += result.rowsChanged > 0 ? result.rowsChanged : result.currentRowCount;
          }
          if (isTransaction) await connection.run("COMMIT");
          return rows;
        },
      },
      scenarioFor(id, "duckdb:x.db", 1),
    );
    connection.closeSync();
    instance.closeSync();
  });
}
