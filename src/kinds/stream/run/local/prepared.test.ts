import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { realClock } from "../../../../ground/kernel/node/real-clock.ts";
import { realFiles } from "../../../../ground/kernel/node/real-files.ts";
import { selectedCount } from "../../engine/core/index.ts";
import { defaultDialect } from "../../language/core/index.ts";
import type { CheckpointRecord, Prepared } from "../core/checkpoint-record.ts";
import type { SinkWriter } from "../core/connector.ts";
import type { Connectors } from "../core/connectors.ts";
import type { Manifest } from "../core/manifest.ts";
import { createLocalConnectors } from "./local-connectors.ts";
import { LocalQuery } from "./local-query.ts";
import { planFile } from "./plan-file.ts";

const root = await mkdtemp(join(tmpdir(), "capstan-prepared-"));
after(() => rm(root, { recursive: true, force: true }));

const rowCount = 40_000;
const text = `
  CREATE LOGICAL SOURCE s(v UINT64 NOT NULL);
  CREATE PHYSICAL SOURCE FOR s TYPE Generator
    SET('SEQUENCE UINT64 0 ${rowCount} 1' AS "SOURCE".GENERATOR_SCHEMA, 100000 AS "SOURCE".ROWS_PER_SECOND);
  SELECT v FROM s INTO Void() SET('20 MS' AS "QUERY".CHECKPOINT_INTERVAL);`;

/** A sink that prepares how many rows it got, each time faster than before. */
function countingSink(): SinkWriter {
  let rows = 0;
  let pauseMs = 40;
  const ready = Promise.resolve();
  return {
    write: (batch) => {
      rows += selectedCount(batch);
      return undefined;
    },
    position: () => undefined,
    flush: () => assert.fail("a sink that prepares is not flushed"),
    prepare: () => {
      const prepared = rows === 0 ? undefined : `${rows}`;
      rows = 0;
      pauseMs = Math.max(0, pauseMs - 15);
      return new Promise((resolve) => setTimeout(() => resolve(prepared), pauseMs));
    },
    end: () => ready,
    close: () => ready,
  };
}

const connectors: Connectors = {
  ...createLocalConnectors({ sourceDir: root, sinkDir: root, print: () => undefined }),
  openSink: () => Promise.resolve(countingSink()),
};

function sumOf(prepared: Prepared): number {
  return [...prepared.values()].reduce((sum, rows) => sum + Number(rows), 0);
}

function open(parts: { readonly record?: CheckpointRecord; commit?: (p: Prepared) => void }) {
  const [planned] = planFile(text, defaultDialect);
  assert.ok(planned);
  const { record, commit } = parts;
  return new LocalQuery({
    plan: planned.plan,
    connectors,
    clock: realClock,
    checkpoints:
      record === undefined
        ? undefined
        : { directory: join(root, "state"), files: realFiles, record },
    ...(commit === undefined ? {} : { commit: async (prepared) => commit(prepared) }),
  });
}

test("[SU40] what sinks prepared is committed with its checkpoint, or neither is", async () => {
  let last: Manifest | undefined;
  let committed = 0;
  let failAt = 2;
  const record: CheckpointRecord = {
    last: () => Promise.resolve(last),
    complete: (manifest, prepared) => {
      if (manifest.checkpoint === failAt) return Promise.reject(new Error("the store is away"));
      last = manifest;
      committed += sumOf(prepared);
      return Promise.resolve();
    },
  };
  const failing = open({ record });
  await failing.open();
  await assert.rejects(failing.run(), /the store is away/);
  assert.ok(committed > 0 && committed < rowCount, `${committed} rows after one checkpoint`);
  failAt = -1;
  const again = open({ record });
  await again.open();
  await again.run();
  assert.equal(committed, rowCount);
});

test("[SU41] without checkpoints it is committed as often, and when the query ends", async () => {
  const commits: number[] = [];
  const query = open({ commit: (prepared) => commits.push(sumOf(prepared)) });
  await query.open();
  await query.run();
  assert.equal(
    commits.reduce((sum, rows) => sum + rows, 0),
    rowCount,
  );
  assert.ok(commits.length > 1, `${commits.length} commits`);
});

test("[SU2, SU40] a checkpoint that begins while the end is being written does not hold the end alone", async () => {
  const [planned] = planFile(
    text.replace(', 100000 AS "SOURCE".ROWS_PER_SECOND', ""),
    defaultDialect,
  );
  assert.ok(planned);
  let rows = 0;
  let count = 0;
  const sink: SinkWriter = {
    ...countingSink(),
    write: (batch) => {
      rows += selectedCount(batch);
      return undefined;
    },
    prepare: () => {
      const prepared = rows === 0 ? undefined : `${rows}`;
      rows = 0;
      count += 1;
      const pauseMs = count === 1 ? 300 : 0;
      return new Promise((resolve) => setTimeout(() => resolve(prepared), pauseMs));
    },
  };
  let committed = 0;
  const query = new LocalQuery({
    plan: planned.plan,
    connectors: { ...connectors, openSink: () => Promise.resolve(sink) },
    clock: realClock,
    checkpoints: {
      directory: join(root, "ends"),
      files: realFiles,
      record: {
        last: async () => undefined,
        complete: async ({ fragments }, prepared) => {
          committed += sumOf(prepared);
          assert.equal(
            Number(fragments[0]?.positions["0"]),
            committed,
            "what was read is committed",
          );
        },
      },
    },
  });
  await query.open();
  await query.run();
  await query.close();
  assert.equal(committed, rowCount);
});
