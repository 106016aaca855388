import assert from "node:assert/strict";
import { test } from "node:test";
import { scenarioOf } from "../testing/scenario.ts";
import {
  compileWorkload,
  insertRange,
  operationOf,
  type WorkloadWorker,
} from "./compile-workload.ts";
import { parseNamedStatement } from "./parse-statement.ts";
import type { OperationConfig, ValueConfig } from "./scenario.ts";

const worker: WorkloadWorker = {
  groupId: 0,
  pools: new Map([["names", ["a", "b"]]]),
  wallMs: () => 0,
};

function operation(sql: string, parameters: Record<string, ValueConfig>): OperationConfig {
  return {
    name: "op",
    kind: "CUSTOM",
    weight: 1,
    statements: [sql],
    transaction: false,
    parameters,
  };
}

function draw(config: OperationConfig, groupId: number, times: number): unknown[][] {
  const { workload } = scenarioOf({ workload: { operations: [config] } });
  const compiled = compileWorkload(workload, { ...worker, groupId });
  return Array.from({ length: times }, () => {
    const values: never[] = [];
    compiled.operations[compiled.choose()]?.fill(values);
    return values;
  });
}

test("[CW3] parameters are found where SQL has them and nowhere else", () => {
  const { texts, names } = parseNamedStatement(
    "SELECT ':a', \":b\", x::int, $$ :c $$ /* :d */ FROM t -- :e\nWHERE id = :id AND at > :at;\n",
  );
  assert.deepEqual(names, ["id", "at"]);
  assert.equal(texts.at(-1), "");
  assert.equal(texts[1], " AND at > ");
  const quoted = "SELECT `:a``:b`, '/* '':c' /* /* :d */ || :e, [:f:g], x:=y";
  assert.deepEqual(parseNamedStatement(quoted).names, ["e", "f", "g"]);
  assert.throws(() => parseNamedStatement("SELECT `x"), { message: "` is not closed" });
  assert.throws(() => parseNamedStatement("SELECT 1 /* x"), { message: "*/ is not closed" });
  assert.throws(() => parseNamedStatement("SELECT $a$ x"), { message: "$a$ is not closed" });
  assert.throws(() => parseNamedStatement("SELECT 1; SELECT 2"), { code: "bad_request" });
  assert.throws(() => parseNamedStatement("SELECT 'x"), { message: "' is not closed" });
  const key: ValueConfig = { kind: "integer", min: 1, max: 1 };
  assert.throws(() => operationOf(operation("SELECT :x", {})), /:x has no entry/);
  assert.throws(() => operationOf(operation("SELECT 1", { x: key })), /x is in no statement/);
  const twice = operationOf(operation("SELECT :x + :y + :x", { x: key, y: key }));
  assert.deepEqual(twice.statements[0]?.parameters, [0, 1, 0]);
});

test("[CW1] the same seed and group give the same values, another group others", () => {
  const config = operation("SELECT :k, :t, :p, :n", {
    k: { kind: "key", distribution: "zipfian", min: 1, max: 1_000, theta: 0.99 },
    t: { kind: "text", lengthMin: 3, lengthMax: 5 },
    p: { kind: "pool", pool: "names", distribution: "uniform" },
    n: { kind: "now" },
  });
  const values = draw(config, 0, 50);
  assert.deepEqual(draw(config, 0, 50), values);
  assert.notDeepEqual(draw(config, 1, 50), values);
  assert.match(String(values[0]?.[1]), /^[a-z]{3,5}$/);
  assert.equal(values[0]?.[3], "1970-01-01T00:00:00.000Z");
});

test("[CW2] groups insert keys of their own", () => {
  const config = operation("INSERT INTO t VALUES (:id)", {
    id: { kind: "insert_key", start: 100 },
  });
  assert.deepEqual(draw(config, 0, 3).flat(), [100, 101, 102]);
  assert.deepEqual(draw(config, 2, 2).flat(), [100 + 2 * insertRange, 101 + 2 * insertRange]);
});

test("[CW1] values that refer to others follow them; circles are refused", () => {
  const config = operation("SELECT :to, :from", {
    to: { kind: "relative", to: "from", plus: 99 },
    from: { kind: "integer", min: 5, max: 5 },
  });
  assert.deepEqual(draw(config, 0, 1), [[104, 5]]);
  const circle = operation("SELECT :a, :b", {
    a: { kind: "relative", to: "b", plus: 1 },
    b: { kind: "relative", to: "a", plus: 1 },
  });
  assert.throws(() => draw(circle, 0, 1), /circle/);
});

test("[CW1] operations come in proportion to their weights", () => {
  const { workload } = scenarioOf({
    workload: {
      operations: [
        { ...operation("SELECT 1", {}), name: "often", weight: 90 },
        { ...operation("SELECT 2", {}), name: "seldom", weight: 10 },
        { ...operation("SELECT 3", {}), name: "never", weight: 0 },
      ],
    },
  });
  const compiled = compileWorkload(workload, worker);
  assert.equal(compiled.operations.length, 2);
  const chosen = Array.from({ length: 20_000 }, () => compiled.choose());
  const share = chosen.filter((index) => index === 0).length / chosen.length;
  assert.ok(Math.abs(share - 0.9) < 0.01, `${share}`);
});
