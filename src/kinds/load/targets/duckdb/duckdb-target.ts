/**
 * DuckDB under test: a file, and in this process one instance of it, whose connections run side by
 * side. Another process cannot open the file meanwhile, so a run on it has one worker. Each
 * statement that runs holds one of libuv's threads: with more connections than UV_THREADPOOL_SIZE
 * (4 unless given) the others wait for one, and their wait counts. Rules: DK5.
 */
import { DuckDBInstance } from "@duckdb/node-api";
import type { Clock } from "../../../../ground/kernel/clock.ts";
import { messageOf, OperatingError } from "../../../../ground/kernel/errors.ts";
import type { Target } from "../../core/target.ts";
import { duckdbMemoryLimit } from "../../core/target-memory.ts";
import { parseFileUrl } from "../parse-file-url.ts";
import type { DriverSession } from "../session/driver-session.ts";
import { SessionTarget, type TargetKind } from "../session/session-target.ts";
import type { TargetFiles } from "../target-files.ts";
import { DuckdbSession } from "./duckdb-session.ts";

const settings = { threads: /^[1-9]\d{0,2}$/, memory_limit: /^\d{1,6}(MB|GB)$/ };

/** DK5. Exported for its test alone. */
export const closedIn = {
  enable_external_access: "false",
  autoinstall_known_extensions: "false",
  autoload_known_extensions: "false",
  allow_community_extensions: "false",
  lock_configuration: "true",
};

/** `processBytes` is the memory limit of its process; undefined means no limit. */
export function createDuckdbTarget(
  url: string,
  clock: Clock,
  files: TargetFiles,
  processBytes?: number,
): Target {
  return new SessionTarget(duckdbKind(url, clock, files, processBytes), clock);
}

/**
 * Throws `bad_request` for an invalid URL, or one that asks for too much memory. Opens nothing yet.
 */
export function duckdbKind(
  url: string,
  clock: Clock,
  files: TargetFiles,
  processBytes: number | undefined,
): TargetKind<DuckdbPlan> {
  const { path, settings: given } = parseFileUrl("duckdb", url, settings);
  const memoryLimit = duckdbMemoryLimit(given.get("memory_limit"), processBytes);
  const place = `duckdb://${path}`;
  let instance: Promise<DuckDBInstance> | undefined;
  return {
    kind: "duckdb",
    capabilities: { depthMax: 1, pollsServer: false, enrichment: "none", transactions: true },
    place,
    connectMsMax: 30_000, // A long log of changes is replayed first.
    open: async (): Promise<DriverSession<DuckdbPlan>> => {
      const real = files.resolve(path);
      instance ??= DuckDBInstance.fromCache(real, {
        ...Object.fromEntries(given),
        ...(memoryLimit === undefined ? {} : { memory_limit: memoryLimit }),
        ...closedIn,
      });
      try {
        const opened = await instance;
        if (files.resolve(path) !== real) throw moved(place);
        return new DuckdbSession(await opened.connect(), clock);
      } catch (thrown) {
        instance = undefined;
        throw unopened(place, thrown);
      }
    },
    close: async () => {
      // An instance that failed to open needs no closing.
      await instance?.then((opened) => opened.closeSync()).catch(() => undefined);
    },
  };
}

type DuckdbPlan = Awaited<ReturnType<DuckdbSession["prepare"]>>;

function moved(place: string): OperatingError {
  return new OperatingError("forbidden", "never", `${place} changed while it was opened`);
}

function unopened(place: string, thrown: unknown): OperatingError {
  if (thrown instanceof OperatingError) return thrown;
  const message = messageOf(thrown).split("\n", 1)[0] ?? "";
  const options = /lock/i.test(message)
    ? { hint: "Only one process at a time can have the file: a run on DuckDB has one worker." }
    : {};
  return new OperatingError("target_refused", "never", `${place}: ${message}`, options);
}
