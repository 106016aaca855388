import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { DuckDBInstance } from "@duckdb/node-api";
import fc from "fast-check";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import { createPrng } from "../../../ground/kernel/prng.ts";
import { parquetRuntime as runtime } from "../zlib/node-runtime.ts";
import { CodedTexts } from "./coded-texts.ts";
import { encodeColumn } from "./encode-column.ts";
import { NumberedTexts } from "./numbered-texts.ts";
import { PackedBytes } from "./packed-bytes.ts";
import type { ColumnSpec, ColumnValues, RowGroupValues } from "./parquet-types.ts";
import { ChunkReader, chunkBytes, columnIndex, constantOf, readFooter } from "./read-parquet.ts";
import { ParquetEncoder, writeParquet } from "./write-parquet.ts";

const directory = mkdtempSync(join(tmpdir(), "capstan-parquet-"));
after(() => rmSync(directory, { recursive: true, force: true }));

const everyColumn: readonly ColumnSpec[] = [
  { name: "small", type: "int32" },
  { name: "small_delta", type: "int32", encoding: "delta" },
  { name: "whole", type: "int64" },
  { name: "whole_delta", type: "int64", encoding: "delta" },
  { name: "big", type: "bigint64" },
  { name: "number", type: "double" },
  { name: "number_split", type: "double", encoding: "split" },
  { name: "number_raw", type: "double", encoding: "best", codec: "none" },
  { name: "flag", type: "boolean" },
  { name: "word", type: "text" },
  { name: "blob", type: "bytes" },
];

/** Values of every column, from simple to difficult. */
function rowsOf(count: number, seed: string): RowGroupValues {
  const prng = createPrng(seed);
  const numbers = Float64Array.from(
    { length: count },
    (_, row) =>
      [row, -0, 0, 1e300, Number.MIN_VALUE, prng.next(), NaN, Infinity][prng.below(8)] as number,
  );
  const wholes = Float64Array.from(
    { length: count },
    (_, row) => 1_700_000_000_000 + row * 15_000 - prng.below(40_000),
  );
  const smalls = Int32Array.from({ length: count }, () => prng.below(2 ** 32));
  const words = Array.from({ length: count }, (_, row) => ["", "é", "名前 🦊", `w${row}`][row % 4]);
  return [
    smalls,
    smalls.map((value) => value >> 3),
    wholes.map((value) => value * (prng.below(2) === 0 ? 1 : -1)),
    wholes,
    BigInt64Array.from({ length: count }, () => BigInt(prng.below(2 ** 32)) * -4294967297n),
    numbers,
    numbers,
    numbers,
    Uint8Array.from({ length: count }, () => prng.below(2)),
    words as string[],
    Array.from({ length: count }, (_, row) => new Uint8Array(row % 7).fill(row)),
  ];
}

function readColumn(file: Uint8Array, rowGroup: number, spec: ColumnSpec): ColumnValues {
  const footer = readFooter(file);
  const column = columnIndex(footer, spec.name, spec.type);
  const chunk = footer.rowGroups[rowGroup]?.chunks[column];
  assert.ok(chunk !== undefined);
  const reader = new ChunkReader(footer, rowGroup, column, chunkBytes(file, chunk), runtime);
  switch (spec.type) {
    case "int32":
      return reader.int32();
    case "bigint64":
      return reader.bigint64();
    case "boolean":
      return reader.booleans();
    case "text":
      return reader.texts();
    case "bytes":
      return reader.byteArrays();
    default:
      return reader.float64();
  }
}

function assertSame(actual: ColumnValues, expected: ColumnValues, name: string): void {
  assert.equal(actual.length, expected.length, name);
  for (let row = 0; row < expected.length; row += 1) {
    const [left, right] = [actual[row], expected[row]];
    if (left instanceof Uint8Array) assert.ok(Buffer.from(left).equals(right as Uint8Array), name);
    else assert.ok(Object.is(left, right), `${name}[${row}]: ${left} is ${right}`);
  }
}

test("[PA11] columns that were encoded before, and packed bytes, give the same file", () => {
  const values = rowsOf(500, "encoded");
  const options = { keyValues: { a: "b" }, compressBytesMin: 1_000 };
  const wanted = writeParquet(everyColumn, [values, values], runtime, options);
  const encoded = everyColumn.map((spec, index) =>
    encodeColumn(spec, values[index] as ColumnValues, runtime, options),
  );
  assert.deepEqual(writeParquet(everyColumn, [encoded, encoded], runtime, options), wanted);
  const blobs = values.at(-1) as readonly Uint8Array[];
  const packed = new PackedBytes(
    blobs.length,
    blobs.reduce((sum, { length }) => sum + length, 0),
  );
  for (const blob of blobs) packed.add(blob);
  const given = [...values.slice(0, -1), packed];
  assert.deepEqual(writeParquet(everyColumn, [given, given], runtime, options), wanted);
});

