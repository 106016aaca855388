import assert from "node:assert/strict";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { openDirectoryStore } from "../../../../data/lake/index.ts";
import { silentLogger } from "../../../../ground/kernel/logger.ts";
import { bearerOf, isBearer } from "../../../../ground/kernel/node/cluster-token.ts";
import { realClock } from "../../../../ground/kernel/node/real-clock.ts";
import { realFiles } from "../../../../ground/kernel/node/real-files.ts";
import { eventually } from "../../../../ground/kernel/testing/eventually.ts";
import { MemoryBudget } from "../../../../ground/process/index.ts";
import { startArtifactServer } from "../../../../ground/work/index.ts";
import {
  defaultDialect,
  insertExchanges,
  LocalCatalog,
  type Plan,
  parseStatements,
  planQuery,
} from "../../language/core/index.ts";
import { fragmentsOf, type ManifestFragment, specOf } from "../../run/core/index.ts";
import { EdgeHub, StreamPool, serveExchange } from "../../run/index.ts";
import type { StreamCommand, StreamReport } from "../core/index.ts";
import { decodeCommand, decodeReport, encodeCommand, encodeReport } from "../wire/codec.ts";
import { resolveSecrets } from "./find-secret.ts";
import { createStateStorage } from "./state-storage.ts";
import { StreamWorker } from "./stream-worker.ts";

const home = await mkdtemp(join(tmpdir(), "capstan-fleet-"));
after(() => rm(home, { recursive: true, force: true }));
await mkdir(join(home, "objects"));
await mkdir(join(home, "staging"));
const objects = await openDirectoryStore(join(home, "objects"), realFiles);
const token = "secret";

/** A worker as the coordinator sees it: its data port, its facts, what it reports. */
class TestWorker {
  readonly facts = new Map<string, string>();
  readonly reports: StreamReport[] = [];
  readonly worker: StreamWorker;
  readonly url: string;
  readonly #close: () => Promise<void>;
  pool: StreamPool | undefined;
  #version = 0;

  private constructor(hub: EdgeHub, url: string, close: () => Promise<void>) {
    this.url = url;
    this.#close = close;
    const budget = new MemoryBudget(2 ** 30);
    this.worker = new StreamWorker({
      openHost: () => {
        this.pool = new StreamPool({
          threads: 1,
          clock: realClock,
          places: { sourceDir: home, sinkDir: home, confined: true },
          print: () => undefined,
          memory: { budget, bytesMax: budget.bytesMax },
          exchange: { hub, headers: { authorization: bearerOf(token) } },
        });
        return this.pool;
      },
      states: createStateStorage({
        ...{ objects, files: realFiles, stagingDir: join(home, "staging") },
      }),
      resolve: (specs) => resolveSecrets(specs, { env: {}, directory: undefined }),
      facts: this,
      tell: (report) => this.reports.push(decodeReport(encodeReport(report))),
      report: (_, report) => this.reports.push(decodeReport(encodeReport(report))),
      clock: realClock,
      logger: silentLogger,
    });
  }

  static async open(): Promise<TestWorker> {
    const hub = new EdgeHub();
    const isAllowed = ({ authorization }: { authorization?: string | undefined }): boolean =>
      isBearer(authorization, token);
    const server = await startArtifactServer({
      ...{ host: "127.0.0.1", port: 0, token, logger: silentLogger },
      spool: { stat: () => undefined },
      http2: (stream, headers) => {
        if (!serveExchange(stream, headers, { hub, isAllowed })) stream.close();
      },
    });
    return new TestWorker(hub, server.url, () => server.close());
  }

  get factsVersion(): number {
    return this.#version;
  }
  setFact(key: string, value: string): void {
    this.#version += 1;
    this.facts.set(key, value);
  }
  unsetFact(key: string): void {
    this.#version += 1;
    this.facts.delete(key);
  }

  async ask(command: Extract<StreamCommand, { command: number }>): Promise<Answer> {
    this.worker.obey("s", decodeCommand(encodeCommand(command)));
    return await eventually(`the answer to ${command.kind}`, () =>
      this.reports.find(
        (report): report is Answer =>
          report.kind === "answer" && report.command === command.command,
      ),
    );
  }
  states(): readonly string[] {
    return [...this.facts.values()].map((text) => (JSON.parse(text) as { state: string }).state);
  }
  async close(): Promise<void> {
    await this.pool?.close();
    await this.#close();
  }
}
type Answer = Extract<StreamReport, { kind: "answer" }>;

