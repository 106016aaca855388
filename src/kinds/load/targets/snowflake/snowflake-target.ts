/**
 * Snowflake under test, by snowflake-sdk (`load-sdk.ts`). Tried against a local stub of its HTTP
 * protocol only.
 */
import type { Connection } from "snowflake-sdk";
import type { Clock } from "../../../../ground/kernel/clock.ts";
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import type { ExecutedQuery, HistoryWindow, ServerPoll } from "../../core/target.ts";
import { checkResolvedHost } from "../guarded-lookup.ts";
import { SessionTarget, type TargetKind } from "../session/session-target.ts";
import { loadSdk, type Sdk } from "./load-sdk.ts";
import { type SnowflakeAddress, snowflakePlace } from "./parse-snowflake-url.ts";
import { queryServerPoll, readQueryHistory } from "./server-queries.ts";
import { snowflakeFailureOf } from "./snowflake-failure.ts";
import { SnowflakeSession } from "./snowflake-session.ts";

type Plan = Awaited<ReturnType<SnowflakeSession["prepare"]>>;

export class SnowflakeTarget extends SessionTarget<Plan> {
  readonly #tag: string;

  constructor(address: SnowflakeAddress, tag: string, sdk: Sdk, clock: Clock) {
    super(kindOf(address, tag, sdk), clock);
    this.#tag = tag;
  }

  queryHistory(
    window: HistoryWindow,
    signal: AbortSignal,
  ): AsyncIterable<readonly ExecutedQuery[]> {
    return readQueryHistory((sql, values = []) => this.run(sql, values, signal), window, this.#tag);
  }
}

/** Rejects with `unsupported` where the client is not installed. */
export async function createSnowflakeTarget(
  address: SnowflakeAddress,
  tag: string,
  clock: Clock,
): Promise<SnowflakeTarget> {
  return new SnowflakeTarget(address, tag, await loadSdk(), clock);
}

function kindOf(address: SnowflakeAddress, tag: string, sdk: Sdk): TargetKind<Plan> {
  const place = snowflakePlace(address);
  const { warehouse } = address;
  return {
    kind: "snowflake",
    capabilities: {
      depthMax: 1,
      pollsServer: warehouse !== undefined,
      enrichment: "perQuery",
      transactions: true,
    },
    place,
    connectMsMax: 60_000,
    open: async () => {
      await checkResolvedHost(address.host); // The client would try again and hide the reason.
      const { account, accessUrl, user, password, database, schema, role } = address;
      const connection = sdk.createConnection({
        account,
        accessUrl,
        username: user,
        password,
        database,
        schema,
        application: "capstan",
        sfRetryMaxLoginRetries: 1,
        ...(warehouse === undefined ? {} : { warehouse }),
        ...(role === undefined ? {} : { role }),
      });
      await connect(connection, place);
      return new SnowflakeSession(connection, tag);
    },
    ...(warehouse === undefined
      ? {}
      : { pollServer: (run): Promise<ServerPoll> => queryServerPoll(run, warehouse) }),
  };
}

function connect(connection: Connection, place: string): Promise<void> {
  return new Promise((resolve, reject) => {
    connection.connect((error) => {
      if (error === undefined || error === null) {
        resolve();
        return;
      }
      const { code } = snowflakeFailureOf(error);
      const isRefusal = /^39\d{4}$/.test(code);
      reject(
        isRefusal
          ? new OperatingError("target_refused", "never", `${place}: refused with ${code}`)
          : new OperatingError("target_unreachable", "backoff", `${place}: ${code}`),
      );
    });
  });
}
