import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { storedDefault, storedInitialDefault, wordsOf } from "./default-values.ts";
import { similarNames } from "./similar-names.ts";
import { compareStatistics, mergeSummaries, summarize } from "./statistics.ts";

const ordered: readonly [type: string, ...texts: string[]][] = [
  ["int64", "-9223372036854775808", "-10", "-9", "9", "10", "9223372036854775807"],
  ["decimal(38,2)", "-1000.00", "-1.00", "-0.99", "0.00", "9.50", "10", "12345678901234567890.01"],
  ["float64", "-inf", "-1e+100", "-2.5", "0", "1.25", "10.0", "1e+100", "inf"],
  ["boolean", "0", "true"],
  ["timestamptz", "2020-01-01 00:00:00+00", "2020-01-01 00:00:00.5+00", "2020-01-02 00:00:00+00"],
  ["varchar", "", "A", "a", "ab", "é", "\uffee", "🦊"],
];
for (const [type, ...texts] of ordered) {
  test(`[LK13] values of ${type} compare as DuckDB has them`, () => {
    for (const [i, a] of texts.entries()) {
      for (const [j, b] of texts.entries()) {
        assert.equal(
          Math.sign(compareStatistics(type, a, b) ?? Number.NaN),
          Math.sign(i - j),
          `${a} ${b}`,
        );
      }
    }
  });
}

test("[LK13] texts order as their bytes do", () => {
  const text = fc.string({ unit: "binary" });
  fc.assert(
    fc.property(text, text, (a, b) => {
      const bytes = Buffer.compare(Buffer.from(a), Buffer.from(b));
      assert.equal(Math.sign(compareStatistics("varchar", a, b) ?? Number.NaN), bytes);
    }),
  );
});

test("[LK13] what cannot be compared is unknown, and stays so", () => {
  assert.equal(compareStatistics("date", "0044-03-15 (BC)", "2020-01-01"), undefined);
  assert.equal(compareStatistics("interval", "1 day", "2 days"), undefined);
  assert.equal(compareStatistics("float64", "nan", "1"), undefined);
  const file = { containsNull: true, containsNan: undefined, min: "1", max: "2", hasValues: true };
  const unknown = { ...file, min: undefined, max: undefined };
  assert.equal(mergeSummaries("int64", unknown, file).min, undefined);
  const { min, max } = summarize("int64", [{ ...unknown, hasValues: false }, file]);
  assert.deepEqual([min, max], ["1", "2"], "a file of NULLs does not disturb");
  assert.equal(summarize("int64", [unknown, file]).max, undefined);
});

test("[LK4] defaults are kept bare and come back in DuckDB's words", () => {
  assert.deepEqual(storedDefault("'it''s'"), { value: "it's", kind: "literal" });
  assert.deepEqual(storedDefault("-7.5e3"), { value: "-7.5e3", kind: "literal" });
  assert.deepEqual(storedDefault("now()"), { value: "now()", kind: "expression" });
  assert.deepEqual(storedDefault(undefined), { value: "NULL", kind: "literal" });
  assert.equal(storedInitialDefault("DATE '2020-01-01'"), "2020-01-01");
  assert.equal(storedInitialDefault("null"), null);
  assert.equal(wordsOf("varchar", "it's", "literal"), "'it''s'");
  assert.equal(wordsOf("int64", "7", "literal"), "7");
  assert.equal(wordsOf("varchar", "7", "literal"), "'7'");
});

test("[LK3] names that are like another come nearest first", () => {
  const names = ["orders", "order_items", "customers", "odors"];
  assert.deepEqual(similarNames("ordres", names), ["orders"]);
  assert.deepEqual(similarNames("ORDER", names), ["orders", "order_items"]);
  assert.deepEqual(similarNames("zzz", names), []);
});
