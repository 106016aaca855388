import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import fc from "fast-check";
import type { ColumnStatistics, LakeColumn, NewDataFile } from "../core/index.ts";
import { leavesOf } from "./column-type.ts";
import { tableSql } from "./relation-sql.ts";
import { literalOf, typeNames } from "./testing/random-values.ts";
import { never, openTestLake, type TestLake } from "./testing/test-lake.ts";
import { TestTable } from "./testing/test-table.ts";

let lake: TestLake;
before(async () => {
  lake = await openTestLake();
});
after(() => lake.close());

function tableOf(type: string): TestTable {
  const column = { name: "v", type, nullable: true, defaultValue: undefined };
  return new TestTable(lake.root, [column]);
}

async function insert(table: TestTable, select: string): Promise<readonly NewDataFile[]> {
  const request = { select, table: table.now.table, rowIds: "fresh" } as const;
  const added = await lake.writer.writeRows(request, never);
  table.change({ added });
  return added;
}

test("[LF11] statistics are what DuckDB computes of the same values", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc
        .constantFrom(...typeNames)
        .chain((type) =>
          fc.tuple(fc.constant(type), fc.array(literalOf(type), { minLength: 1, maxLength: 6 })),
        ),
      async ([type, literals]) => {
        const table = tableOf(type);
        const [file] = await insert(
          table,
          `SELECT * FROM (VALUES ${literals.map((literal) => `(CAST(${literal} AS ${type}))`).join(", ")})`,
        );
        assert.equal(file?.recordCount, literals.length);
        const [column] = table.now.table.columns as [LakeColumn];
        for (const leaf of leavesOf(column)) {
          if (leaf.path.length > 1 && !/^(INTEGER|HUGEINT)\[\]$/.test(type)) continue;
          const found: ColumnStatistics | undefined = file?.columns.find(
            ({ columnId }) => columnId === leaf.fieldId,
          );
          assert.deepEqual(
            found && [found.valueCount, found.min, found.max, found.containsNan],
            await expected(table, leaf.type, leaf.path.length > 1),
          );
        }
      },
    ),
    { numRuns: 60, endOnFailure: true },
  );
});

/** The number of values, DuckLake's bounds without NaN, and whether there is a NaN. */
async function expected(
  table: TestTable,
  type: string,
  isList: boolean,
): Promise<readonly unknown[] | undefined> {
  if (/^(interval|timetz)$/.test(type)) return undefined;
  const isFloat = type.startsWith("float");
  const text = type === "boolean" ? "::INTEGER::VARCHAR" : "::VARCHAR";
  const bound = (name: string): string => {
    const value = `${name}(v)${isFloat ? " FILTER (NOT isnan(v))" : ""}`;
    return type === "blob" ? `hex(${value})` : `(${value})${text}`;
  };
  const rows = tableSql(table.now, table.options(table.now, false));
  const values = isList ? `SELECT unnest(v) AS v FROM (${rows})` : rows;
  const nan = isFloat ? "coalesce(bool_or(isnan(v)), false)" : "NULL";
  const [row = []] = await lake.rows(
    `SELECT count(v), ${bound("min")}, ${bound("max")}, ${nan} FROM (${values})`,
  );
  const bounds = row.slice(1, 3).map((value) => {
    if (type === "int128" || value === null) return undefined;
    const bytes = type === "blob" ? String(value).length / 2 : Buffer.byteLength(String(value));
    return bytes < 256 ? value : undefined;
  });
  return [Number(row[0]), ...bounds, row[3] ?? undefined];
}

test("[LF11] long texts, whose bounds DuckDB cuts, and texts with U+0000 have no bounds", async () => {
  const table = tableOf("VARCHAR");
  const [long] = await insert(table, "SELECT repeat('a', 257) UNION ALL SELECT repeat('z', 255)");
  const { min, max } = long?.columns[0] ?? {};
  assert.deepEqual([min, max], [undefined, "z".repeat(255)]);
  const [nul] = await insert(table, "SELECT 'a' || chr(0)");
  assert.deepEqual(
    [nul?.columns[0]?.min, nul?.columns[0]?.max, nul?.columns[0]?.valueCount],
    [undefined, undefined, 1],
  );
});
