import assert from "node:assert/strict";
import { test } from "node:test";
import { parseStatements } from "../../../../src/kinds/stream/language/core/index.ts";
import { queryIn, withSet, withSettingsInPlace } from "./edit-statements.ts";
import { takeTurns } from "./take-turns.ts";

const path = { section: "SINK", key: "FILE_PATH", value: "a" };
const host = { section: "SINK", key: "HOST", value: "w" };

test("settings are added to the SET at the end, where they are not given", () => {
  for (const [text, edited] of [
    ["CREATE SINK s TYPE File", `CREATE SINK s TYPE File SET('a' AS "SINK"."FILE_PATH")`],
    ["CREATE SINK s TYPE File SET()", `CREATE SINK s TYPE File SET('a' AS "SINK"."FILE_PATH")`],
    [
      "CREATE SINK s TYPE File SET('JSON' AS \"SINK\".OUTPUT_FORMAT)",
      `CREATE SINK s TYPE File SET('JSON' AS "SINK".OUTPUT_FORMAT, 'a' AS "SINK"."FILE_PATH")`,
    ],
    [
      "CREATE SINK s TYPE File SET('b' AS \"SINK\".file_path)",
      "CREATE SINK s TYPE File SET('b' AS \"SINK\".file_path)",
    ],
  ] as const) {
    const [statement] = parseStatements(text);
    assert.ok(statement?.kind === "createSink");
    assert.equal(withSet(text, statement.settings, [path]), edited);
  }
});

test("settings are added to a sink in place, in a text of several lines", () => {
  const text = "SELECT a\nFROM s INTO File(), File('JSON' AS \"SINK\".OUTPUT_FORMAT)";
  const [first, second] = queryIn(text)?.query.sinks ?? [];
  assert.ok(first?.kind === "anonymous" && second?.kind === "anonymous");
  const later = withSettingsInPlace(text, second.position, second.settings, [path]);
  assert.equal(
    withSettingsInPlace(later, first.position, first.settings, [path, host]),
    `SELECT a\nFROM s INTO File('a' AS "SINK"."FILE_PATH", 'w' AS "SINK"."HOST"), ` +
      `File('a' AS "SINK"."FILE_PATH", 'JSON' AS "SINK".OUTPUT_FORMAT)`,
  );
  assert.equal(queryIn("SELECT FROM"), undefined);
});

test("jobs run side by side, but none beside one that has a name in common", async () => {
  const running = new Set<string>();
  let most = 0;
  const job = (...names: readonly string[]) => ({
    names: new Set(names),
    run: async () => {
      for (const name of names) {
        assert.ok(!running.has(name), `${name} is taken`);
        running.add(name);
      }
      most = Math.max(most, running.size);
      await new Promise((resolve) => setImmediate(resolve));
      for (const name of names) running.delete(name);
    },
  });
  await takeTurns([job("a", "b"), job("b"), job("c"), job("a"), job("d"), job("c", "d")], 2);
  assert.equal(most, 3);
  assert.equal(running.size, 0);
});