test("[PA11] doubles are packed like their bytes, and byte strings are read in place", () => {
  const rows = [[], [1.5, -0, NaN], Array.from({ length: 20 }, (_, step) => step / 3)];
  const doubles = rows.map((row) => Float64Array.from(row));
  const bytes = doubles.map(({ buffer }) => new Uint8Array(buffer));
  const packed = new PackedBytes(3, 23 * 8);
  for (const row of doubles) packed.addDoubles(row);
  const schema: ColumnSpec[] = [{ name: "blob", type: "bytes" }];
  const file = writeParquet(schema, [[packed]], runtime);
  assert.deepEqual(file, writeParquet(schema, [[bytes]], runtime));
  const footer = readFooter(file);
  const [chunk] = footer.rowGroups[0]?.chunks ?? [];
  assert.ok(chunk !== undefined);
  const reader = new ChunkReader(footer, 0, 0, chunkBytes(file, chunk), runtime);
  const column = reader.bytesColumn();
  assert.equal(column.count, 3);
  for (const [row, value] of bytes.entries()) {
    assert.equal(column.lengthOf(row), value.length);
    assert.deepEqual(Array.from(column.at(row)), Array.from(value));
  }
  assert.equal(column.view.getFloat64(column.startOf(1), true), 1.5);
  assert.throws(() => new PackedBytes(1, 1).page, /complete/);
});

describe("the codec", () => {
  for (const counts of [[0], [1], [2], [33], [129], [1, 0, 5], [1000, 1000, 7]]) {
    test(`[PA1, PA2] row groups of ${counts.join(", ")} rows come back as they were`, () => {
      const groups = counts.map((count, index) => rowsOf(count, `${index}`));
      const file = writeParquet(everyColumn, groups, runtime, { keyValues: { a: "b", c: "ü" } });
      const footer = readFooter(file);
      assert.equal(
        footer.rowCount,
        counts.reduce((a, b) => a + b),
      );
      assert.deepEqual(
        [...footer.keyValues],
        [
          ["a", "b"],
          ["c", "ü"],
        ],
      );
      groups.forEach((group, rowGroup) => {
        everyColumn.forEach((spec, column) => {
          assertSame(readColumn(file, rowGroup, spec), group[column] as ColumnValues, spec.name);
        });
      });
    });
  }

  test("[PA2] integers of any width come back, by differences or not", () => {
    const integer = fc.oneof(
      fc.integer(),
      fc.maxSafeInteger(),
      fc.integer({ min: -(2 ** 44), max: 2 ** 44 }),
      fc.constant(2 ** 43),
    );
    fc.assert(
      fc.property(fc.array(integer, { maxLength: 300 }), fc.nat(50), (values, zoom) => {
        const scaled = Float64Array.from(values, (value) => Math.trunc(value / 2 ** zoom) + 0);
        const spec: ColumnSpec = { name: "n", type: "int64", encoding: "delta" };
        const file = writeParquet([spec], [[scaled]], runtime);
        assertSame(readColumn(file, 0, spec), scaled, "n");
      }),
      { numRuns: 300 },
    );
  });

  test("[PA2] any double comes back bit by bit, any text whole", () => {
    const double = fc.double({ noNaN: false });
    fc.assert(
      fc.property(fc.array(fc.tuple(double, fc.string({ unit: "grapheme" }))), (rows) => {
        const numbers = Float64Array.from(rows, ([number]) => number);
        const words = rows.map(([, word]) => word);
        for (const encoding of ["plain", "split", "best"] as const) {
          const schema: ColumnSpec[] = [
            { name: "d", type: "double", encoding },
            { name: "t", type: "text" },
          ];
          const file = writeParquet(schema, [[numbers, words]], runtime);
          assertSame(readColumn(file, 0, schema[0] as ColumnSpec), numbers, "d");
          assertSame(readColumn(file, 0, schema[1] as ColumnSpec), words, "t");
        }
      }),
      { numRuns: 100 },
    );
  });

  test("[PA4, PA8] by parts or at once, the same values give the same bytes", () => {
    const groups = [rowsOf(100, "a"), rowsOf(50, "b")];
    const whole = writeParquet(everyColumn, groups, runtime);
    const encoder = new ParquetEncoder(everyColumn, runtime);
    const parts = [...groups.map((group) => Buffer.from(encoder.rowGroup(group))), encoder.end()];
    assert.ok(Buffer.concat(parts).equals(whole));
  });

  test("[PA7] a column of one value is known by its statistics, except for doubles", () => {
    const schema: ColumnSpec[] = [
      { name: "i", type: "int64", encoding: "delta" },
      { name: "b", type: "boolean" },
      { name: "d", type: "double" },
      { name: "j", type: "int64" },
    ];
    const zero = new Float64Array(3);
    const file = writeParquet(schema, [[zero, new Uint8Array(3), zero, zero.with(1, 1)]], runtime);
    const footer = readFooter(file);
    const constants = schema.map((_, column) => constantOf(footer, 0, column));
    assert.deepEqual(constants, [0, 0, undefined, undefined]);
    assert.deepEqual(footer.rowGroups[0]?.chunks[3]?.statistics, { min: 0, max: 1 });
  });
});

