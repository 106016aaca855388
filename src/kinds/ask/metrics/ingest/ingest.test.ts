import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import { silentLogger } from "../../../../ground/kernel/logger.ts";
import { realClock } from "../../../../ground/kernel/node/real-clock.ts";
import { createPrng } from "../../../../ground/kernel/prng.ts";
import { eventually } from "../../../../ground/kernel/testing/eventually.ts";
import { Labels, type Matcher, type RawSeries } from "../../promql/core/index.ts";
import { BatchBuilder } from "../core/ingest/batch-builder.ts";
import { encodeRequest1, encodeRequest2 } from "../core/ingest/testing/encode-write.ts";
import { compressSnappy } from "../core/ingest/wire/snappy.ts";
import type { Ingest } from "../core/ingest-service.ts";
import type { SampleBatch, SegmentInfo } from "../core/model.ts";
import { noLease } from "../fs/take-log.ts";
import { collectSeries } from "../segments/collect-series.ts";
import { decodeRawSeries } from "../segments/raw-series-codec.ts";
import { openSegment } from "../segments/segment-reader.ts";
import { SeriesInterner } from "../segments/series-interner.ts";
import { type IngestOptions, startIngest } from "./start-ingest.ts";
import { ThreadIngest } from "./thread-ingest.ts";

const token = "a-token-of-the-cluster";
const protobuf = "application/x-protobuf";
const protobuf2 = "application/x-protobuf;proto=io.prometheus.write.v2.Request";

class Fixture {
  readonly dir: string;
  readonly ingest: Ingest;
  readonly published: SegmentInfo[];

  constructor(dir: string, ingest: Ingest, published: SegmentInfo[]) {
    this.dir = dir;
    this.ingest = ingest;
    this.published = published;
  }

  get lakeDir(): string {
    return join(this.dir, "lake");
  }

