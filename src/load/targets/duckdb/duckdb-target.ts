/**
 * DuckDB under test: a file, and in this process one instance of it, whose connections run side by side. Another process cannot
 * open the file meanwhile, so a run on it has one worker. Each statement that runs holds one of libuv's threads: with more
 * connections than UV_THREADPOOL_SIZE (4 unless given) the others wait for one, and their wait counts.
 */
import { DuckDBInstance } from "@duckdb/node-api";
import type { Clock } from "../../../kernel/clock.ts";
import { messageOf, OperatingError } from "../../../kernel/errors.ts";
import type { Target } from "../../core/target.ts";
import { parseFileUrl } from "../parse-file-url.ts";
import type { DriverSession } from "../session/driver-session.ts";
import { SessionTarget } from "../session/session-target.ts";
import { DuckdbSession } from "./duckdb-session.ts";

const settings = { threads: /^[1-9]\d{0,2}$/, memory_limit: /^\d{1,6}(MB|GB)$/ };

/** Throws `bad_request` for a URL that is none. Nothing is opened yet. */
export function createDuckdbTarget(url: string, clock: Clock): Target {
  const { path, settings: given } = parseFileUrl("duckdb", url, settings);
  const place = `duckdb://${path}`;
  let instance: Promise<DuckDBInstance> | undefined;
  return new SessionTarget(
    {
      kind: "duckdb",
      capabilities: { depthMax: 1, pollsServer: false, enrichment: "none", transactions: true },
      place,
      connectMsMax: 30_000, // A long log of changes is replayed first.
      open: async (): Promise<DriverSession<Plan>> => {
        instance ??= DuckDBInstance.fromCache(path, Object.fromEntries(given));
        try {
          return new DuckdbSession(await (await instance).connect(), clock);
        } catch (thrown) {
          instance = undefined;
          throw unopened(place, thrown);
        }
      },
      close: async () => {
        // One that could not be opened has nothing to close.
        await instance?.then((opened) => opened.closeSync()).catch(() => undefined);
      },
    },
    clock,
  );
}

type Plan = Awaited<ReturnType<DuckdbSession["prepare"]>>;

function unopened(place: string, thrown: unknown): OperatingError {
  const message = messageOf(thrown).split("\n", 1)[0] ?? "";
  const options = /lock/i.test(message)
    ? { hint: "Only one process at a time can have the file: a run on DuckDB has one worker." }
    : {};
  return new OperatingError("target_refused", "never", `${place}: ${message}`, options);
}
