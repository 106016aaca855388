/** Opens a store on a Postgres database, and sets the database up. */
import pg from "pg";
import type { Clock } from "../../kernel/clock.ts";
import { messageOf, OperatingError } from "../../kernel/errors.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { Prng } from "../../kernel/prng.ts";
import { Gate } from "../catalog/gate.ts";
import { PokeList } from "../catalog/poke-list.ts";
import { RetryBound } from "../catalog/retry-bound.ts";
import type { WatchedTables } from "../core/schema.ts";
import type { Store } from "../core/store.ts";
import { decideSchemaRefusal, type Migration, newestVersion } from "../setup/migrations.ts";
import { CatalogListener, endClient } from "./catalog-listener.ts";
import { clientConfig, postgresPlace } from "./connect-postgres.ts";
import { translatePostgresError } from "./postgres-errors.ts";
import { PostgresStore } from "./postgres-store.ts";
import { applyNextPostgresMigration, postgresSchemaVersion } from "./setup-postgres.ts";

export interface PostgresParts {
  readonly url: string;
  readonly clock: Clock;
  readonly prng: Prng;
  readonly logger: Logger;
  readonly changesKept: number;
  readonly watched: WatchedTables;
  readonly connectionsMax: number;
  /** How long a transaction waits for others, or for a lost server, before it fails. */
  readonly waitMsMax: number;
}

const waitersMax = 1_000;
const setupMsMax = 600_000;
/** For asking about the fate of a COMMIT while every transaction has lost its connection. */
const spareConnections = 2;

export async function openPostgres(
  parts: PostgresParts,
  migrations: readonly Migration[],
): Promise<Store> {
  const { url, clock, prng, logger, waitMsMax } = parts;
  const place = postgresPlace(url);
  const config = clientConfig(url, {
    connectMsMax: waitMsMax,
    lockMsMax: waitMsMax,
    statementMsMax: 2 * waitMsMax,
    idleInTransactionMsMax: waitMsMax,
  });
  const knowsXactStatus = await withClient(parts, config, async (client) => {
    const found = await postgresSchemaVersion(client);
    const refusal = decideSchemaRefusal(found, newestVersion(migrations), place);
    if (refusal !== undefined) throw refusal;
    return canTellXactStatus(client);
  });
  const pool = new pg.Pool({ ...config, max: parts.connectionsMax + spareConnections });
  // An idle connection that breaks is replaced. One in use fails its statement.
  pool.on("error", (error) =>
    logger.debug({ error: messageOf(error) }, "an idle connection broke"),
  );
  pool.on("connect", (client) => client.on("error", () => undefined));
  const limits = { slots: parts.connectionsMax, waitersMax, waitMsMax: 2 * waitMsMax };
  const gate = new Gate(limits, clock);
  const pokes = new PokeList();
  const listener = new CatalogListener({ config, clock, prng, logger, pokes });
  listener.start();
  return new PostgresStore({
    pool,
    gate,
    pokes,
    clock,
    prng,
    place,
    changesKept: parts.changesKept,
    watched: parts.watched,
    waitMsMax,
    knowsXactStatus,
    close: async () => {
      await gate.close();
      await listener.stop();
      await endClient(pool, clock);
      pokes.poke(); // Waiters then find the store closed.
    },
  });
}

export async function setupPostgres(
  parts: PostgresParts,
  migrations: readonly Migration[],
): Promise<{ readonly from: number; readonly to: number }> {
  const config = clientConfig(parts.url, {
    connectMsMax: parts.waitMsMax,
    lockMsMax: setupMsMax,
    statementMsMax: setupMsMax,
    idleInTransactionMsMax: parts.waitMsMax,
  });
  return withClient(parts, config, async (client) => {
    const applied: Migration[] = [];
    for (;;) {
      const place = postgresPlace(parts.url);
      const next = await applyNextPostgresMigration(client, migrations, place);
      if (next === undefined) break;
      parts.logger.info({ migration: next.name }, "the store's schema was migrated");
      applied.push(next);
    }
    const to = newestVersion(migrations);
    return { from: (applied[0]?.version ?? to + 1) - 1, to };
  });
}

/** Uses its own connection. Connecting is retried while the server starts or is unreachable. */
async function withClient<T>(
  parts: PostgresParts,
  config: pg.ClientConfig,
  use: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const { clock, prng, waitMsMax } = parts;
  const limits = { minMs: 50, maxMs: 500, retryMsMax: waitMsMax };
  const bound = new RetryBound(clock, prng, limits);
  for (;;) {
    const client = new pg.Client(config);
    client.on("error", () => undefined); // The current statement fails.
    try {
      await client.connect();
    } catch (error) {
      const translated = translatePostgresError(error, postgresPlace(parts.url));
      const mayPass = translated instanceof OperatingError && translated.retry === "backoff";
      if (!mayPass || !(await bound.pause())) throw translated;
      continue;
    }
    try {
      return await use(client);
    } catch (error) {
      if (error instanceof OperatingError) throw error;
      throw translatePostgresError(error, postgresPlace(parts.url));
    } finally {
      await endClient(client, clock);
    }
  }
}

/** True from Postgres 13 on. Other databases that speak its protocol may lack it. */
async function canTellXactStatus(client: pg.Client): Promise<boolean> {
  const found = await client.query(
    "SELECT count(*) AS n FROM pg_proc WHERE proname IN ('pg_current_xact_id', 'pg_xact_status')",
  );
  return found.rows[0]?.n === 2;
}