  /** The head's series, read over HTTP like a worker does. */
  async headSeries(names: string): Promise<string[]> {
    const matchers: Matcher[] = [{ name: "__name__", op: "=~", value: names }];
    const { url, incarnation, appendSeq } = await this.ingest.snapshot();
    const response = await fetch(`${url}/head/slice`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}` },
      body: JSON.stringify({
        incarnation,
        appendSeq,
        shard: 0,
        shardCount: 1,
        matchers,
        minMs: null,
        maxMs: null,
      }),
    });
    assert.equal(response.status, 200);
    return decodeRawSeries(new Uint8Array(await response.arrayBuffer())).flatMap(shown);
  }

  segmentSeries(): string[] {
    const interner = new SeriesInterner();
    const readers = this.published.map((info) => openSegment(this.lakeDir, info, { interner }));
    const range = { minMs: -Infinity, maxMs: Infinity };
    const request = { matchers: [], shard: 0, shardCount: 1, range };
    return collectSeries(readers, [], request).flatMap(shown);
  }

  async lakeFiles(): Promise<string[]> {
    const folders = ["tmp", "segments"].map(async (folder) => readdir(join(this.lakeDir, folder)));
    return (await Promise.all(folders)).flat();
  }
}

const open: Fixture[] = [];

async function start(options: Partial<IngestOptions> = {}): Promise<Fixture> {
  const dir = await mkdtemp(join(tmpdir(), "capstan-ingest-"));
  const published: SegmentInfo[] = [];
  const starting = startIngest({
    walDir: join(dir, "wal"),
    lakeDir: join(dir, "lake"),
    clock: realClock,
    prng: createPrng("ingest-test"),
    logger: silentLogger,
    server: { host: "127.0.0.1", port: 0, token },
    publish: async (add) => void published.push(...add),
    ...options,
  });
  const ingest = await starting.catch(async (thrown: unknown) => {
    await rm(dir, { recursive: true });
    throw thrown;
  });
  const fixture = new Fixture(dir, ingest, published);
  open.push(fixture);
  return fixture;
}

let sharedFixture: Promise<Fixture> | undefined;

/**
 * Shared by tests that only add to it, each under its own names: a thread takes a while to start.
 */
function shared(): Promise<Fixture> {
  sharedFixture ??= start();
  return sharedFixture;
}

after(async () => {
  for (const { ingest, dir } of open.splice(0)) {
    await ingest.close();
    await rm(dir, { recursive: true });
  }
});

function shown({ labels, samples }: RawSeries): string[] {
  const { __name__, ...rest } = labels.toRecord();
  const texts = Object.entries(rest).map(([name, value]) => `${name}=${value}`);
  return Array.from({ length: samples.count }, (_, index) => {
    const value =
      samples.stale?.[index] === 1
        ? "stale"
        : (samples.histograms?.[index]?.count ?? samples.values[index]);
    const start = samples.startTs?.[index] ?? 0;
    return `${__name__}{${texts.join(",")}} ${value}@${samples.ts[index]}${start === 0 ? "" : ` from ${start}`}`;
  });
}

function batchOf(...rows: (readonly [name: string, ts: number, value: number])[]): SampleBatch {
  const builder = new BatchBuilder(1);
  for (const [name, ts, value] of rows)
    builder.addFloat(builder.addSeries(Labels.of({ __name__: name })), ts, value);
  return builder.build();
}

const nowMs = Math.floor(realClock.wallMs() / 1_000) * 1_000;

test("[IN20] a remote write is durable, visible at once, and counted", async () => {
  const fixture = await shared();
  const batch = batchOf(["one_a", nowMs, 1], ["one_b", nowMs, 2]);
  const first = await fixture.ingest.remoteWrite(
    compressSnappy(encodeRequest1(batch)),
    protobuf,
    "snappy",
  );
  assert.deepEqual(first, {
    status: 204,
    message: undefined,
    samples: 2,
    histograms: 0,
    exemplars: 0,
  });
  assert.deepEqual(await fixture.headSeries("one_.*"), [
    `one_a{} 1@${nowMs}`,
    `one_b{} 2@${nowMs}`,
  ]);
  const again = await fixture.ingest.remoteWrite(
    compressSnappy(encodeRequest2(batch)),
    protobuf2,
    "snappy",
  );
  assert.deepEqual([again.status, again.samples], [204, 2], "the same again is no error");
  assert.equal((await fixture.headSeries("one_.*")).length, 2);
  assert.ok((await fixture.ingest.stats()).sampleCount >= 2);
});

test("[IN20] what the head refuses is answered with 400, and the rest stays", async () => {
  const fixture = await shared();
  await fixture.ingest.append(batchOf(["two_a", nowMs, 1]));
  const batch = batchOf(["two_a", nowMs, 2], ["two_b", nowMs, 3], ["two_c", nowMs - 86_400_000, 4]);
  const result = await fixture.ingest.remoteWrite(
    compressSnappy(encodeRequest1(batch)),
    protobuf,
    "",
  );
  assert.deepEqual([result.status, result.samples], [400, 1]);
  assert.match(result.message ?? "", /duplicate sample for timestamp/);
  assert.deepEqual(await fixture.headSeries("two_.*"), [
    `two_a{} 1@${nowMs}`,
    `two_b{} 3@${nowMs}`,
  ]);
});

test("[IN20] a malformed body is refused whole, another type with 415", async () => {
  const fixture = await shared();
  const body = encodeRequest1(batchOf(["three_a", nowMs, 1], ["three_b", nowMs, 2]));
  const cut = compressSnappy(body.subarray(0, body.length - 3));
  const cases = [
    { body: cut, type: protobuf, encoding: "snappy", status: 400, message: /unexpected EOF/ },
    { body: body, type: protobuf, encoding: "snappy", status: 400, message: /snappy/ },
    {
      body: compressSnappy(body),
      type: "application/json",
      encoding: "snappy",
      status: 415,
      message:
        /expected application\/x-protobuf as the first \(media\) part, got application\/json content-type/,
    },
    {
      body: compressSnappy(body),
      type: protobuf,
      encoding: "zstd",
      status: 415,
      message:
        /zstd encoding \(compression\) is not accepted by this server; only snappy is acceptable/,
    },
    {
      body: compressSnappy(body),
      type: `${protobuf};proto=other.Request`,
      encoding: "",
      status: 415,
      message: /unknown type for remote write protobuf message other.Request/,
    },
  ];
  for (const { body: sent, type, encoding, status, message } of cases) {
    const result = await fixture.ingest.remoteWrite(sent.slice(), type, encoding);
    assert.deepEqual([result.status, result.samples], [status, 0]);
    assert.match(result.message ?? "", message);
  }
  assert.deepEqual(await fixture.headSeries("three_.*"), []);
});

test("[IN21] writes beyond the queue are told to come back, none is lost", async () => {
  const fixture = await start({ queueMax: 3 });
  const writes = Array.from({ length: 10 }, (_, index) =>
    fixture.ingest.remoteWrite(
      compressSnappy(encodeRequest1(batchOf([`m${index}`, nowMs, index]))),
      protobuf,
      "snappy",
    ),
  );
  const statuses = (await Promise.all(writes)).map(({ status }) => status);
  assert.deepEqual(statuses, [204, 204, 204, ...Array.from({ length: 7 }, () => 429)]);
  assert.equal((await fixture.headSeries("m.*")).length, 3);
});

test("[IN21] a body of a shared buffer stays the caller's", async () => {
  const fixture = await shared();
  const body = compressSnappy(encodeRequest1(batchOf(["four_a", nowMs, 1])));
  const pool = new Uint8Array(body.length + 10);
  pool.set(body, 5);
  const result = await fixture.ingest.remoteWrite(
    pool.subarray(5, 5 + body.length),
    protobuf,
    "snappy",
  );
  assert.equal(result.status, 204);
  assert.equal(pool.length, body.length + 10);
});

test("[IN22] metadata and exemplars are kept and asked for", async () => {
  const fixture = await shared();
  const builder = new BatchBuilder();
  const labels = Labels.of({ __name__: "a_total", job: "j" });
  builder.addFloat(builder.addSeries(labels), nowMs, 1);
  builder.metadata.push({ metric: "a_total", type: "counter", help: "A.", unit: "" });
  builder.exemplars.push({
    series: labels,
    labels: Labels.of({ trace_id: "t" }),
    value: 1,
    ts: nowMs,
  });
  const result = await fixture.ingest.remoteWrite(
    compressSnappy(encodeRequest2(builder.build())),
    protobuf2,
    "snappy",
  );
  assert.equal(result.exemplars, 1);
  assert.deepEqual(await fixture.ingest.metadata("a_total"), [
    { metric: "a_total", type: "counter", help: "A.", unit: "" },
  ]);
  const found = await fixture.ingest.exemplars(
    [[{ name: "job", op: "=", value: "j" }]],
    nowMs - 1,
    nowMs,
  );
  assert.deepEqual(
    found.map((one) => [one.series.key, one.labels.toRecord(), one.ts]),
    [[labels.key, { trace_id: "t" }, nowMs]],
  );
});

test("[IN20] what is sealed is published, and a restart finds the rest", async () => {
  const fixture = await start();
  await fixture.ingest.append(batchOf(["a", nowMs, 1]));
  await fixture.ingest.seal();
  assert.deepEqual(fixture.segmentSeries(), [`a{} 1@${nowMs}`]);
  await fixture.ingest.append(batchOf(["b", nowMs, 2]));
  await fixture.ingest.close();
  const again = await startIngest({
    walDir: join(fixture.dir, "wal"),
    lakeDir: fixture.lakeDir,
    clock: realClock,
    prng: createPrng("again"),
    logger: silentLogger,
    server: { host: "127.0.0.1", port: 0, token },
    publish: async () => undefined,
    publishedSealSeq: async () => Math.max(...fixture.published.map(({ sealSeq }) => sealSeq)),
  });
  const reopened = new Fixture(fixture.dir, again, []);
  assert.deepEqual(await reopened.headSeries(".*"), [`b{} 2@${nowMs}`]);
  await again.close();
});

test("[IN21] after close everything fails, politely", async () => {
  const fixture = await start();
  await fixture.ingest.close();
  const result = await fixture.ingest.remoteWrite(
    compressSnappy(encodeRequest1(batchOf(["a", nowMs, 1]))),
    protobuf,
    "snappy",
  );
  assert.equal(result.status, 503);
  await assert.rejects(
    fixture.ingest.snapshot(),
    (thrown: OperatingError) => thrown.code === "shutting_down",
  );
});

test("[IN21] a store that fails fails the seal, and the head keeps what it has", async () => {
  const fixture = await start({
    publish: () => Promise.reject(new OperatingError("store_busy", "backoff", "later")),
  });
  await fixture.ingest.append(batchOf(["a", nowMs, 1]));
  await assert.rejects(fixture.ingest.seal(), /later/, "the store's failure is the seal's");
  assert.equal((await fixture.headSeries("a")).length, 1, "and the head has it still");
});

test("[IN16] targets of a configuration and this process are scraped into the head", async (t) => {
  const target = createServer((_, response) => {
    response.setHeader("content-type", "text/plain; version=0.0.4").end("temperature 21.5\n");
  });
  await new Promise<void>((resolve) => target.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    target.closeAllConnections();
    target.close();
  });
  const { port } = target.address() as AddressInfo;
  const text = `scrape_configs: [{job_name: house, scrape_interval: 100ms, scrape_timeout: 90ms, static_configs: [{targets: ['127.0.0.1:${port}']}]}]`;
  const fixture = await start({ scrape: { text, baseDir: "." } });
  let reads = 0;
  await fixture.ingest.addSelfTarget({
    job: "capstan",
    instance: "me",
    intervalMs: 100,
    read: async () => ({
      contentType: "application/openmetrics-text; version=1.0.0",
      text: `# TYPE own counter\nown_total ${++reads} # {work_id="w"} 1\n# EOF\n`,
    }),
  });
  await eventually("both targets are up", async () => {
    const statuses = await fixture.ingest.targets();
    const isUp = statuses.length === 2 && statuses.every(({ health }) => health === "up");
    return isUp ? true : undefined;
  });
  const series = await fixture.headSeries(".+");
  assert.ok(
    series.some((line) =>
      line.startsWith(`temperature{instance=127.0.0.1:${port},job=house} 21.5@`),
    ),
    series.join("\n"),
  );
  // On a busy machine its first scrape may have come too late.
  assert.ok(series.some((line) => /^own_total\{instance=me,job=capstan\} [1-9]\d*@/.test(line)));
  assert.ok(series.some((line) => line.startsWith("up{instance=me,job=capstan} 1@")));
  await assert.rejects(
    fixture.ingest.applyScrapeConfig("jobs: []", "."),
    /line 1: jobs: there is no field "jobs"/,
  );
  assert.equal((await fixture.ingest.targets()).length, 2, "a bad configuration changes nothing");
});

