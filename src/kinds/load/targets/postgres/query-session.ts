/** A session for one statement at a time with its rows: data loads, checks, polls. Not for load. */
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import type { ParameterValue } from "../../core/operation.ts";
import type { OperationFailure } from "../../core/target.ts";
import type { RunSession } from "../session/driver-session.ts";
import { copyFailFrame, syncFrame, terminateFrame } from "./frames.ts";
import { requestCancel, type Session } from "./open-session.ts";
import { type PostgresAddress, postgresPlace } from "./parse-postgres-url.ts";
import { parseColumnTypes, parseParameterTypes, parseRow, type Row } from "./parse-rows.ts";
import { prepareFrames } from "./prepare-statement.ts";
import { SendBuffer } from "./send-buffer.ts";
import { failureOf, parseServerError, type ServerError } from "./server-error.ts";
import { Statement } from "./statement.ts";
import type { WireReceiver } from "./wire.ts";

export class QuerySession implements RunSession {
  readonly #session: Session;
  readonly #address: PostgresAddress;
  #broken: string | undefined;
  #turn: Turn | undefined;
  #onLost: ((failure: OperationFailure) => void) | undefined;
  #closed: Promise<void> | undefined;

  constructor(session: Session, address: PostgresAddress) {
    this.#session = session;
    this.#address = address;
    session.wire.receiver = {
      // Between turns only notices come, and the news of a shutdown.
      message: (type, bytes, start, end) => this.#turn?.message(type, bytes, start, end),
      pieceEnded: () => undefined,
      broken: (why) => {
        this.#broken = why;
        this.#turn?.broken(why);
        this.#onLost?.({ kind: "connection", code: "lost", message: why });
      },
    };
  }

  onLost(listener: (failure: OperationFailure) => void): void {
    this.#onLost = listener;
  }

  async run(sql: string, values: readonly ParameterValue[]): Promise<Row[]> {
    const described = await this.#roundTrip(prepareFrames("", sql, []), []);
    if (described.oids.length !== values.length) {
      const message = `${values.length} values for ${described.oids.length} parameters`;
      throw new OperatingError("bad_request", "never", message);
    }
    const parameters = described.oids.map((oid, index) => ({ index, oid, type: "text" as const }));
    const send = new SendBuffer();
    new Statement("", parameters).writeExecution(send, values);
    send.append(syncFrame);
    return (await this.#roundTrip(send.take(), described.columns)).rows;
  }

  /** What is under way is cancelled: its answer may come at any time, or never. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  #close(): Promise<void> {
    const { wire, cancelKey } = this.#session;
    const isBusy = this.#turn !== undefined && this.#broken === undefined;
    if (isBusy && cancelKey !== undefined) requestCancel(this.#address, cancelKey);
    this.#broken ??= "closed";
    const ended = wire.end(terminateFrame);
    this.#turn?.broken("the connection was closed");
    return ended;
  }

  async #roundTrip(frames: Buffer, columns: readonly number[]): Promise<Turn> {
    if (this.#broken !== undefined) throw this.#lost(this.#broken);
    const { wire } = this.#session;
    try {
      return await new Promise<Turn>((resolve, reject) => {
        this.#turn = new Turn(columns, resolve, reject, () =>
          wire.write(Buffer.concat([copyFailFrame, syncFrame])),
        );
        wire.write(frames);
      });
    } catch (thrown) {
      if (thrown instanceof ServerRefusal) throw translated(thrown.error);
      throw thrown instanceof Error ? thrown : this.#lost(String(thrown));
    } finally {
      this.#turn = undefined;
    }
  }

  #lost(why: string): OperatingError {
    const message = `${postgresPlace(this.#address)} was lost: ${why}`;
    return new OperatingError("target_unreachable", "backoff", message);
  }
}

class ServerRefusal extends Error {
  readonly error: ServerError;

  constructor(error: ServerError) {
    super(error.message);
    this.error = error;
  }
}

/** What comes back until the next ReadyForQuery. */
class Turn implements WireReceiver {
  oids: number[] = [];
  columns: readonly number[];
  readonly rows: Row[] = [];
  readonly #resolve: (turn: Turn) => void;
  readonly #reject: (thrown: ServerRefusal | string) => void;
  readonly #refuseCopy: () => void;
  #error: ServerError | undefined;

  constructor(
    columns: readonly number[],
    resolve: (turn: Turn) => void,
    reject: (thrown: ServerRefusal | string) => void,
    refuseCopy: () => void,
  ) {
    this.columns = columns;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#refuseCopy = refuseCopy;
  }

  message(type: number, bytes: Buffer, start: number, end: number): void {
    switch (String.fromCharCode(type)) {
      case "t":
        this.oids = parseParameterTypes(bytes, start, end);
        return;
      case "T":
        this.columns = parseColumnTypes(bytes, start, end);
        return;
      case "D":
        this.rows.push(parseRow(bytes, start, end, this.columns));
        return;
      case "E":
        this.#error ??= parseServerError(bytes, start, end);
        return;
      case "G":
        this.#refuseCopy();
        return;
      case "Z":
        if (this.#error === undefined) this.#resolve(this);
        else this.#reject(new ServerRefusal(this.#error));
    }
  }

  pieceEnded(): void {}

  broken(why: string): void {
    this.#reject(this.#error?.message ?? why);
  }
}

function translated(error: ServerError): OperatingError {
  const { kind, message, code } = failureOf(error);
  const at = error.position === 0 ? "" : ` at character ${error.position}`;
  const text = `${message}${at} (${code})`;
  const options = { cause: error };
  if (kind === "syntax") return new OperatingError("bad_sql", "never", text, options);
  if (kind === "permission") return new OperatingError("target_refused", "never", text, options);
  const isPassing = !(kind === "constraint" || kind === "other");
  return new OperatingError("query_failed", isPassing ? "backoff" : "never", text, options);
}
