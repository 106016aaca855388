/**
 * SQLite under test: a file, and a thread for each connection, since SQLite computes in the thread
 * that asks and a load's schedule must not wait for it. A statement that computes long without
 * giving rows cannot be stopped: its thread ends after it.
 */
import "../../core/error-codes.ts";
import type { Clock } from "../../../../ground/kernel/clock.ts";
import { messageOf, OperatingError } from "../../../../ground/kernel/errors.ts";
import type { Target } from "../../core/target.ts";
import { sqliteValueBytes } from "../../core/target-memory.ts";
import { parseFileUrl } from "../parse-file-url.ts";
import { SessionTarget, type TargetKind } from "../session/session-target.ts";
import type { TargetFiles } from "../target-files.ts";
import { SqliteSession } from "./sqlite-session.ts";

const settings = { busy_timeout: /^\d{1,7}$/, synchronous: /^(off|normal|full|extra)$/i };
const busyMsDefault = "5000";

export function createSqliteTarget(
  url: string,
  clock: Clock,
  files: TargetFiles,
  processBytes?: number,
): Target {
  return new SessionTarget(sqliteKind(url, clock, files, processBytes), clock);
}

/** Throws `bad_request` for an invalid URL. Opens nothing yet. */
export function sqliteKind(
  url: string,
  clock: Clock,
  files: TargetFiles,
  processBytes: number | undefined,
): TargetKind<number> {
  const { path, settings: given } = parseFileUrl("sqlite", url, settings);
  const place = `sqlite://${path}`;
  const options = {
    busyMsMax: Number(given.get("busy_timeout") ?? busyMsDefault),
    synchronous: given.get("synchronous") ?? "normal",
    valueBytesMax: sqliteValueBytes(processBytes),
  };
  return {
    kind: "sqlite",
    capabilities: { depthMax: 64, pollsServer: false, enrichment: "none", transactions: true },
    place,
    connectMsMax: 30_000,
    open: async () => {
      const real = files.resolve(path);
      const session = new SqliteSession({ ...options, path: real }, clock);
      try {
        await session.opened.catch((error: unknown) => {
          throw new OperatingError("target_refused", "never", `${place}: ${messageOf(error)}`);
        });
        // Throws, too, where the file's directory has gone meanwhile.
        if (files.resolve(path) === real) return session;
        throw new OperatingError("forbidden", "never", `${place} changed while it was opened`);
      } catch (error) {
        await session.close();
        throw error;
      }
    },
  };
}
