import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { DuckDBInstance } from "@duckdb/node-api";
import { createPrng } from "../../../ground/kernel/prng.ts";
import { parquetRuntime } from "../zlib/node-runtime.ts";
import {
  type ColumnSpec,
  type PlainColumn,
  plainBooleans,
  plainNumbers,
  plainTexts,
  writeParquet,
} from "./index.ts";

const directory = mkdtempSync(join(tmpdir(), "capstan-plain-"));
after(() => rmSync(directory, { recursive: true, force: true }));

const prng = createPrng("plain");
const arrays = {
  i8: Int8Array,
  i16: Int16Array,
  i32: Int32Array,
  u8: Uint8Array,
  u16: Uint16Array,
  u32: Uint32Array,
  f32: Float32Array,
  f64: Float64Array,
} as const;
const longs = { i64: BigInt64Array, u64: BigUint64Array } as const;
const small = (bits: 8 | 16 | 32, isSigned: boolean) =>
  ({ type: "int32", integer: { bits, isSigned } }) as const;
const specs = {
  i8: small(8, true),
  i16: small(16, true),
  i32: { type: "int32" },
  u8: small(8, false),
  u16: small(16, false),
  u32: small(32, false),
  f32: { type: "float" },
  f64: { type: "double" },
  i64: { type: "bigint64" },
  u64: { type: "bigint64", integer: { bits: 64, isSigned: false } },
  b: { type: "boolean" },
  t: { type: "text" },
} as const;

interface Made {
  readonly column: PlainColumn;
  readonly values: readonly unknown[];
}

/** Random values of one column, of which a share is NULL. */
function make(name: keyof typeof specs, count: number, nulls: boolean): Made {
  const isPresent = Array.from({ length: count }, () => !nulls || prng.below(3) > 0);
  const validity = nulls ? new Uint8Array((count >> 3) + 3) : undefined;
  for (const [row, is] of isPresent.entries()) {
    if (is && validity !== undefined)
      validity[row >> 3] = (validity[row >> 3] as number) | (1 << (row & 7));
  }
  const shown = (values: readonly unknown[]): unknown[] =>
    values.map((value, row) => (isPresent[row] ? value : null));
  if (name === "t") {
    const texts = Array.from({ length: count }, () => "é0x".repeat(prng.below(4)));
    const encoded = texts.map((text) => new TextEncoder().encode(text));
    const offsets = new Int32Array(count + 1);
    for (const [row, { length }] of encoded.entries())
      offsets[row + 1] = (offsets[row] as number) + length;
    const bytes = Uint8Array.from(encoded.flatMap((each) => [...each]));
    return { column: plainTexts(offsets, bytes, validity), values: shown(texts) };
  }
  if (name === "b") {
    const flags = Uint8Array.from({ length: count }, () => prng.below(2));
    return { column: plainBooleans(flags, validity), values: shown([...flags].map(Boolean)) };
  }
  if (name === "i64" || name === "u64") {
    const halves = Uint32Array.from({ length: count * 2 }, () => prng.below(2 ** 32));
    const values = new longs[name](halves.buffer);
    return { column: plainNumbers(values, validity), values: shown([...values]) };
  }
  const values = new arrays[name](
    Array.from({ length: count }, () => prng.next() * 2 ** 32 - 2 ** 31),
  );
  if (name.startsWith("f")) values[0] = Number.NaN;
  return { column: plainNumbers(values, validity), values: shown([...values]) };
}

test("[PA12] DuckDB sees columns of every plain type, with and without NULLs, and their bounds", async (t) => {
  const names = Object.keys(specs) as (keyof typeof specs)[];
  const columns = names.flatMap((name) => [
    { name, as: name, nulls: false },
    { name, as: `${name}_n`, nulls: true },
  ]);
  const schema = columns.map(
    ({ name, as, nulls }): ColumnSpec => ({
      name: as,
      ...specs[name],
      ...(nulls ? { nullable: true as const } : {}),
    }),
  );
  const groups = [1, 8, 1_003].map((count) =>
    columns.map(({ name, nulls }) => make(name, count, nulls)),
  );
  const path = join(directory, "plain.parquet");
  const values = groups.map((group) => group.map(({ column }) => column));
  writeFileSync(path, writeParquet(schema, values, parquetRuntime));
  const instance = await DuckDBInstance.create(":memory:");
  const connection = await instance.connect();
  t.after(() => connection.closeSync());
  const read = (await connection.runAndReadAll(`SELECT * FROM '${path}'`)).getColumns();
  for (const [at, { as }] of columns.entries()) {
    assert.deepEqual(
      read[at],
      groups.flatMap((group) => group[at]?.values ?? []),
      as,
    );
  }
  const bounds = await connection.runAndReadAll(
    `SELECT path_in_schema, row_group_id, stats_min_value, stats_null_count FROM parquet_metadata('${path}')`,
  );
  for (const [name, group, min, nulls] of bounds.getRows()) {
    const found = groups[Number(group)]?.[columns.findIndex(({ as }) => as === name)]?.column;
    assert.equal(Number(nulls), found?.nullCount, `${name}`);
    if (/^[iu]/.test(String(name)) && found?.bounds !== undefined) {
      assert.equal(min, String(found.bounds.min), `${name}`);
    }
  }
});