async function* chunksOf(text: string, size = 7): AsyncGenerator<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.slice(at, at + size);
}

const never = new AbortController().signal;
const ignore = (): void => undefined;

test("[IN23] an import becomes visible all at once, however old it is", async () => {
  const fixture = await start();
  const text = `# HELP a A counter.
# TYPE a counter
a_total{x="2"} 5 1000000000
a_total{x="1"} 7 1000000015
a_total{x="1"} 6 1000000000.5
a_total{x="2"} 9 1000010000 # {trace_id="t"} 1
a_created{x="2"} 999999999 1000010000
# EOF
`;
  const seen: number[] = [];
  const result = await fixture.ingest.import(
    chunksOf(text),
    { onError: "fail" },
    ({ bytes }) => seen.push(bytes),
    never,
  );
  assert.deepEqual(result, { bytes: text.length, samples: 4, series: 2, skipped: 0, problems: [] });
  assert.equal(seen.at(-1), text.length);
  assert.deepEqual(fixture.segmentSeries(), [
    "a_total{x=1} 6@1000000000500",
    "a_total{x=1} 7@1000000015000",
    "a_total{x=2} 5@1000000000000",
    "a_total{x=2} 9@1000010000000 from 999999999000",
  ]);
  assert.equal(fixture.published.length, 2, "one segment for each block of two hours");
  assert.deepEqual(await fixture.ingest.metadata("a"), [
    { metric: "a", type: "counter", help: "A counter.", unit: "" },
  ]);
  assert.deepEqual(
    new Set(await fixture.lakeFiles()),
    new Set(fixture.published.map(({ segmentId }) => segmentId)),
  );
});