describe("DuckDB", () => {
  test("[PA10] sees texts that were given by code or by number as any others; our reader refuses them", async (t) => {
    const words = ["never", "é", "", "often", "x".repeat(200), "nobody"];
    const schema: ColumnSpec[] = [
      { name: "coded", type: "text" },
      { name: "same", type: "text" },
      { name: "numbered", type: "text" },
    ];
    const prng = createPrng("coded");
    const shapes = [
      { count: 1, first: 0 },
      { count: 7, first: 8 },
      { count: 1_000, first: 95 },
      { count: 30_000, first: 99_990 },
      { count: 65_536, first: 1_000_000_123_456 },
    ];
    const groups = shapes.map(({ count, first }) => {
      const codes = Uint16Array.from({ length: count }, () => 1 + prng.below(4));
      return {
        values: [
          new CodedTexts(words, codes),
          CodedTexts.constant("run-1", count),
          new NumberedTexts("test-ü/", first, count),
        ],
        coded: Array.from(codes, (code) => words[code]),
        numbered: Array.from({ length: count }, (_, row) => `test-ü/${first + row}`),
      };
    });
    const path = join(directory, "coded.parquet");
    const file = writeParquet(
      schema,
      groups.map(({ values }) => values),
      runtime,
    );
    writeFileSync(path, file);
    assert.throws(
      () => {
        const footer = readFooter(file);
        const chunk = footer.rowGroups[0]?.chunks[2] ?? assert.fail("there is a chunk");
        new ChunkReader(footer, 0, 2, chunkBytes(file, chunk), runtime);
      },
      { code: "unsupported" },
    );
    const instance = await DuckDBInstance.create(":memory:");
    const connection = await instance.connect();
    t.after(() => connection.closeSync());
    const read = await connection.runAndReadAll(`SELECT * FROM '${path}'`);
    const [coded, same, numbered] = read.getColumns();
    assert.deepEqual(
      coded,
      groups.flatMap((group) => group.coded),
    );
    assert.ok(same?.every((text) => text === "run-1"));
    assert.deepEqual(
      numbered,
      groups.flatMap((group) => group.numbered),
    );
    const bounds = await connection.runAndReadAll(
      `SELECT stats_min_value, stats_max_value FROM parquet_metadata('${path}') WHERE path_in_schema = 'numbered' ORDER BY row_group_id`,
    );
    assert.deepEqual(
      bounds.getRows(),
      groups.map(({ numbered: texts }) => {
        const sorted = texts.toSorted();
        return [sorted[0], sorted.at(-1)];
      }),
    );
  });

  test("[PA9, PA6] finds columns by field id, and sees NULLs; our reader refuses them", async (t) => {
    const schema: ColumnSpec[] = [
      { name: "n", type: "int32", fieldId: 7 },
      { name: "t", type: "text", fieldId: 9, nullable: true },
    ];
    const groups = [1, 8, 1000].map((count): RowGroupValues => {
      const texts = Array.from({ length: count }, (_, row) => (row % 3 === 1 ? `é${row}` : null));
      return [Int32Array.from({ length: count }, (_, row) => row), texts];
    });
    const path = join(directory, "nulls.parquet");
    const file = writeParquet(schema, groups, runtime);
    writeFileSync(path, file);
    assert.throws(() => readFooter(file), { code: "unsupported" });
    const instance = await DuckDBInstance.create(":memory:");
    const connection = await instance.connect();
    t.after(() => connection.closeSync());
    const byId = (id: number, type: string) =>
      `${id}: {name: 'c${id}', type: '${type}', default_value: NULL}`;
    const read = await connection.runAndReadAll(
      `SELECT c9, c8 FROM read_parquet('${path}', schema = MAP {${byId(9, "VARCHAR")}, ${byId(8, "DOUBLE")}})`,
    );
    const [texts, absent] = read.getColumns();
    assert.deepEqual(
      texts,
      groups.flatMap(([, group]) => [...(group as readonly (string | null)[])]),
    );
    assert.ok(absent?.every((value) => value === null));
    const stats = await connection.runAndReadAll(
      `SELECT stats_null_count::INT, stats_min_value, stats_max_value FROM parquet_metadata('${path}') WHERE path_in_schema = 't'`,
    );
    assert.deepEqual(stats.getRows(), [
      [1, null, null],
      [5, "é1", "é7"],
      [667, "é1", "é997"],
    ]);
  });

  test("[PA3] reads what we write and sees the same", async (t) => {
    const groups = [rowsOf(3000, "x"), rowsOf(1, "y"), rowsOf(129, "z")];
    const path = join(directory, "every.parquet");
    writeFileSync(path, writeParquet(everyColumn, groups, runtime, { keyValues: { k: "v" } }));
    const instance = await DuckDBInstance.create(":memory:");
    const connection = await instance.connect();
    t.after(() => connection.closeSync());
    const read = await connection.runAndReadAll(
      `SELECT * FROM read_parquet('${path}') ORDER BY file_row_number`,
    );
    const columns = read.getColumns();
    everyColumn.forEach((spec, index) => {
      const ours = groups.flatMap((group) => [...(group[index] as Iterable<unknown>)]);
      const theirs = (columns[index] ?? []).map((value) => fromDuckDb(value, spec));
      assert.equal(theirs.length, ours.length);
      theirs.forEach((value, row) => {
        const wanted =
          spec.type === "bytes" ? Buffer.from(ours[row] as Uint8Array).toString("hex") : ours[row];
        assert.ok(Object.is(value, wanted), `${spec.name}[${row}]: ${value} is ${wanted}`);
      });
    });
    const pruned = await connection.runAndReadAll(
      `SELECT count(*), min(whole_delta), max(word) FROM read_parquet('${path}') WHERE whole_delta > 0 AND word >= ''`,
    );
    assert.equal(Number(pruned.getRows()[0]?.[0]), 3130);
  });
});

