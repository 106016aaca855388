import assert from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "../../../../ground/kernel/testing/virtual-clock.ts";
import {
  DialectError,
  defaultDialect,
  LocalCatalog,
  type Plan,
  parseStatements,
  planQuery,
} from "../../language/core/index.ts";
import { cutFragments, specOf, wholeFragment } from "../core/plan-fragments.ts";
import { EdgeHub } from "../exchange/edge-hub.ts";
import { createLocalConnectors } from "../local/local-connectors.ts";
import { HereHost } from "./here-host.ts";
import { unlimitedMemory } from "./stream-memory.ts";

function planOf(text: string): Plan {
  const catalog = new LocalCatalog(defaultDialect);
  for (const statement of parseStatements(text)) {
    if (!catalog.apply(statement) && statement.kind === "query") {
      return planQuery(statement.query, catalog, defaultDialect);
    }
  }
  throw new Error("there is no query");
}

/** A row a second, by its key to fragments of other processes. */
const keyed = `
  CREATE LOGICAL SOURCE s (k UINT64 NOT NULL, ts UINT64 NOT NULL);
  CREATE PHYSICAL SOURCE FOR s TYPE Generator SET('SEQUENCE UINT64 0 100 1, SEQUENCE UINT64 0 100 1'
    AS "SOURCE".GENERATOR_SCHEMA, 1 AS "SOURCE".ROWS_PER_SECOND);
  SELECT k, ts, LAG(k) OVER (PARTITION BY k ORDER BY ts) AS before FROM s INTO Void() SET(2 AS "QUERY".PARALLELISM);`;

test("[SU24] a checkpoint that meets a broken edge fails its own fragment, and nobody else", async () => {
  const clock = new VirtualClock();
  const host = new HereHost({
    connectors: createLocalConnectors({ sourceDir: ".", sinkDir: ".", print: () => undefined }),
    clock,
    hub: new EdgeHub(),
    sendTo: () => ({
      send: () => {
        throw new DialectError(4001, "the exchange was lost");
      },
      flush: () => Promise.resolve(),
      heldBytes: 0,
      backlogBytes: 0,
      close: () => undefined,
    }),
    memory: unlimitedMemory(),
  });
  const cut = cutFragments(planOf(keyed), 2);
  const [source] = cut.fragments.filter(({ stage }) =>
    stage.nodes.some(({ op }) => op.kind === "source"),
  );
  assert.ok(source !== undefined);
  const spec = specOf(cut, source, {
    restored: undefined,
    keepsState: true,
    addressOf: () => "http://far",
  });
  const run = { query: "q", epoch: 1 };
  const failed = Promise.withResolvers<readonly [string, unknown]>();
  await host.deploy(run, [spec], {
    acknowledged: () => assert.fail("it has no state of this checkpoint"),
    ended: () => assert.fail("it has not ended"),
    failed: (fragment, error) => failed.resolve([fragment, error]),
  });
  host.start(run);
  host.trigger(run, 1);
  const [fragment, error] = await failed.promise;
  assert.equal(fragment, source.name);
  assert.equal((error as DialectError).number, 4001);
  await host.stop(run);
});

test("[SU1] a fragment whose sink could not prepare a checkpoint has failed, also when it ends meanwhile", async () => {
  const clock = new VirtualClock();
  const put = Promise.withResolvers<string | undefined>();
  const prepared = [put.promise];
  const local = createLocalConnectors({ sourceDir: ".", sinkDir: ".", print: () => undefined });
  const host = new HereHost({
    connectors: {
      openSource: (source) => local.openSource(source),
      openSink: async () => ({
        write: () => undefined,
        position: () => undefined,
        flush: () => Promise.resolve(),
        prepare: () => prepared.shift() ?? Promise.resolve(undefined),
        end: () => Promise.resolve(),
        close: () => Promise.resolve(),
      }),
    },
    clock,
    hub: new EdgeHub(),
    sendTo: () => assert.fail("it is one fragment"),
    memory: unlimitedMemory(),
  });
  const cut = wholeFragment(planOf(keyed.replace(/SET\(2 AS "QUERY".PARALLELISM\)/, "")));
  const [whole] = cut.fragments;
  assert.ok(whole !== undefined);
  const options = { restored: undefined, keepsState: true, addressOf: () => undefined };
  const run = { query: "q", epoch: 1 };
  const outcome = Promise.withResolvers<unknown>();
  await host.deploy(run, [specOf(cut, whole, options)], {
    acknowledged: () => assert.fail("its rows are lost"),
    ended: () => outcome.resolve("ended"),
    failed: (_, error) => outcome.resolve(error),
  });
  host.start(run);
  host.trigger(run, 1);
  host.drain(run, false);
  await clock.advance(10);
  put.reject(new Error("the object store is away"));
  assert.match(String(await outcome.promise), /the object store is away/);
  await host.stop(run);
});
