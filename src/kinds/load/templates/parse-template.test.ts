import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { snakeKeys } from "../../../ground/kernel/key-case.ts";
import { writeScenario } from "../core/scenario-codec.ts";
import { verdictDefaults } from "../core/verdict.ts";
import { withSettings } from "./change-template.ts";
import { parseScenario, parseTemplate, readTemplate } from "./parse-template.ts";
import { splitSecret } from "./target-url.ts";
import { formatTemplateYaml, parseTemplateYaml, readTemplateText } from "./template-yaml.ts";

const short = `
name: quick
target: postgres://localhost/test
workload:
  preset: READ_HEAVY
  concurrent_connections: 16
  duration_seconds: 30
slos:
  - p95 < 20 ms
  - of: insert
    metric: error_rate_pct
    limit: 0.1
`;

function problemsIn(input: unknown): Record<string, string> {
  const read = readTemplate(input);
  assert.equal(read.kind, "problems");
  return Object.fromEntries(read.problems.map(({ path, message }) => [path, message]));
}

const base = { name: "t", target: "postgres://localhost/test" };
const look = { name: "look", kind: "POINT_LOOKUP", statements: "SELECT 1" };

test("[TF1] ten lines are enough: everything else has a default", () => {
  const scenario = parseScenario(readTemplateText(short));
  assert.equal(scenario.target.kind, "postgres");
  assert.equal(scenario.workload.loadMode, "CONCURRENCY");
  assert.equal(scenario.workload.concurrentConnections, 16);
  assert.deepEqual(scenario.scaling.maxWorkers, null);
  assert.deepEqual(scenario.slos, [
    { of: "ALL", metric: "p95", limit: 20 },
    { of: "insert", metric: "error_rate_pct", limit: 0.1 },
  ]);
  assert.match(scenario.target.loadSql[2] ?? "", /load_items .* generate_series\(1, 100000 \* 1\)/);
  const least = parseScenario(base);
  assert.deepEqual([least.workload.readPercent, least.workload.writePercent], [50, 50]);
  assert.equal(parseScenario({ ...base, workload: { target_qps: 5 } }).workload.loadMode, "QPS");
});