const workers = [await TestWorker.open(), await TestWorker.open()];
after(() => Promise.all(workers.map((worker) => worker.close())));

function planOf(text: string): Plan {
  const catalog = new LocalCatalog(defaultDialect);
  for (const statement of parseStatements(text)) {
    if (!catalog.apply(statement) && statement.kind === "query") {
      return planQuery(statement.query, catalog, defaultDialect);
    }
  }
  throw new Error("there is no query");
}

let commands = 0;
const next = (query: string, epoch: number) => {
  commands += 1;
  return { query, epoch, command: commands };
};

/** Registers the fragments of each lane with the worker of that number. */
async function register(
  query: string,
  plan: Plan,
  epoch: number,
  restore?: readonly ManifestFragment[],
): Promise<readonly Answer[]> {
  const cut = fragmentsOf(insertExchanges(plan), workers.length);
  return await Promise.all(
    workers.map((worker, here) => {
      const own = cut.fragments.filter(({ lane }) => lane === here);
      const fragments = own.map((fragment) =>
        specOf(cut, fragment, {
          restored: undefined,
          keepsState: true,
          addressOf: ({ lane }) => (lane === here ? undefined : workers[lane]?.url),
        }),
      );
      const mine = restore?.filter(({ fragment }) => own.some(({ name }) => name === fragment));
      return worker.ask({ kind: "register", ...next(query, epoch), fragments, restore: mine });
    }),
  );
}
const askAll = (kind: "start" | "unregister", query: string, epoch: number) =>
  Promise.all(workers.map((worker) => worker.ask({ kind, ...next(query, epoch) })));

/** Triggers a checkpoint, and waits for what every fragment says. */
async function checkpoint(
  query: string,
  epoch: number,
  number: number,
  count: number,
): Promise<readonly ManifestFragment[]> {
  const command = { query, epoch, checkpoint: number } as const;
  for (const { worker } of workers) {
    worker.obey("s", { kind: "triggerCheckpoint", ...command, completed: 0 });
  }
  const states = await eventually("every fragment's state", () => {
    const all = workers.flatMap(({ reports }) =>
      reports.flatMap((report) =>
        report.kind === "checkpointed" && report.epoch === epoch && report.checkpoint === number
          ? report.state
          : [],
      ),
    );
    return all.length === count ? all : undefined;
  });
  for (const { worker } of workers) worker.obey("s", { kind: "checkpointComplete", ...command });
  return states;
}

const byText = (one: string, other: string): number => (one < other ? -1 : 1);
const rowCount = 20_000;
const keyCount = 50;
for (const name of ["one", "two"]) {
  const lines = Array.from({ length: rowCount }, (_, at) => `${at % keyCount},${at}`);
  await writeFile(join(home, `${name}.csv`), `${lines.join("\n")}\n`);
}
const counted = (sink: string): string => `
  CREATE LOGICAL SOURCE bids(auction INT64 NOT NULL, ts INT64 NOT NULL);
  CREATE PHYSICAL SOURCE FOR bids TYPE File SET('one.csv' AS "SOURCE".FILE_PATH, 'CSV' AS "PARSER".TYPE);
  CREATE PHYSICAL SOURCE FOR bids TYPE File SET('two.csv' AS "SOURCE".FILE_PATH, 'CSV' AS "PARSER".TYPE);
  SELECT start, auction, COUNT(*) AS n FROM bids GROUP BY auction WINDOW TUMBLING(ts, SIZE 1 SEC)
    INTO File('${sink}' AS "SINK".FILE_PATH, 'CSV' AS "SINK".OUTPUT_FORMAT);`;
const wanted = Array.from({ length: rowCount / 1_000 }, (_, second) =>
  Array.from({ length: keyCount }, (_key, key) => `${second * 1_000},${key},${2_000 / keyCount}`),
)
  .flat()
  .toSorted(byText);

async function resultsIn(sink: string): Promise<readonly string[]> {
  const lines = (await readFile(join(home, sink), "utf8")).trim().split("\n");
  return lines.filter((line) => /^\d/.test(line)).toSorted(byText);
}

