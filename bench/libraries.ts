/**
 * Compares Capstan's own implementations with existing libraries: CPU time of one thread, the best
 * of several rounds, and whether both results are equal. Libraries that are not dependencies are
 * looked for in `$CAPSTAN_PEERS` (`npm install re2js hyparquet apache-arrow` there); a missing one
 * is reported and skipped. `ratio` is the library's time divided by ours: above 1, ours is faster.
 */

import { createHash } from "node:crypto";
import { zstdDecompressSync } from "node:zlib";
import {
  create,
  createFileRegistry,
  type DescMessage,
  fromBinary,
  toBinary,
} from "@bufbuild/protobuf";
import {
  FileDescriptorSetSchema,
  FieldDescriptorProto_Label as Label,
  FieldDescriptorProto_Type as Type,
} from "@bufbuild/protobuf/wkt";
import {
  ChunkReader,
  chunkBytes,
  parquetRuntime,
  readFooter,
  writeParquet,
} from "../src/data/parquet/index.ts";
import { compileRegex } from "../src/data/regex/core/compile-regex.ts";
import { md5Tail } from "../src/kinds/ask/metrics/core/ingest/scrape/md5.ts";
import { WriteDecoder } from "../src/kinds/ask/metrics/core/ingest/wire/write-decoder.ts";
import {
  type Batch,
  batchRowsMax,
  decodeFrame,
  encodeFrame,
} from "../src/kinds/stream/engine/core/index.ts";
import { findPeer } from "./find-peer.ts";
import { type BenchOptions, checkPart, type Report } from "./report.ts";

const parts = { regex, parquet, remote_write: remoteWrite, md5, exchange };

export async function benchLibraries(options: BenchOptions, report: Report): Promise<void> {
  checkPart(options, Object.keys(parts));
  for (const [name, run] of Object.entries(parts)) {
    if (options.only === undefined || options.only === name) await run(report);
  }
}

const rounds = 7;

/** A contestant does `count` operations and returns a comparable result. */
type Contestant = () => unknown;

async function compare(
  report: Report,
  metric: string,
  count: number,
  ours: Contestant,
  library: Contestant,
): Promise<void> {
  let oursNs = Number.POSITIVE_INFINITY;
  let libraryNs = Number.POSITIVE_INFINITY;
  let [one, other]: unknown[] = [];
  for (let round = 0; round < rounds; round += 1) {
    oursNs = Math.min(oursNs, await cpuNs(async () => (one = await ours())));
    libraryNs = Math.min(libraryNs, await cpuNs(async () => (other = await library())));
  }
  report.figure(
    metric,
    {},
    { ours_ns: oursNs / count, library_ns: libraryNs / count, ratio: libraryNs / oursNs },
  );
  const isSame = `${one}` === `${other}`;
  report.check(`${metric}_same`, isSame ? undefined : `${one} and ${other} differ`);
}

async function cpuNs(run: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  await run();
  const { user, system } = process.cpuUsage(before);
  return (user + system) * 1_000;
}

function peerOf<T>(name: string, report: Report): T | undefined {
  const found = findPeer<T>(name);
  if (found === undefined) report.say(`no ${name}: npm install ${name} in $CAPSTAN_PEERS`);
  return found;
}

interface Re2Js {
  readonly RE2JS: {
    readonly DOTALL: number;
    compile(pattern: string, flags: number): { matches(text: string): boolean };
  };
}

/** Whole values of a label, as a selector's matchers test them. */
async function regex(report: Report): Promise<void> {
  const library = peerOf<Re2Js>("re2js", report);
  if (library === undefined) return;
  const { RE2JS } = library;
  const numbers = Array.from({ length: 20_000 }, (_, index) => index);
  const hosts = numbers.map((n) => `host-${n}.region-${n % 7}.example.com:9100`);
  const paths = numbers.map((n) => `/api/v1/items/${n}/sub/${n % 13}?q=${n * 7}`);
  const cases: readonly (readonly [name: string, pattern: string, texts: readonly string[]])[] = [
    ["prefix", "host-1.*", hosts],
    ["infix", ".*region-3.*", hosts],
    ["words", "host-(1|2|3).*", hosts],
    ["classes", "host-[0-9]+\\.region-[24]\\..*", hosts],
    ["path", "/api/v[0-9]/items/[0-9]+/sub/(1|2)\\?.*", paths],
    ["any_case", "(?i).*ITEMS/9.*", paths],
    ["nested", "(x+x+)+y", ["x".repeat(2_000)]],
  ];
  for (const [name, pattern, texts] of cases) {
    const count = (test: (text: string) => boolean): number => texts.filter(test).length;
    const ours = (): number => count(compileRegex(pattern).test);
    const theirs = (): number => {
      const compiled = RE2JS.compile(pattern, RE2JS.DOTALL);
      return count((text) => compiled.matches(text));
    };
    await compare(report, `regex_${name}`, texts.length, ours, theirs);
  }
}

