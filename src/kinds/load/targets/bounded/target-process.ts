/** The database of a load test in a process of its own: sessions of its kind, for whoever started the process. */
import { assert, OperatingError } from "../../../../ground/kernel/errors.ts";
import { type Hosted, hostProcess } from "../../../../ground/kernel/node/host-process.ts";
import { realClock } from "../../../../ground/kernel/node/real-clock.ts";
import type { OperationFailure } from "../../core/target.ts";
import { duckdbKind } from "../duckdb/duckdb-target.ts";
import type { DriverSession, Row } from "../session/driver-session.ts";
import type { TargetKind } from "../session/session-target.ts";
import { sqliteKind } from "../sqlite/sqlite-target.ts";
import { createTargetFiles } from "../target-files.ts";
import type { TargetAnswer, TargetOpen, TargetRequest } from "./messages.ts";

interface OpenSession<Plan> {
  readonly session: DriverSession<Plan>;
  readonly plans: Plan[];
  readonly over: PromiseWithResolvers<OperationFailure | undefined>;
}

/** Rows of `run` that travel to the asker, who has them in memory: by their JSON text. */
const rowsLengthMax = 8 * 1024 ** 2;

class HostedTarget<Plan> implements Hosted<TargetRequest, TargetAnswer> {
  readonly #kind: TargetKind<Plan>;
  readonly #sessions = new Map<number, OpenSession<Plan>>();
  #idNext = 1;

  constructor(kind: TargetKind<Plan>) {
    this.#kind = kind;
  }

  async perform(
    request: TargetRequest,
    _signal: AbortSignal,
    began: () => void,
  ): Promise<TargetAnswer> {
    began();
    if (request.kind === "open") return await this.#open();
    const found = this.#sessions.get(request.session);
    if (found === undefined) throw new OperatingError("cancelled", "never", "it was closed");
    const { session, plans, over } = found;
    switch (request.kind) {
      case "prepare":
        return { id: plans.push(await session.prepare(request.operation)) - 1 };
      case "start": {
        const plan = plans[request.plan];
        assert(plan !== undefined, "a plan that was prepared");
        const started = Promise.withResolvers<TargetAnswer>();
        session.start(plan, request.values, (failure, rowCount) =>
          started.resolve({ failure, rowCount }),
        );
        return await Promise.race([started.promise, over.promise.then(() => ({}))]);
      }
      case "run":
        return { rows: checkedRows(await session.run(request.sql, request.values)) };
      case "untilLost":
        return { failure: await over.promise };
      case "close":
        await this.#close(request.session);
        return {};
    }
  }

  async endSessions(): Promise<void> {
    await Promise.all(Array.from(this.#sessions.keys(), (id) => this.#close(id)));
    await this.#kind.close?.();
  }

  close(): void {}

  async #open(): Promise<TargetAnswer> {
    const session = await this.#kind.open();
    const id = this.#idNext;
    this.#idNext += 1;
    const over = Promise.withResolvers<OperationFailure | undefined>();
    session.onLost((failure) => over.resolve(failure));
    this.#sessions.set(id, { session, plans: [], over });
    return { id };
  }

  async #close(id: number): Promise<void> {
    const found = this.#sessions.get(id);
    this.#sessions.delete(id);
    found?.over.resolve(undefined);
    await found?.session.close();
  }
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

function hostedOf({ kind, url, files, processBytes }: TargetOpen) {
  const allowed = createTargetFiles(files);
  return kind === "duckdb"
    ? new HostedTarget(duckdbKind(url, realClock, allowed, processBytes))
    : new HostedTarget(sqliteKind(url, realClock, allowed, processBytes));
}

hostProcess<TargetOpen, TargetRequest, TargetAnswer>(async (open) => hostedOf(open));