test("[SD1, SD3, SD7] a query with keys over two workers, from register to unregister, and from its last state", async () => {
  const plan = planOf(counted("counts.csv"));
  const count = fragmentsOf(insertExchanges(plan), 2).fragments.length;
  assert.equal(workers[0]?.pool, undefined); // Without streams there are no threads.
  for (const { error, fragments, factsVersion } of await register("q1", plan, 1)) {
    assert.equal(error, undefined);
    assert.ok(fragments.length > 0 && fragments.every(({ state }) => state === "REGISTERED"));
    assert.equal(factsVersion, fragments.length);
  }
  for (const { error } of await askAll("start", "q1", 1)) assert.equal(error, undefined);
  await Promise.all(workers.map(({ worker }) => worker.whenIdle()));
  for (const worker of workers) {
    assert.ok(
      worker.states().every((state) => state === "TERMINATED"),
      `${worker.states()}`,
    );
  }
  const states = await checkpoint("q1", 1, 1, count);
  assert.deepEqual(await resultsIn("counts.csv"), wanted);

  // Epoch 2 goes on from there: its sources have nothing left, and nothing is written twice.
  for (const { error } of await register("q1", plan, 2, states)) assert.equal(error, undefined);
  await askAll("start", "q1", 2);
  await Promise.all(workers.map(({ worker }) => worker.whenIdle()));
  assert.deepEqual(await resultsIn("counts.csv"), wanted);
  const late = await workers[0]?.ask({ kind: "start", ...next("q1", 1) });
  assert.equal(late?.error?.code, "stale_epoch");
  for (const { fragments } of await askAll("unregister", "q1", 2)) assert.deepEqual(fragments, []);
  assert.deepEqual(
    workers.map(({ facts }) => facts.size),
    [0, 0],
  );
});

test("[SD1, SD3] what cannot be opened is refused, and leaves nothing", async () => {
  const plan = planOf(counted("../outside.csv"));
  const answers = await register("q2", plan, 1);
  const codes = answers.map(({ error }) => error?.number);
  assert.ok(codes.includes(1000), `${codes}`);
  assert.ok(answers.some(({ error }) => error?.retry === "never"));
  await askAll("unregister", "q2", 1);
  assert.deepEqual(
    workers.map(({ facts }) => facts.size),
    [0, 0],
  );
});

test("[SD46] a secret that is not there is refused by its name, and leaves nothing", async () => {
  const plan = planOf(`
    CREATE LOGICAL SOURCE h(a INT64 NOT NULL);
    CREATE PHYSICAL SOURCE FOR h TYPE Http SET(SECRET('door') AS "SOURCE".TOKEN, 'CSV' AS "PARSER".TYPE);
    SELECT a FROM h INTO Void();`);
  const answers = await register("q3", plan, 1);
  const refused = answers.find(({ error }) => error !== undefined)?.error;
  assert.match(refused?.message ?? "", /there is no secret door .*CAPSTAN_SECRET_DOOR/);
  assert.equal(refused?.retry, "never");
  await askAll("unregister", "q3", 1);
});

test("[SD5] fragments are deployed, started, run and stopped on the stream threads", async () => {
  const plans = Array.from({ length: 15 }, (_, at) => planOf(counted(`busy-${at}.csv`)));
  const forEach = (what: (query: string, plan: Plan) => Promise<unknown>) =>
    Promise.all(plans.map((plan, at) => what(`busy${at}`, plan)));
  await register("first", plans[0] as Plan, 1); // The threads are there from now on.
  await askAll("unregister", "first", 1);
  const steps = {
    deploy: () => forEach((query, plan) => register(query, plan, 1)),
    start: () => forEach((query) => askAll("start", query, 1)),
    run: () => Promise.all(workers.map(({ worker }) => worker.whenIdle())),
    stop: () => forEach((query) => askAll("unregister", query, 1)),
  };
  const shares: Record<string, string> = {};
  let [own, all] = [0, 0];
  for (const [step, perform] of Object.entries(steps)) {
    const [session, whole] = [process.threadCpuUsage(), process.cpuUsage()];
    await perform();
    const ownUs = sumOf(process.threadCpuUsage(session));
    const allUs = sumOf(process.cpuUsage(whole));
    shares[step] = `${ownUs} of ${allUs} us`;
    own += ownUs;
    all += allUs;
  }
  // This thread also plays the coordinator: it cuts the plans, encodes commands and decodes them.
  assert.ok(own < all / 2, `CPU time of the session's thread: ${JSON.stringify(shares)}`);
});

function sumOf({ user, system }: NodeJS.CpuUsage): number {
  return user + system;
}