interface Hyparquet {
  parquetRead(options: object): Promise<void>;
}

const compressors = Object.fromEntries([
  ["ZSTD", (input: Uint8Array) => new Uint8Array(zstdDecompressSync(input))],
]);

/** Decodes all columns of a segment's samples; ours also verifies each page's checksum. */
async function parquet(report: Report): Promise<void> {
  const library = peerOf<Hyparquet>("hyparquet", report);
  if (library === undefined) return;
  const rowCount = 16_384;
  const groupCount = 60;
  const columns = [
    { name: "series", type: "int32", encoding: "delta" },
    { name: "ts", type: "int64", encoding: "delta" },
    { name: "value", type: "double", encoding: "best" },
  ] as const;
  const groups = Array.from({ length: groupCount }, (_, group) => [
    Int32Array.from({ length: rowCount }, (_, row) => group * 10 + Math.floor(row / 1_640)),
    Float64Array.from({ length: rowCount }, (_, row) => 1.7e12 + (row % 1_640) * 30_000),
    Float64Array.from({ length: rowCount }, (_, row) => (row * 7_919 * (group + 1)) % 1_000_003),
  ]);
  const file = writeParquet(columns, groups, parquetRuntime);
  const whole = file.buffer.slice(file.byteOffset, file.byteOffset + file.byteLength);
  const ours = (): number => {
    const footer = readFooter(file);
    let sum = 0;
    for (const [group, { chunks }] of footer.rowGroups.entries()) {
      for (const [column, chunk] of chunks.entries()) {
        const bytes = chunkBytes(file, chunk);
        const reader = new ChunkReader(footer, group, column, bytes, parquetRuntime);
        sum += (column === 0 ? reader.int32() : reader.float64()).at(-1) ?? Number.NaN;
      }
    }
    return sum;
  };
  const theirs = async (): Promise<number> => {
    let sum = 0;
    await library.parquetRead({
      file: whole,
      compressors,
      onChunk: ({ columnData }: { columnData: ArrayLike<number | bigint> }) => {
        sum += Number(columnData[columnData.length - 1]);
      },
    });
    return sum;
  };
  await compare(report, "parquet_value", rowCount * groupCount * columns.length, ours, theirs);
}

/** Requests of one sender with repeating labels. Per series with one sample. */
async function remoteWrite(report: Report): Promise<void> {
  const schema = writeRequestSchema();
  const seriesCount = 2_000;
  const bodies = Array.from({ length: 20 }, (_, request) => {
    const timeseries = Array.from({ length: seriesCount }, (_, series) => ({
      labels: [
        { name: "__name__", value: "http_requests_total" },
        { name: "instance", value: `host-${series % 50}:9100` },
        { name: "job", value: "api" },
        { name: "path", value: `/v1/items/${series}` },
      ],
      samples: [{ value: series * request, timestamp: BigInt(1.7e12 + request * 15_000) }],
    }));
    return toBinary(schema, create(schema, { timeseries }));
  });
  const decoder = new WriteDecoder();
  const ours = (): number =>
    bodies.reduce((sum, body) => sum + decoder.decode(body, "1").batch.series.length, 0);
  const theirs = (): number =>
    bodies.reduce((sum, body) => {
      const { timeseries } = fromBinary(schema, body) as unknown as { timeseries: unknown[] };
      return sum + timeseries.length;
    }, 0);
  await compare(report, "remote_write_series", seriesCount * bodies.length, ours, theirs);
}