test("[IN23] a bad line imports nothing and leaves nothing, or is left out when asked", async () => {
  const fixture = await start();
  const text = "a 1 1700000000000\nb 2 1700000000000\nc x 5\nd 4\ne 5 1700000000000\n";
  await assert.rejects(
    fixture.ingest.import(chunksOf(text), { onError: "fail" }, ignore, never),
    (thrown: OperatingError) => {
      assert.deepEqual(
        [thrown.code, thrown.message],
        ["bad_request", 'line 3: expected value after metric, got "x"'],
      );
      return true;
    },
  );
  assert.deepEqual([fixture.published.length, await fixture.lakeFiles()], [0, []]);
  const result = await fixture.ingest.import(chunksOf(text), { onError: "skip" }, ignore, never);
  assert.deepEqual([result.samples, result.skipped], [3, 2]);
  assert.deepEqual(result.problems, [
    'line 3: expected value after metric, got "x"',
    "line 4: a sample has no timestamp",
  ]);
  assert.equal(fixture.segmentSeries().length, 3);
});

test("[IN23] an import that is aborted, or whose stream or publication fails, shows nothing", async () => {
  let publishes = 0;
  const fixture = await start({
    publish: async () => {
      publishes += 1;
      throw new OperatingError("lease_lost", "never", "no longer the leader");
    },
  });
  const aborter = new AbortController();
  async function* endless(): AsyncGenerator<Uint8Array> {
    for (let index = 0; ; index += 1) {
      if (index === 5) aborter.abort();
      yield new TextEncoder().encode(`a ${index} ${1_700_000_000_000 + index}\n`);
    }
  }
  const aborted = fixture.ingest.import(
    endless(),
    { onError: "fail", format: "prometheus" },
    ignore,
    aborter.signal,
  );
  await assert.rejects(aborted, (thrown: OperatingError) => thrown.code === "cancelled");
  async function* broken(): AsyncGenerator<Uint8Array> {
    yield new TextEncoder().encode("a 1 1700000000000\n");
    throw new Error("the client went away");
  }
  await assert.rejects(
    fixture.ingest.import(broken(), { onError: "fail" }, ignore, never),
    /the client went away/,
  );
  assert.deepEqual([publishes, await fixture.lakeFiles()], [0, []]);
  const refused = fixture.ingest.import(
    chunksOf("a 1 1700000000000\n"),
    { onError: "fail" },
    ignore,
    never,
  );
  await assert.rejects(refused, /no longer the leader/);
  assert.equal(publishes, 1);
});

