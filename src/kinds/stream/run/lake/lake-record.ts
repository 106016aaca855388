/**
 * The record of a query's checkpoints in the control store: a row that says which one is complete.
 * The transaction that changes it commits the files of Lake sinks and pins the snapshots from which
 * Lake sources go on. Rules: SU42, SU43 and SU46.
 *
 *   Objects and manifests stay in the checkpoint directory. A manifest is written before the row
 *   names it, so one without a row counts for nothing.
 *   The directory knows its row by the text in `query-id`. A directory whose row is not in the
 *   store belongs to another one, and is refused.
 */
import { join } from "node:path";
import { sql } from "kysely";
import type { SnapshotId, TableId } from "../../../../data/lake/index.ts";
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import type { Files } from "../../../../ground/kernel/files.ts";
import { randomText } from "../../../../ground/kernel/prng.ts";
import { replaceFile } from "../../../../ground/kernel/replace-file.ts";
import type { CatalogTx } from "../../../../ground/store/index.ts";
import type { Plan } from "../../language/core/index.ts";
import { readManifest } from "../checkpoint/directory-record.ts";
import type { CheckpointRecord } from "../core/checkpoint-record.ts";
import { pinOf } from "../core/lake-position.ts";
import type { Manifest } from "../core/manifest.ts";
import { commitPrepared } from "./commit-prepared.ts";
import type { StreamLake } from "./stream-lake.ts";

export interface LakeRecordOptions {
  readonly lake: StreamLake;
  readonly plan: Plan;
  readonly directory: string;
  readonly files: Files;
  /** For the author's message of commits. */
  readonly name: string;
}

interface Row {
  readonly epoch: number;
  readonly checkpoint: number;
  readonly manifest: string | null;
}

export async function openLakeRecord(options: LakeRecordOptions): Promise<CheckpointRecord> {
  const { lake, plan, directory, files, name } = options;
  const queryId = await readId(options);
  const sources = plan.nodes.filter(({ op }) => op.kind === "source" && op.type === "Lake");
  let known = await readRow(lake, queryId, directory);

  async function moveOn(tx: CatalogTx, next: Row): Promise<boolean> {
    const { numUpdatedRows } = await tx.db
      .updateTable("stream_checkpoints")
      .set({ ...next, completed_at_ms: sql<number>`now_ms()` })
      .where("query_id", "=", queryId)
      .where("epoch", "=", known.epoch)
      .where("checkpoint", "=", known.checkpoint)
      .executeTakeFirstOrThrow();
    if (numUpdatedRows > 0n) return true;
    const found = await selectRow(tx, queryId);
    // A commit whose answer was lost, said again.
    if (found?.epoch === next.epoch && found.checkpoint === next.checkpoint) return false;
    throw new OperatingError(
      "conflict",
      "never",
      `another process has gone on from the checkpoints in ${directory}`,
    );
  }

  return {
    last: async () => {
      if (known.manifest === null) return undefined;
      const path = join(directory, known.manifest);
      const manifest = await readManifest(path, files);
      if (manifest !== undefined) return manifest;
      throw new OperatingError("data_corrupt", "never", `the checkpoint ${path} is gone`, {
        hint: "Put it back, or start without the checkpoint: what it has committed stays.",
      });
    },
    complete: async (manifest, prepared) => {
      const { epoch, checkpoint } = manifest;
      const next: Row = { epoch, checkpoint, manifest: `checkpoint-${checkpoint}-${epoch}.json` };
      const path = join(directory, next.manifest ?? "");
      await replaceFile(files, path, `${JSON.stringify(manifest)}\n`);
      await commitPrepared(lake, {
        prepared,
        token: `stream-${queryId}-${checkpoint}-${epoch}`,
        message: `checkpoint ${checkpoint} of ${name}`,
        also: async (tx) => {
          if (!(await moveOn(tx, next))) return false;
          for (const { id } of sources) {
            const pin = pinOf(positionOf(manifest, id));
            if (pin === undefined) continue;
            const cursor = `stream-${queryId}-${id}`;
            await lake.catalog.pinIn(tx, cursor, pin.table as TableId, pin.snapshot as SnapshotId);
          }
          return true;
        },
      });
      const before = known.manifest;
      known = next;
      if (before !== null) await files.removeAll(join(directory, before));
    },
  };
}

function positionOf(manifest: Manifest, node: number): string | undefined {
  for (const { positions } of manifest.fragments) {
    const position = positions[`${node}`];
    if (position !== undefined) return position;
  }
  return undefined;
}

/** The row is made before the file that names it. */
async function readId({ lake, directory, files }: LakeRecordOptions): Promise<string> {
  const path = join(directory, "query-id");
  if ((await files.stat(path)) !== undefined) return (await files.read(path)).toString().trim();
  const queryId = randomText(lake.prng, 24);
  await lake.store.transaction(async ({ db }) => {
    await db
      .insertInto("stream_checkpoints")
      .values({
        query_id: queryId,
        epoch: 0,
        checkpoint: 0,
        manifest: null,
        completed_at_ms: sql<number>`now_ms()`,
      })
      .execute();
  });
  await files.makeDirectory(directory);
  await replaceFile(files, path, `${queryId}\n`);
  return queryId;
}

async function readRow({ store }: StreamLake, queryId: string, directory: string): Promise<Row> {
  const row = await store.read((tx) => selectRow(tx, queryId));
  if (row !== undefined) return row;
  throw new OperatingError(
    "conflict",
    "never",
    `the checkpoints in ${directory} belong to another lake: its store does not know them`,
    { hint: "Name the lake that the query wrote to, or another checkpoint directory." },
  );
}

function selectRow({ db }: Pick<CatalogTx, "db">, queryId: string): Promise<Row | undefined> {
  return db
    .selectFrom("stream_checkpoints")
    .select(["epoch", "checkpoint", "manifest"])
    .where("query_id", "=", queryId)
    .executeTakeFirst();
}
