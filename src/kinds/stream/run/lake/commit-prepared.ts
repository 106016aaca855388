/**
 * Commits what Lake sinks prepared, in a transaction with whatever else belongs to it. A commit
 * that loses a race against a change of a table's columns is tried again if its files still fit;
 * files of one that failed are deleted, unless somebody else may commit them. Rules: SU42 to SU44.
 */
import type { Commit, SnapshotId } from "../../../../data/lake/index.ts";
import { backoffMs } from "../../../../ground/kernel/backoff.ts";
import { sleep } from "../../../../ground/kernel/clock.ts";
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import type { CatalogTx } from "../../../../ground/store/index.ts";
import type { Prepared } from "../core/checkpoint-record.ts";
import {
  changesOf,
  checkAge,
  type PreparedFiles,
  parsePrepared,
  refit,
} from "../core/prepared-files.ts";
import type { StreamLake } from "./stream-lake.ts";

export interface CommitPrepared {
  readonly prepared: Prepared;
  /** Unique for ever. */
  readonly token: string;
  readonly message: string;
  /** Runs in the same transaction, before the commit; `false`: it was done before. */
  readonly also?: (tx: CatalogTx) => Promise<boolean>;
  /** Whether somebody else may commit the same files when this commit fails. */
  readonly mayBeCommittedElsewhere?: boolean;
  /** Runs the transaction; by default the store does, under no lease. */
  readonly transaction?: (body: (tx: CatalogTx) => Promise<void>) => Promise<void>;
}

const pause = { minMs: 50, maxMs: 5_000 };
/** About a minute. */
const triesMax = 15;

/** What it needs of the lake. */
type CommittingLake = Pick<StreamLake, "catalog" | "clock" | "objects" | "prng" | "store">;

export async function commitPrepared(
  lake: CommittingLake,
  { prepared, token, message, also, mayBeCommittedElsewhere, transaction }: CommitPrepared,
): Promise<void> {
  const run = transaction ?? ((body) => lake.store.catalogTransaction(body));
  let files: readonly PreparedFiles[] = [...prepared.values()].map(parsePrepared);
  let readSnapshot = Math.min(...files.map((each) => each.readSnapshot)) as SnapshotId;
  let isUnknown = mayBeCommittedElsewhere === true;
  for (let failures = 1; ; failures += 1) {
    try {
      for (const each of files) checkAge(each, lake.clock.wallMs());
      const changes = changesOf(files);
      const commit: Commit = { readSnapshot, token, changes, author: "stream", message };
      await run(async (tx) => {
        if (also !== undefined && !(await also(tx))) return;
        if (files.length > 0) await lake.catalog.commitIn(tx, commit);
      });
      return;
    } catch (thrown) {
      const error = thrown instanceof OperatingError ? thrown : undefined;
      isUnknown ||= error?.code === "commit_unknown";
      const mayTry = error?.retry === "backoff" || error?.code === "commit_unknown";
      if (!mayTry || failures >= triesMax) {
        if (!isUnknown) await discard(lake, files);
        throw thrown;
      }
      await sleep(lake.clock, backoffMs(pause, failures, lake.prng.next()));
      if (error.code === "conflict") [readSnapshot, files] = await fitted(lake, files, isUnknown);
    }
  }
}

/** The newest snapshot, and the files as they fit the tables there. */
async function fitted(
  lake: CommittingLake,
  files: readonly PreparedFiles[],
  isUnknown: boolean,
): Promise<readonly [SnapshotId, readonly PreparedFiles[]]> {
  const { snapshot } = await lake.catalog.current();
  try {
    const all: PreparedFiles[] = [];
    for (const each of files) {
      const { table } = await lake.catalog.version(each.tableId, snapshot);
      all.push(refit(each, table));
    }
    return [snapshot, all];
  } catch (thrown) {
    if (!isUnknown) await discard(lake, files);
    throw thrown;
  }
}

/** What cannot be deleted now is nobody's, and swept by the lake's upkeep. */
async function discard(
  { objects }: Pick<StreamLake, "objects">,
  files: readonly PreparedFiles[],
): Promise<void> {
  const paths = files.flatMap((each) => each.files.map(({ path }) => path));
  if (paths.length > 0) await objects.delete(paths).catch(() => undefined);
}