test("[IN23] samples twice: the file's first counts; labels in another order are the same series", async () => {
  const fixture = await start();
  const text =
    'a{x="1",y="2"} 1 1700000000000\na{y="2",x="1"} 2 1700000000000\na{y="2",x="1"} 3 1600000000000\n';
  const result = await fixture.ingest.import(chunksOf(text), { onError: "fail" }, ignore, never);
  assert.equal(result.series, 1);
  assert.deepEqual(fixture.segmentSeries(), [
    "a{x=1,y=2} 3@1600000000000",
    "a{x=1,y=2} 1@1700000000000",
  ]);
});

test("[IN21] a thread that dies is told, and nothing waits for it", async () => {
  const code = `
    import { parentPort } from "node:worker_threads";
    parentPort.on("message", () => process.exit(7));
    parentPort.postMessage({ kind: "ready" });
  `;
  const module = new URL(`data:text/javascript,${encodeURIComponent(code)}`);
  const ingest = new ThreadIngest(module, undefined, {
    clock: realClock,
    logger: silentLogger,
    publish: async () => undefined,
    publishedSealSeq: async () => 0,
    lease: noLease,
    importOptions: () => assert.fail("there is no import"),
    queueMax: 1,
    queueBytesMax: 1_000,
    importsMax: 1,
  });
  await ingest.ready;
  const [result, snapshot] = await Promise.allSettled([
    ingest.remoteWrite(Uint8Array.of(0), protobuf, ""),
    ingest.snapshot(),
  ]);
  assert.equal(result.status === "fulfilled" ? result.value.status : 0, 503);
  assert.equal(snapshot.status, "rejected");
  assert.match((await ingest.failure).message, /ingest broke: it ended with code 7/);
  await assert.rejects(ingest.stats(), /ingest broke/);
  await ingest.close();
});

test("[IN21] a log that cannot be opened fails the start", async () => {
  const dir = await mkdtemp(join(tmpdir(), "capstan-ingest-"));
  await writeFile(join(dir, "wal"), "not a directory");
  await assert.rejects(start({ walDir: join(dir, "wal") }), /ingest broke: .*EEXIST|ENOTDIR/);
  await rm(dir, { recursive: true });
});

test("[IN21] a damaged log fails the start with its own code and hint, not to be tried again", async () => {
  const dir = await mkdtemp(join(tmpdir(), "capstan-ingest-"));
  const { ingest } = await start({ walDir: dir });
  await ingest.append(batchOf(["damaged", nowMs, 1]));
  await ingest.append(batchOf(["damaged", nowMs + 2, 2]));
  await ingest.append(batchOf(["damaged", nowMs + 3, 3]));
  await ingest.close();
  const [name] = (await readdir(dir)).filter((each) => each.endsWith(".wal"));
  const path = join(dir, name as string);
  const bytes = await readFile(path);
  bytes.writeUInt8(bytes.readUInt8(20) ^ 1, 20);
  await writeFile(path, bytes);
  await assert.rejects(start({ walDir: dir }), (thrown: unknown) => {
    assert.ok(thrown instanceof OperatingError);
    assert.equal(thrown.code, "store_corrupt");
    assert.equal(thrown.retry, "never");
    assert.match(thrown.message, /\.wal at byte 0/);
    assert.ok(thrown.hint !== undefined);
    return true;
  });
  await rm(dir, { recursive: true });
});

test("[IN21] ingest whose log is lost closes at once", async () => {
  const dir = await mkdtemp(join(tmpdir(), "capstan-ingest-"));
  const { ingest } = await start({ walDir: dir });
  await rm(dir, { recursive: true });
  await assert.rejects(ingest.append(batchOf(["lost", nowMs, 1])), { code: "data_dir_unusable" });
  assert.equal((await ingest.failure).code, "data_dir_unusable");
  const startMs = performance.now();
  await ingest.close();
  assert.ok(performance.now() - startMs < 10_000, "nobody waits for a thread that was not told");
});
