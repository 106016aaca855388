/**
 * The database of a load test in a process of its own: sessions of its kind, for whoever started
 * the process.
 */
import "../../core/error-codes.ts";
import { assert, messageOf, OperatingError } from "../../../../ground/kernel/errors.ts";
import { realClock } from "../../../../ground/kernel/node/real-clock.ts";
import { type Served, servePeer } from "../../../../ground/threads/index.ts";
import type { OperationFailure } from "../../core/target.ts";
import { duckdbKind } from "../duckdb/duckdb-target.ts";
import type { DriverSession, Row } from "../session/driver-session.ts";
import type { TargetKind } from "../session/session-target.ts";
import { sqliteKind } from "../sqlite/sqlite-target.ts";
import { createTargetFiles } from "../target-files.ts";
import type { TargetOpen, TargetService } from "./messages.ts";

interface OpenSession<Plan> {
  readonly session: DriverSession<Plan>;
  readonly plans: Plan[];
  readonly over: PromiseWithResolvers<OperationFailure | undefined>;
}

/** Rows of `run` that travel to the asker, who has them in memory: by their JSON text. */
const rowsLengthMax = 8 * 1024 ** 2;

servePeer<TargetService, TargetOpen>(
  ({ kind, url, files, processBytes }) => {
    const allowed = createTargetFiles(files);
    return kind === "duckdb"
      ? serveSessions(duckdbKind(url, realClock, allowed, processBytes))
      : serveSessions(sqliteKind(url, realClock, allowed, processBytes));
  },
  { translate: (thrown) => new OperatingError("query_failed", "never", messageOf(thrown)) },
);

function serveSessions<Plan>(kind: TargetKind<Plan>): Served<TargetService> {
  const sessions = new Map<number, OpenSession<Plan>>();
  let idNext = 1;
  const find = (id: number): OpenSession<Plan> => {
    const found = sessions.get(id);
    if (found === undefined) throw new OperatingError("cancelled", "never", "it was closed");
    return found;
  };
  const close = async (id: number): Promise<void> => {
    const found = sessions.get(id);
    sessions.delete(id);
    found?.over.resolve(undefined);
    await found?.session.close();
  };
  return {
    requests: {
      open: async () => {
        const session = await kind.open();
        const id = idNext;
        idNext += 1;
        const over = Promise.withResolvers<OperationFailure | undefined>();
        session.onLost((failure) => over.resolve(failure));
        sessions.set(id, { session, plans: [], over });
        return id;
      },
      prepare: async ({ session: id, operation }) => {
        const { session, plans } = find(id);
        return plans.push(await session.prepare(operation)) - 1;
      },
      start: async ({ session: id, plan: planId, values }) => {
        const { session, plans, over } = find(id);
        const plan = plans[planId];
        assert(plan !== undefined, "a plan that was prepared");
        return await new Promise((resolve) => {
          session.start(plan, values, (failure, rowCount) => resolve({ failure, rowCount }));
          void over.promise.then(() => resolve(undefined));
        });
      },
      run: async ({ session, sql, values }) =>
        checkedRows(await find(session).session.run(sql, values)),
      untilLost: (session) => find(session).over.promise,
      close,
    },
    notes: {},
    stopping: async () => {
      await Promise.all(Array.from(sessions.keys(), close));
      await kind.close?.();
    },
  };
}

/** Nobody reads the rows of a data statement; a few are told, for checks. */
function checkedRows(rows: readonly Row[]): readonly Row[] {
  let length = 0;
  for (const row of rows) {
    length += JSON.stringify(row).length;
    if (length <= rowsLengthMax) continue;
    const message = `the statement gives more than ${rowsLengthMax / 1024 ** 2} MiB of rows`;
    throw new OperatingError("query_too_large", "never", message);
  }
  return rows;
}
