/** What is refused before there is a run. */
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { createPrng } from "../../../ground/kernel/prng.ts";
import type { Target } from "../core/target.ts";
import type { RunOrchestrator } from "../orchestrator/run-orchestrator.ts";
import { RunWorld } from "../orchestrator/testing/run-world.ts";
import { createTargetFiles } from "../targets/target-files.ts";
import { TemplateStore } from "../templates/store/template-store.ts";
import { scenarioOf } from "../testing/scenario.ts";
import { LoadService } from "./load-service.ts";
import { checkAllowedEnvs } from "./password-env.ts";

const { signal } = new AbortController();
let dir: string;
let opened: string[];
let passwords: (string | null)[];
let world: RunWorld;
let orchestrator: RunOrchestrator;
let service: LoadService;

before(async () => {
  dir = mkdtempSync(join(tmpdir(), "capstan-service-"));
  world = new RunWorld();
  ({ orchestrator } = await world.lead());
  opened = [];
  passwords = [];
  service = new LoadService({
    store: world.store,
    templates: new TemplateStore(world.store, createPrng("templates")),
    orchestrator,
    openTarget: async ({ url }, password) => {
      opened.push(url);
      passwords.push(password);
      return Object.assign(Object.create(world.target) as Target, { run: async () => [] });
    },
    executions: undefined as never,
    clusterToken: "cluster-token",
    files: createTargetFiles({ dataDir: dir, allowed: [join(dir, "..", "allowed.db")] }),
    passwordEnvs: ["SHOP_PASSWORD"],
    asLeader: (change) => change(),
    env: {
      LOAD_TARGET_DB: "one",
      SHOP_PASSWORD: "two",
      CAPSTAN_TOKENS: "operate secret",
      AWS_SECRET_ACCESS_KEY: "three",
    },
  });
});
after(() => rmSync(dir, { recursive: true }));

function templateOf(target: object, statements: readonly string[] = ["SELECT 1"]): object {
  return {
    name: "t",
    target,
    workload: { operations: [{ name: "a", statements }] },
  };
}

async function runCount(): Promise<number> {
  return (await service.list({ limit: 100 })).items.length;
}

test("[AS5] a file beyond the wall, and SQL that leaves it, make no run and open nothing", async () => {
  const before = await runCount();
  symlinkSync("/etc", join(dir, "targets-link"));
  const out = join(dir, "out");
  const way = `COPY (SELECT * FROM read_text('/etc/passwd')) TO '${out}'`;
  const duckdb = "duckdb:mine.db";
  const snowflake = "snowflake://me@account/DB?access_url=http%3A%2F%2F127.0.0.1%3A1";
  const cases: readonly (readonly [object, string])[] = [
    [templateOf({ url: "sqlite:///etc/passwd" }), "forbidden"],
    [templateOf({ url: `sqlite://${dir}/store.sqlite` }), "forbidden"],
    [templateOf({ url: `duckdb://${dir}/targets/../cluster-token` }), "forbidden"],
    [templateOf({ url: `duckdb://${dir}/targets-link/passwd` }), "forbidden"],
    [templateOf({ url: `duckdb://${dir}/%2e%2e/x.db` }), "forbidden"],
    [templateOf({ url: "http+unix:///var/run/docker.sock" }), "bad_request"],
    [templateOf({ url: duckdb, load_sql: [way] }), "bad_sql"],
    [templateOf({ url: duckdb, reset_sql: [way], reset_data: true }), "bad_sql"],
    [templateOf({ url: duckdb }, [way]), "bad_sql"],
    [templateOf({ url: duckdb, load_sql: [{ duckdb: way, default: "" }] }), "bad_sql"],
    [templateOf({ url: "sqlite:mine.db" }, ["ATTACH '/etc/x' AS x"]), "bad_sql"],
    [templateOf({ url: snowflake, load_sql: ["PUT file:///etc/passwd @~"] }), "bad_sql"],
    [templateOf({ url: snowflake }, [`/* x */ GET @~/x file://${out}`]), "bad_sql"],
  ];
  for (const [template, code] of cases) {
    for (const loadData of [true, false]) {
      const asked = service.prepareFromDocument(template, { loadData }, signal);
      await assert.rejects(asked, { code }, JSON.stringify(template));
    }
  }
  const moved = service.prepareFromDocument(
    templateOf({ url: "postgres://localhost/x", load_sql: [way] }),
    { targetUrl: duckdb },
    signal,
  );
  await assert.rejects(moved, { code: "bad_sql" });
  assert.deepEqual(opened, []);
  assert.equal(await runCount(), before);
  assert.equal(existsSync(out), false);
});

test("[AS4] [AS5] a name, and a file that an operator allowed, make a run", async () => {
  const allowed = join(dir, "..", "allowed.db");
  for (const url of ["duckdb:mine.db", "sqlite:mine.db", `sqlite://${allowed}?busy_timeout=1`]) {
    const template = templateOf({ url, load_sql: ["SELECT 1"] });
    await service.prepareFromDocument(template, { loadData: true }, signal);
  }
  assert.match(opened[0] ?? "", /^duckdb:\/\/.*\/targets\/mine\.db$/);
});

test("[AS5] a run from before the rule is not repeated", async () => {
  const scenario = scenarioOf({ target: { kind: "sqlite", url: "sqlite:///etc/x.db" } });
  const runId = await orchestrator.prepareRun({ scenario, testName: "old", password: null });
  await assert.rejects(service.rerun(runId), { code: "forbidden" });
});

test("[AS2] a run is not repeated whose variable is not allowed any more; one whose password was given is", async () => {
  const scenario = scenarioOf({ target: { passwordEnv: "CAPSTAN_TOKENS" } });
  const old = await orchestrator.prepareRun({ scenario, testName: "old", password: "operate" });
  await assert.rejects(service.rerun(old), { code: "forbidden" });
  const template = templateOf({ url: "postgres://me@localhost/x", password_env: "NOT_ALLOWED" });
  const given = await service.prepareFromDocument(template, { password: "mine" }, signal);
  await service.rerun(given);
});

test("[AS2] only variables for targets, or allowed ones, are sent; never Capstan's own", async () => {
  const ofEnv = (password_env: string): Promise<string> =>
    service.prepareFromDocument(
      templateOf({ url: "postgres://me@localhost/x", password_env, load_sql: ["SELECT 1"] }),
      { loadData: true },
      signal,
    );
  passwords.length = 0;
  for (const name of ["LOAD_TARGET_DB", "SHOP_PASSWORD"]) await ofEnv(name);
  assert.deepEqual([...new Set(passwords)], ["one", "two"]);
  passwords.length = 0;
  for (const name of [
    ...["CAPSTAN_TOKENS", "CAPSTAN_CLUSTER_TOKEN", "capstan_tokens", "AWS_SECRET_ACCESS_KEY"],
    ...["PATH", "NOT_THERE", "load_target_db", "XLOAD_TARGET_DB"],
  ]) {
    await assert.rejects(ofEnv(name), { code: "forbidden" }, name);
  }
  await assert.rejects(ofEnv("LOAD_TARGET_NONE"), { code: "bad_request" });
  assert.deepEqual(passwords, []);
  assert.throws(() => checkAllowedEnvs(["CAPSTAN_TOKENS"]), { code: "bad_request" });
  checkAllowedEnvs(["PGPASSWORD"]);
});