test("[TF2] every problem is told at once, with its place and what was expected", () => {
  const problems = problemsIn({
    name: 5,
    traget: "x",
    target: { url: "postgres://h/d", scale: 0, table_name: "a; DROP TABLE b" },
    workload: {
      duration: 5,
      load_mode: "QSP",
      operations: [{ name: "a b", statements: 4, parameters: { x: { kind: "keys", max: 1 } } }],
    },
    scaling: { mode: "FIXED", max_workers: 1.5 },
    guardrails: { max_cpu: 5 },
    slos: ["p95 under 5", { of: "ALL", metric: "p95", limit: "5" }],
  });
  assert.match(problems.template_name ?? "", /^expected a name/);
  assert.match(problems[""] ?? "", /no field "traget"; did you mean target\?/);
  assert.match(problems["target.scale"] ?? "", /whole number from 1 to 100000/);
  assert.match(problems["target.table_name"] ?? "", /expected a table's name/);
  assert.match(problems.workload ?? "", /no field "duration"; did you mean duration_seconds\?/);
  assert.match(problems["workload.load_mode"] ?? "", /expected one of CONCURRENCY, QPS/);
  assert.match(problems["workload.operations[0].name"] ?? "", /expected a name/);
  assert.match(problems["workload.operations[0].statements"] ?? "", /a list of statements/);
  assert.match(problems["workload.operations[0].parameters.x.kind"] ?? "", /expected one of key,/);
  assert.match(problems["scaling.max_workers"] ?? "", /whole number/);
  assert.match(problems.guardrails ?? "", /did you mean max_cpu_percent\?/);
  assert.match(problems["slos[0]"] ?? "", /p95 < 20 ms/);
  assert.match(problems["slos[1].limit"] ?? "", /expected a number/);
  assert.throws(() => parseTemplate({ ...base, x: 1, y: 2 }), /the template has 2 problems:\n/);
  assert.deepEqual(problemsIn([]), {
    "": "expected a mapping",
    template_name: problems.template_name,
    target: "expected a URL, or a mapping with url",
  });
});

const sums: readonly [name: string, workload: object, path: string, message: RegExp][] = [
  [
    "percentages",
    {
      operations: [
        { ...look, percent: 60 },
        { ...look, name: "two", percent: 30 },
      ],
    },
    "workload.operations",
    /adds up to 90; expected 100/,
  ],
  [
    "percentages and weights",
    {
      operations: [
        { ...look, percent: 60 },
        { ...look, name: "two", weight: 40 },
      ],
    },
    "workload.operations",
    /percent for all/,
  ],
  [
    "statuses of a database",
    { operations: [{ ...look, expect_status: [200] }] },
    "workload.operations[0].expect_status",
    /only HTTP has statuses/,
  ],
  ["mirrors", { read_percent: 80, write_percent: 30 }, "workload.read_percent", /add up to 110/],
  [
    "mirror of operations",
    { read_percent: 80, operations: [look] },
    "workload.read_percent",
    /weights make it 100/,
  ],
  ["no weight", { operations: [{ ...look, weight: 0 }] }, "workload.operations", /weight above 0/],
  ["same names", { operations: [look, look] }, "workload.operations[1].name", /another operation/],
  ["no rate", { load_mode: "QPS" }, "workload.target_qps", /expected operations a second/],
  ["custom", { preset: "CUSTOM" }, "workload.operations", /expected operations/],
  [
    "parameter",
    { operations: [{ ...look, statements: ["SELECT :id"] }] },
    "workload.operations[0]",
    /:id has no entry in parameters/,
  ],
  [
    "bounds",
    {
      operations: [
        {
          ...look,
          statements: ["SELECT :n"],
          parameters: { n: { kind: "integer", min: 5, max: 1 } },
        },
      ],
    },
    "workload.operations[0].parameters.n",
    /max of at least min/,
  ],
  [
    "pool",
    {
      operations: [
        { ...look, statements: ["SELECT :n"], parameters: { n: { kind: "pool", pool: "names" } } },
      ],
    },
    "workload.operations[0].parameters.n.pool",
    /there is no pool names/,
  ],
  [
    "dialect",
    { operations: [{ ...look, statements: [{ mysql: "SELECT 1" }] }] },
    "workload.operations[0]",
    /no text for postgres; it has mysql/,
  ],
];
for (const [name, workload, path, message] of sums) {
  test(`[TF3] what does not add up is refused: ${name}`, () => {
    assert.match(problemsIn({ ...base, workload })[path] ?? "", message);
  });
}

test("[TF4] -1 is null, and a preset is saved as its operations", () => {
  const scaling = { mode: "BOUNDED", min_workers: 1, max_workers: -1, max_connections: -1 };
  const workload = { preset: "WRITE_ONLY", concurrent_connections: -1 };
  const scenario = parseScenario({ ...base, scaling, workload });
  assert.equal(scenario.scaling.maxWorkers, null);
  assert.equal(scenario.scaling.maxConnections, null);
  assert.equal(scenario.workload.concurrentConnections, 10);
  assert.equal(scenario.workload.preset, "CUSTOM");
  assert.deepEqual(
    scenario.workload.operations.map(({ name, weight }) => [name, weight]),
    [
      ["insert", 50],
      ["update", 50],
    ],
  );
  assert.equal(scenario.workload.writePercent, 100);
  assert.equal(scenario.target.resetData, true, "its keys are free again in the next run");
  const keeping = { url: base.target, reset_data: false };
  assert.equal(parseScenario({ ...base, target: keeping, workload }).target.resetData, false);
});

const secret = "hunter2-do-not-show";
const urls = [
  `postgres://me:${secret}@db/x`,
  `postgres://me:${secret}/%40@db/x`,
  `mysql://me:${secret}@a@db/x`,
  `postgres://me@db/x?password=${secret}`,
  `snowflake://account/db?private_key=${secret}`,
  `https://db/x?api_key=${secret}`,
];
for (const url of urls) {
  test(`[TF5] a secret in a URL is refused and not repeated: ${url.replaceAll(secret, "…")}`, () => {
    const problems = problemsIn({ ...base, target: url });
    assert.match(problems["target.url"] ?? "", /has a secret in it.*password_env/);
    assert.doesNotMatch(JSON.stringify(problems), /hunter2/);
  });
}

test("[TF5] a URL without a secret is let through; a password can be taken off one", () => {
  const clean = [
    "postgres://me@localhost:5432/x?application_name=a@b",
    "sqlite:load.db",
    "http://localhost:9090/api/v1/query",
  ];
  const workload = { operations: [look] };
  for (const target of clean) {
    assert.equal(parseScenario({ ...base, target, workload }).target.url, target);
  }
  assert.deepEqual(splitSecret("postgres://me:p%40ss@db:1/x"), {
    url: "postgres://me@db:1/x",
    password: "p@ss",
  });
});

test("[TF6] statements follow the kind of target, the table and the scale", () => {
  const scenario = parseScenario({
    name: "t",
    target: {
      url: "sqlite:a.db",
      scale: 3,
      table_name: "things",
      load_sql: [{ postgres: "VACUUM", default: "" }, "DELETE FROM {table} WHERE id > 10 * :scale"],
    },
    workload: {
      operations: [
        {
          ...look,
          statements: [{ sqlite: "SELECT 's', :k FROM {table}", default: "SELECT 'd', :k" }],
          parameters: { k: { kind: "key", max: "1000 * :scale - 1" } },
        },
      ],
    },
  });
  assert.deepEqual(scenario.target.loadSql, ["DELETE FROM things WHERE id > 10 * 3"]);
  assert.deepEqual(scenario.workload.operations[0]?.statements, ["SELECT 's', :k FROM things"]);
  assert.deepEqual(scenario.workload.operations[0]?.parameters.k, {
    kind: "key",
    distribution: "uniform",
    min: 1,
    max: 2999,
    theta: 0.99,
  });
});

test("[TF7] YAML reads back as the template that was written, and says no more than it must", () => {
  const document = parseTemplateYaml(`${short}
pools: { cities: [Bern, "007", 5, null, true] }
find_max: { max_concurrency: 50 }
guardrails: { abort_on_slo: true }
`);
  const text = formatTemplateYaml(document);
  assert.deepEqual(parseTemplateYaml(text), document);
  assert.doesNotMatch(text, /scaling|think_time_ms|password_env|read_percent/);
  const scenario = parseScenario(readTemplateText(text));
  assert.deepEqual(parseScenario(JSON.parse(JSON.stringify(writeScenario(scenario)))), scenario);
});

test("[TF7] a text that is no YAML, or has aliases, is refused with its line", () => {
  assert.throws(() => parseTemplateYaml("name: [\ntarget: x"), /^OperatingError: line \d/);
  assert.throws(() => parseTemplateYaml("name: a\nname: b"), /line 2: Map keys must be unique/);
  assert.throws(() => parseTemplateYaml("a: &a [x]\nb: [*a, *a]"), /aliases/);
});

test("[TF1] the examples of the documentation are right", () => {
  const page = readFileSync(new URL("../../../../docs/test.md", import.meta.url), "utf8");
  const [whole = "", operations = ""] = [...page.matchAll(/```yaml\n([^`]+)```/g)].map(
    ([, text]) => text,
  );
  assert.equal(parseTemplateYaml(whole).slos.length, 2);
  const read = readTemplate({ ...base, workload: readTemplateText(operations) });
  assert.equal(read.kind, "problems");
  assert.deepEqual(
    read.problems.map(({ message }) => message),
    ["percent adds up to 20; expected 100"],
  );
});

test("[VE2] [TF4] [TF7] [TF8] limits of every run: by default, set, taken away, and written as YAML again", () => {
  const given = { name: "limits", target: "postgres://localhost/x" };
  const usual = snakeKeys(verdictDefaults, []);
  assert.deepEqual(parseTemplate(given).verdict, usual);
  const verdict = { max_error_rate_pct: 20, max_unserved_pct: -1, max_silence_seconds: null };
  const slos = ["availability > 99.9 %", "silence < 2 s"];
  const document = parseTemplate({ ...given, verdict, slos });
  assert.deepEqual(document.verdict, {
    ...usual,
    max_error_rate_pct: 20,
    max_unserved_pct: null,
    max_silence_seconds: null,
  });
  assert.deepEqual(document.slos, [
    { of: "ALL", metric: "availability_pct", limit: 99.9 },
    { of: "ALL", metric: "longest_silence", limit: 2_000 },
  ]);
  const again = parseTemplate(readTemplateText(formatTemplateYaml(document)));
  assert.deepEqual([again.verdict, again.slos], [document.verdict, document.slos]);
  // A limit that is set is not the default, though it may be as large.
  const set = parseTemplate({ ...given, verdict: { max_silence_seconds: 5 } });
  assert.equal(parseTemplate(given).verdict.max_silence_seconds, undefined);
  assert.match(formatTemplateYaml(set), /max_silence_seconds: 5/);
  const changed = withSettings(document, ["verdict.max_error_rate_pct=7", "needs_success=false"]);
  assert.deepEqual([changed.verdict.max_error_rate_pct, changed.verdict.needs_success], [7, false]);
  for (const wrong of [
    { verdict: { max_error_rate: 5 } },
    { verdict: { min_availability_pct: 101 } },
    { slos: ["availability < 99 %"] },
    { slos: [{ of: "point_lookup", metric: "longest_silence", limit: 5 }] },
  ]) {
    assert.throws(() => parseTemplate({ ...given, ...wrong }), /one problem/);
  }
});