/** The part of Prometheus's WriteRequest that carries samples. */
function writeRequestSchema(): DescMessage {
  const field = (
    name: string,
    number: number,
    type: Type,
    typeName = "",
    label = Label.OPTIONAL,
  ) => ({
    name,
    number,
    type,
    typeName,
    label,
  });
  const messages = [
    { name: "Label", field: [field("name", 1, Type.STRING), field("value", 2, Type.STRING)] },
    { name: "Sample", field: [field("value", 1, Type.DOUBLE), field("timestamp", 2, Type.INT64)] },
    {
      name: "TimeSeries",
      field: [
        field("labels", 1, Type.MESSAGE, ".w.Label", Label.REPEATED),
        field("samples", 2, Type.MESSAGE, ".w.Sample", Label.REPEATED),
      ],
    },
    {
      name: "WriteRequest",
      field: [field("timeseries", 1, Type.MESSAGE, ".w.TimeSeries", Label.REPEATED)],
    },
  ];
  const file = [{ name: "w.proto", package: "w", syntax: "proto3", messageType: messages }];
  const registry = createFileRegistry(create(FileDescriptorSetSchema, { file }));
  const schema = registry.getMessage("w.WriteRequest");
  if (schema === undefined) throw new Error("there is no w.WriteRequest");
  return schema;
}

async function md5(report: Report): Promise<void> {
  const texts = Array.from({ length: 50_000 }, (_, index) => `host-${index};region-${index % 7}`);
  const tail = (text: string): bigint => createHash("md5").update(text).digest().readBigUInt64BE(8);
  const sum = (hash: (text: string) => bigint) => (): bigint =>
    texts.reduce((total, text) => total ^ hash(text), 0n);
  await compare(report, "md5", texts.length, sum(md5Tail), sum(tail));
}

interface Arrow {
  readonly Uint64: new () => object;
  readonly Utf8: new () => object;
  readonly Table: new (vectors: object) => ArrowTable;
  makeData(options: object): object;
  makeVector(data: object): object;
  tableToIPC(table: ArrowTable, format: "stream"): Uint8Array;
  tableFromIPC(bytes: Uint8Array): ArrowTable;
}

interface ArrowTable {
  readonly batches: readonly {
    readonly data: { readonly children: readonly { readonly values: ArrayLike<unknown> }[] };
  }[];
}

/** A bid of Nexmark: four numbers and a text, encoded and decoded. Per row. */
async function exchange(report: Report): Promise<void> {
  const library = peerOf<Arrow>("apache-arrow", report);
  if (library === undefined) return;
  const rows = Array.from({ length: batchRowsMax }, (_, row) => row);
  const numbers = [1, 7, 31, 97].map((step) =>
    BigUint64Array.from(rows, (row) => BigInt(row * step)),
  );
  const texts = rows.map((row) => new TextEncoder().encode(`channel-${row % 100}`));
  const offsets = new Int32Array(batchRowsMax + 1);
  for (const [row, text] of texts.entries()) offsets[row + 1] = (offsets[row] ?? 0) + text.length;
  const bytes = new Uint8Array(texts.flatMap((text) => [...text]));
  const batch: Batch = {
    rowCount: batchRowsMax,
    columns: [
      ...numbers.map((values) => ({
        kind: "fixed" as const,
        type: "UINT64" as const,
        values,
        validity: undefined,
      })),
      { kind: "text", type: "VARSIZED", offsets, bytes, validity: undefined },
    ],
    selection: undefined,
  };
  const types = batch.columns.map(({ type }) => type);
  const repetitions = 200;
  const ours = (): unknown => {
    let last: unknown;
    for (let round = 0; round < repetitions; round += 1) {
      const frame = decodeFrame(encodeFrame({ kind: "rows", batch }), types);
      if (frame.kind !== "rows") throw new Error("a batch arrives as rows");
      const column = frame.batch.columns[3];
      last = column?.kind === "fixed" ? column.values[batchRowsMax - 1] : undefined;
    }
    return last;
  };
  const theirs = (): unknown => {
    let last: unknown;
    for (let round = 0; round < repetitions; round += 1) {
      const sent = library.tableToIPC(arrowTable(library, numbers, offsets, bytes), "stream");
      const [received] = library.tableFromIPC(sent).batches;
      last = received?.data.children[3]?.values[batchRowsMax - 1];
    }
    return last;
  };
  await compare(report, "exchange_row", batchRowsMax * repetitions, ours, theirs);
}

function arrowTable(
  library: Arrow,
  numbers: readonly BigUint64Array[],
  valueOffsets: Int32Array,
  data: Uint8Array,
): ArrowTable {
  const { Uint64, Utf8, Table, makeData, makeVector } = library;
  const vectors = numbers.map((values, index) => [
    `n${index}`,
    makeVector(makeData({ type: new Uint64(), data: values, length: values.length })),
  ]);
  const text = makeData({ type: new Utf8(), length: batchRowsMax, valueOffsets, data });
  return new Table({ ...Object.fromEntries(vectors), text: makeVector(text) });
}