function fromDuckDb(value: unknown, spec: ColumnSpec): unknown {
  if (spec.type === "int64") return Number(value);
  if (spec.type === "boolean") return value === true ? 1 : 0;
  if (spec.type === "bytes")
    return Buffer.from((value as { bytes: Uint8Array }).bytes).toString("hex");
  return value;
}

describe("bad files", () => {
  const good = writeParquet(everyColumn, [rowsOf(200, "a"), rowsOf(40, "b")], runtime);

  const readAll = (file: Uint8Array): void => {
    const { rowGroups } = readFooter(file);
    rowGroups.forEach((_, rowGroup) => {
      for (const spec of everyColumn) readColumn(file, rowGroup, spec);
    });
  };
  const refuses = (file: Uint8Array): boolean => {
    try {
      readAll(file);
      return false;
    } catch (thrown) {
      assert.ok(thrown instanceof OperatingError, `${thrown}`);
      assert.ok(thrown.code === "artifact_corrupt" || thrown.code === "unsupported");
      return true;
    }
  };

  test("[PA5] cut off anywhere, it is refused", () => {
    for (let length = 0; length < good.length; length += length < 64 ? 1 : 37) {
      assert.ok(refuses(good.subarray(0, length)), `${length} bytes`);
    }
  });

  test("[PA5] a changed byte never breaks the reader, and one in a page is noticed", () => {
    const footer = readFooter(good);
    const prng = createPrng("flips");
    for (let round = 0; round < 3000; round += 1) {
      const file = good.slice();
      const at = prng.below(file.length);
      file[at] = (file[at] as number) ^ (1 << prng.below(8));
      refuses(file);
    }
    const chunk = footer.rowGroups[0]?.chunks[6];
    assert.ok(chunk !== undefined);
    const file = good.slice();
    file[chunk.offset + chunk.length - 1] = (file[chunk.offset + chunk.length - 1] as number) ^ 1;
    assert.throws(() => readAll(file), /checksum/);
  });

  test("[PA5] any bytes at all are refused", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        assert.ok(refuses(bytes));
        const framed = new Uint8Array(bytes.length + 12);
        framed.set([0x50, 0x41, 0x52, 0x31]);
        framed.set(bytes, 4);
        new DataView(framed.buffer).setUint32(bytes.length + 4, bytes.length, true);
        framed.set([0x50, 0x41, 0x52, 0x31], bytes.length + 8);
        refuses(framed);
      }),
    );
  });

  test("[PA6] what DuckDB writes, it refuses with the reason", async (t) => {
    const instance = await DuckDBInstance.create(":memory:");
    const connection = await instance.connect();
    t.after(() => connection.closeSync());
    const path = join(directory, "theirs.parquet");
    await connection.run(`COPY (SELECT 1 AS a, [1, 2] AS b) TO '${path}' (FORMAT parquet)`);
    const { readFileSync } = await import("node:fs");
    assert.throws(() => readFooter(readFileSync(path)), { code: "unsupported" });
  });
});
