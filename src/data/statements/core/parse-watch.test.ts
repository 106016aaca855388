import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import { ownWatchedTables } from "../../../ground/store/core/index.ts";
import { watchedRefreshTables } from "../../../kinds/refresh/core/tables.ts";
import { parseWatch } from "./parse-watch.ts";

const watched = { ...ownWatchedTables, ...watchedRefreshTables };

const accepted: [text: string, want: object][] = [
  ["SELECT * FROM workers", { columns: undefined, where: [] }],
  ["/* all */ SELECT * FROM workers -- of them", { columns: undefined, where: [] }],
  ["watch select worker_id, state from WORKERS;", { columns: ["worker_id", "state"], where: [] }],
  [
    "SELECT state FROM workers WHERE state = 'ACTIVE' AND capacity > 2",
    {
      columns: ["state"],
      where: [
        { kind: "compare", column: "state", op: "=", value: "ACTIVE" },
        { kind: "compare", column: "capacity", op: ">", value: 2 },
      ],
    },
  ],
  [
    "SELECT * FROM workers WHERE state_reason <> 'it''s gone' AND capacity >= -1.5",
    {
      columns: undefined,
      where: [
        { kind: "compare", column: "state_reason", op: "!=", value: "it's gone" },
        { kind: "compare", column: "capacity", op: ">=", value: -1.5 },
      ],
    },
  ],
  [
    "SELECT \"state\" FROM \"workers\"\n WHERE worker_id IN ('a', 'b')\n AND draining = TRUE",
    {
      columns: ["state"],
      where: [
        { kind: "in", column: "worker_id", values: ["a", "b"] },
        { kind: "compare", column: "draining", op: "=", value: 1 },
      ],
    },
  ],
  [
    "SELECT * FROM workers WHERE state IS NULL AND host_name IS NOT NULL",
    {
      columns: undefined,
      where: [
        { kind: "null", column: "state", negated: false },
        { kind: "null", column: "host_name", negated: true },
      ],
    },
  ],
];
const active = { kind: "compare", column: "state", op: "=", value: "ACTIVE" };
accepted.push(
  [
    "WATCH SELECT id, state, capacity FROM workers WHERE state = 'ACTIVE';",
    { columns: ["state", "capacity"], keyAs: "id", where: [active] },
  ],
  [
    "SELECT worker_id, ID FROM workers WHERE id IN ('a')",
    {
      columns: ["worker_id"],
      keyAs: "id",
      where: [{ kind: "in", column: "worker_id", values: ["a"] }],
    },
  ],
);
for (const [text, want] of accepted) {
  test(`[SR5] reads: ${text}`, () => {
    assert.deepEqual(parseWatch(text, watched), {
      table: "workers",
      key: "worker_id",
      ...want,
    });
  });
}

test("[SR5] whole tables are watched by their names in words", () => {
  const whole = { columns: undefined, where: [] };
  const tables = { table: "dynamic_tables", key: "dynamic_table", ...whole };
  assert.deepEqual(parseWatch("WATCH DYNAMIC TABLES", watched), tables);
  assert.deepEqual(parseWatch("watch dynamic_tables;", watched), tables);
  assert.deepEqual(parseWatch("WATCH workers", watched), {
    table: "workers",
    key: "worker_id",
    ...whole,
  });
  assert.deepEqual(parseWatch("WATCH DYNAMIC TABLES WHERE status = 'FAILED'", watched).where, [
    { kind: "compare", column: "status", op: "=", value: "FAILED" },
  ]);
});

const refused: readonly [text: string, why: RegExp][] = [
  ["", /expected SELECT at character 1, where it ends/],
  ["DELETE FROM workers", /expected SELECT at character 1, where it says DELETE/],
  ["SELECT FROM workers", /expected a column at character 8, where it says FROM/],
  ["SELECT * FROM secrets", /secrets at character 15 cannot be watched; these can: workers/],
  ["SELECT * FROM catalog_changes", /catalog_changes at character 15 cannot be watched/],
  ["SELECT colour FROM workers", /workers has no column colour \(character 8\); it has worker_id,/],
  ["SELECT * FROM workers WHERE", /expected a column at character 28, where it ends/],
  ["SELECT * FROM workers WHERE state", /expected a comparison.*at character 34, where it ends/],
  ["SELECT * FROM workers WHERE state LIKE 'A%'", /"%"|expected a comparison.*where it says LIKE/],
  ["SELECT * FROM workers WHERE state = capacity", /expected a text in single quotes or a number/],
  ["SELECT * FROM workers WHERE state = 1", /state is a text, and 1 at character 37 is not/],
  ["SELECT * FROM workers WHERE capacity = '1'", /capacity is a number, and '1' at character 40/],
  ["SELECT * FROM workers WHERE state = 'A' OR state = 'B'", /expected AND.*it says OR/],
  ["SELECT * FROM workers WHERE state = 'A", /the ' at character 37 is never closed/],
  ["SELECT * FROM workers WHERE state = 'A' - x", /expected AND, WHERE or the end at character 41/],
  ["SELECT * FROM workers; DROP TABLE workers", /expected AND, WHERE or the end at character 24/],
  ["SELECT * FROM workers WHERE capacity IN ()", /expected a text .* at character 42/],
  ["SELECT count(*) FROM workers", /expected FROM at character 13, where it says \(/],
  [`SELECT * FROM workers WHERE capacity IN (${"1,".repeat(200)}1)`, /at most 100 are taken/],
  [`SELECT * FROM workers WHERE ${"capacity=1 AND ".repeat(40)}capacity=1`, /at most 32/],
  [`SELECT * FROM workers${" ".repeat(5_000)}`, /at most 4096 characters/],
];
for (const [text, why] of refused) {
  test(`[SR5] refuses: ${text.slice(0, 60)}`, () => {
    assert.throws(
      () => parseWatch(text, watched),
      (error: OperatingError) => {
        assert.equal(error.code, "bad_request");
        assert.match(error.message, why);
        return true;
      },
    );
  });
}

test("[SR5] whatever the text, it is read or refused, and nothing else", () => {
  const words = fc.constantFrom(
    ..."SELECT FROM WHERE AND IS NOT NULL IN workers state capacity * ( ) , ; = <> 'a' 1 \" '".split(
      " ",
    ),
  );
  const texts = fc.oneof(
    fc.string(),
    fc.array(words).map((parts) => parts.join(" ")),
  );
  fc.assert(
    fc.property(texts, (text) => {
      try {
        return parseWatch(text, watched).table === "workers";
      } catch (error) {
        return error instanceof OperatingError && error.code === "bad_request";
      }
    }),
  );
});
